//! A host that writes while its NIC reads, over RTL: a read that is torn between two completions brings old bytes and new ones, and nothing else
//! happens.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_sim::root_complex::{Conditions, Split};
use viaduct_spec::descriptor::status;
use viaduct_tests::load::RECEIVED;
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{Host, World};

use super::unkind_bus::{kind, rtl};

/// Messages that a round posts, with one doorbell, and their bytes.
const MESSAGES: usize = 3;
const LENGTH: usize = 3000;
/// Where the data of the first is, where it goes, and how far the others lie behind it.
const FROM: usize = 0x1000;
const TO: usize = 0x8000;
const STEP: usize = 0x1000;
/// Bytes of the largest read.
const READ: usize = 512;

/// Posts the messages of a round: the NIC has to read all slots but the last.
fn post(vi: &mut RawVi, host: &mut Host, direction: Direction, at: usize) -> [usize; MESSAGES] {
    std::array::from_fn(|n| {
        let descriptor = Descriptor::of(host, at + n * STEP, LENGTH);
        match n + 1 == MESSAGES {
            true => vi.post(host, direction, &descriptor),
            false => vi.store(host, direction, &descriptor).0,
        }
    })
}

/// Writes tokens of nothing into the slots behind the last one that is posted.
fn scribble(vi: &RawVi, direction: Direction, from: u16) {
    for n in 0..RawVi::SLOTS - MESSAGES as u16 {
        vi.vi.queues().ring(direction).store(from.wrapping_add(n), u64::MAX << n);
    }
}

/// A round whose data and unused slots change so many cycles after the messages are posted. How many reads have brought old and new bytes.
fn round(scene: &mut Scene, vis: &mut [RawVi; 2], cycles: u64) -> usize {
    let Scene { world, hosts: [a, b], .. } = scene;
    let old: Vec<Vec<u8>> = (0..MESSAGES).map(|n| a.memory.read(FROM + n * STEP, LENGTH)).collect();
    let [sender, receiver] = vis;
    let receives = post(receiver, b, Direction::Receive, TO);
    scribble(receiver, Direction::Receive, receiver.receives);
    world.arrived(1);
    let sends = post(sender, a, Direction::Send, FROM);
    world.net.network().step(cycles);
    for (n, old) in old.iter().enumerate() {
        let new: Vec<u8> = old.iter().map(|byte| !byte).collect();
        a.memory.write(FROM + n * STEP, &new);
    }
    scribble(sender, Direction::Send, sender.sends);
    let mut torn = 0;
    for n in 0..MESSAGES {
        let good = |operation| Completion { status: operation, length: LENGTH as u32, immediate: 0 };
        assert_eq!(world.complete(b, receives[n]), good(RECEIVED), "{cycles} cycles, message {n}");
        assert_eq!(world.complete(a, sends[n]), good(status::DONE | status::OP_SEND), "{cycles}, {n}");
        let came = b.memory.read(TO + n * STEP, LENGTH);
        for (came, old) in came.chunks(READ).zip(old[n].chunks(READ)) {
            let changed = came.iter().zip(old).filter(|(came, old)| **came == !**old).count();
            let kept = came.iter().zip(old).filter(|(came, old)| came == old).count();
            assert_eq!(changed + kept, old.len(), "{cycles} cycles, message {n}: bytes of neither");
            torn += usize::from(changed * kept > 0);
        }
    }
    assert!(vis.iter().all(|vi| vi.state() == ViState::Connected));
    torn
}

fn torn_reads_of(level: Service) {
    let conditions = Conditions { split: Split::Boundary, torn: 60, ..kind() };
    let mut scene = Scene::on(World::new(&rtl(conditions, 95)));
    let mut vis = pair(&scene.hosts, level, 1024);
    let torn: usize = (0..60).map(|n| round(&mut scene, &mut vis, 40 * n)).sum();
    assert!(torn > 60, "{level}: {torn} reads were torn");
    assert_eq!([0, 1].map(|host| scene.events(host)), [[], []], "{level}");
    scene.others_go_on();
}

#[test]
fn a_host_that_writes_between_two_completions_of_a_read_gets_old_bytes_or_new_ones_sent() {
    LEVELS.into_iter().for_each(torn_reads_of);
}
