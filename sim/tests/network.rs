//! A network of NICs that a test scripts: idle time, deadlines, and frames between them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use viaduct_sim::clock::ticks;
use viaduct_sim::fabric::Link;
use viaduct_sim::network::{Activity, Network, Options};
use viaduct_sim::nic::{Nic, NicIn, NicOut};

/// A NIC that sends one frame of 64 bytes at each of some deadlines, and sleeps in between.
struct Alarm {
    deadlines: Vec<u32>,
    /// Beats of the frame that are left to send.
    left: usize,
    cycles: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl Nic for Alarm {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        self.cycles.fetch_add(1, Ordering::Relaxed);
        self.received.fetch_add(u64::from(input.eth_rx_valid && input.eth_rx_last), Ordering::Relaxed);
        if self.left == 0 && self.deadlines.first() == Some(&input.time_now) {
            self.deadlines.remove(0);
            self.left = 8;
        }
        *output = NicOut {
            tlp_rx_np_ready: true,
            idle: self.left == 0,
            send_deadline_valid: !self.deadlines.is_empty(),
            send_deadline: self.deadlines.first().copied().unwrap_or(0),
            eth_tx_valid: self.left != 0,
            eth_tx_data: 0x0200_0000_0000_0002,
            eth_tx_keep: 0xFF,
            eth_tx_last: self.left == 1,
            ..NicOut::default()
        };
        self.left -= usize::from(output.eth_tx_valid && input.eth_tx_ready);
    }
}

struct Run {
    network: Network,
    cycles: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

fn start(never_skip: bool) -> Run {
    let (cycles, received) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    let alarm = |deadlines: &[u32]| -> Box<dyn Nic> {
        let (cycles, received) = (cycles.clone(), received.clone());
        Box::new(Alarm { deadlines: deadlines.to_vec(), left: 0, cycles, received })
    };
    let nics = vec![alarm(&[10, 500, 501, 5000]), alarm(&[10, 4000]), alarm(&[])];
    let options =
        Options { link: Link { latency: 64, rate: 1, ..Link::default() }, never_skip, ..Options::default() };
    Run { network: Network::new(nics, &options, None), cycles, received }
}

#[test]
fn skipped_time_changes_nothing_but_the_work() {
    let (mut skips, mut steps) = (start(false), start(true));
    for _ in 0..700 {
        skips.network.step(1000);
        steps.network.step(1000);
        assert_eq!(skips.network.fabric().counters(), steps.network.fabric().counters());
        assert_eq!(skips.received.load(Ordering::Relaxed), steps.received.load(Ordering::Relaxed));
    }
    assert_eq!(steps.network.fabric().counters().frames, 6);
    assert_eq!(skips.received.load(Ordering::Relaxed), 6 * 2, "each is flooded");
    let (skipped, stepped) = (skips.cycles.load(Ordering::Relaxed), steps.cycles.load(Ordering::Relaxed));
    assert_eq!(stepped, 3 * 700_000);
    assert!(skipped < stepped / 100, "{skipped} of {stepped} cycles");
}

#[test]
fn idle_time_ends_at_the_next_deadline() {
    let mut run = start(false);
    run.network.step(100);
    assert_eq!(run.network.activity(), Activity::Idle(Some(10 << 7)));
    run.network.skip_to(1 << 40);
    assert_eq!((run.network.now(), ticks(run.network.now())), (10 << 7, 10));
    assert_eq!(run.network.activity(), Activity::Busy);
    while run.network.activity() == Activity::Busy {
        run.network.step(64);
    }
    assert_eq!(run.network.activity(), Activity::Idle(Some(500 << 7)));
    run.network.skip_to(run.network.now() + 7);
    assert_eq!(run.network.activity(), Activity::Idle(Some(500 << 7)), "on the way");
    for _ in 0..10_000 {
        run.network.step(64);
    }
    assert_eq!(run.network.activity(), Activity::Idle(None));
}
