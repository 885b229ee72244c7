//! Idle time that is skipped: both ends of each link stop meanwhile.

use std::sync::{Arc, Mutex};

use viaduct_driver::address::Service;
use viaduct_sim::nic::{NicIn, NicOut};
use viaduct_sim::pcie::Options;
use viaduct_tests::raw::{pair, Descriptor};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{Host, World};

use super::linked;

/// Cycles in which nothing happens.
const IDLE: u64 = 20_000;

/// Packets that passed a root complex, to the NIC and from it: the first double word of each, and how many it has. The rest has addresses of
/// this run's in it.
#[derive(Default)]
struct Packets {
    passed: [Vec<(u32, u32)>; 2],
    /// Double words of the one under way.
    under_way: [u32; 2],
    /// Cycles that were evaluated.
    evaluated: u64,
}

impl Packets {
    fn beat(&mut self, way: usize, data: u64, keep: u8, last: bool) {
        if self.under_way[way] == 0 {
            self.passed[way].push((data as u32, 0));
        }
        self.under_way[way] += keep.count_ones();
        if last {
            let count = std::mem::take(&mut self.under_way[way]);
            self.passed[way].last_mut().expect("it has begun").1 = count;
        }
    }
}

/// What a run leaves: packets of both NICs, frames, both memories; and the cycles that were evaluated.
struct Run {
    packets: Vec<[Vec<(u32, u32)>; 2]>,
    frames: Vec<Vec<u8>>,
    memories: Vec<Vec<u8>>,
    evaluated: u64,
}

fn run(ratio: (u32, u32), never_skip: bool, folder: &std::path::Path) -> Run {
    let pcap = folder.join(format!("{never_skip}.pcap"));
    let mut setup = linked(7, Options { ratio, ..Options::default() });
    setup.pcap = Some(pcap.clone());
    setup.network.never_skip = never_skip;
    let mut scene = Scene::on(World::new(&setup));
    let mut vis = pair(&scene.hosts, Service::ReliableDelivery, 1024);
    let seen = [(); 2].map(|()| Arc::new(Mutex::new(Packets::default())));
    for (nic, seen) in seen.iter().enumerate() {
        let seen = seen.clone();
        let look = move |_, input: &NicIn, output: &NicOut| {
            let mut seen = seen.lock().expect("no test has failed inside");
            seen.evaluated += 1;
            if input.tlp_rx_valid {
                seen.beat(0, input.tlp_rx_data, input.tlp_rx_keep, input.tlp_rx_last);
            }
            if output.tlp_tx_valid && input.tlp_tx_ready {
                seen.beat(1, output.tlp_tx_data, output.tlp_tx_keep, output.tlp_tx_last);
            }
        };
        scene.world.net.network().probe(nic, Box::new(look));
    }
    for n in 0..6 {
        let [from, to] = [n % 2, 1 - n % 2];
        let length = [8, 700, 3000, 9000, 1, 5000][n];
        let into = Descriptor::of(&scene.hosts[to], 0x10000 + 0x1000 * n, length);
        let receive = vis[to].receive(&mut scene.hosts[to], &into);
        scene.world.settle();
        // Longer than any UpdateFC or SKP waits.
        scene.world.net.network().step(IDLE);
        let descriptor = Descriptor::of(&scene.hosts[from], 0x1000 * n, length);
        let send = vis[from].send(&mut scene.hosts[from], &descriptor);
        scene.world.complete(&scene.hosts[to], receive);
        scene.world.complete(&scene.hosts[from], send);
        scene.world.settle();
        scene.world.net.network().step(IDLE);
    }
    scene.world.check();
    let frames = scene.world.captured(&pcap);
    let memories = scene.hosts.iter().map(|host| host.memory.read(0, Host::DATA)).collect();
    let seen = seen.map(|seen| std::mem::take(&mut *seen.lock().expect("as above")));
    let evaluated = seen.iter().map(|seen| seen.evaluated).sum();
    Run { packets: seen.map(|seen| seen.passed).into(), frames, memories, evaluated }
}

fn skips(ratio: (u32, u32)) {
    let folder = tempfile::tempdir().expect("a folder");
    let [skipped, stepped] = [false, true].map(|never_skip| run(ratio, never_skip, folder.path()));
    println!("cycles evaluated: {} and {}", skipped.evaluated, stepped.evaluated);
    assert!(skipped.evaluated * 3 < stepped.evaluated, "nothing was skipped");
    assert!(skipped.frames.len() > 20);
    assert!(skipped.frames == stepped.frames, "other frames");
    assert!(skipped.packets.iter().flatten().all(|packets| packets.len() > 10));
    assert!(skipped.packets == stepped.packets, "other packets");
    assert!(skipped.memories == stepped.memories, "other bytes");
}

#[test]
fn idle_time_that_is_skipped_changes_no_packet_no_frame_and_no_byte() {
    skips((1, 1));
}

#[test]
fn idle_time_that_is_skipped_changes_nothing_at_the_boards_ratio_of_the_clocks() {
    skips((5, 4));
}
