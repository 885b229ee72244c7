//! The doorbell block against a list of queues, cycle by cycle.

mod cycle;

use std::collections::VecDeque;

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::doorbell::Doorbell;
use viaduct_hdl::export::verilog;
use viaduct_spec::doorbell::{encode, page};
use viaduct_spec::profile::VIS;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const SEND: usize = 0;
const RECEIVE: usize = 1;
const TOKEN: u64 = (1 << 50) - 1;

#[derive(Clone, Copy, Default)]
struct Row {
    open: bool,
    posted: u64,
    token: Option<u64>,
}

/// What happens in one cycle.
#[derive(Clone, Copy, Default, Debug)]
struct Cycle {
    store: Option<(u64, u64, u64)>,
    /// Row and whether it opens.
    commit: Option<(u64, bool)>,
    again_fetch: Option<(u64, bool)>,
    again: [Option<u64>; 2],
    pop: [bool; 2],
    look: (u64, usize),
    look_posted: u64,
}

#[derive(Default, Debug)]
struct Seen {
    taken: u64,
    armed: u64,
    ignored: u64,
    popped: u64,
    forwarded: u64,
}

struct Harness {
    bench: Bench,
    rng: ChaCha8Rng,
    store: Bundle,
    commit: Bundle,
    rows: Vec<[Row; 2]>,
    /// What the receive queues' copies of `posted` are, once written, and the writes of this cycle and the one before.
    posted: Vec<Option<u64>>,
    posting: [Option<(u64, u64)>; 2],
    queues: [VecDeque<u64>; 2],
    /// Pushed in the cycle before: on their way into the queues.
    pushed: [Option<u64>; 2],
    /// The VIs on show.
    shown: [Option<u64>; 2],
    /// The store of the cycle before, which counts in this one: address, data, enables.
    stored: Option<(u64, u64, u64)>,
    /// The arm word of the cycle before that: queue and position.
    armed: Option<(u64, u64)>,
    ignored: u64,
    counted: u64,
    seen: Seen,
}

impl Harness {
    fn new() -> Self {
        let mut bench = Bench::new("doorbell", &verilog(Doorbell::default()));
        let idle = ["mmio_write_valid", "commit_valid", "again_fetch_valid", "again_receive_valid"];
        for port in idle.into_iter().chain(["again_send_valid", "send_ready", "receive_ready"]) {
            bench.set(port, 0);
        }
        // While the lists are cleared, whoever has a VI to queue waits.
        let again = ["again_fetch", "again_receive", "again_send"];
        for port in again {
            bench.set(&format!("{port}_valid"), 1);
        }
        for cycle in 0..VIS as u64 {
            Bundle::of::<bus::QueueId>("again_fetch")
                .set(&mut bench, &[("vi", cycle), ("receive", cycle & 1)]);
            bench.eval();
            assert_eq!(bench.get("busy"), 1);
            assert_eq!(again.map(|port| bench.get(&format!("{port}_ready"))), [0; 3], "cycle {cycle}");
            bench.tick();
        }
        for port in again {
            bench.set(&format!("{port}_valid"), 0);
        }
        let mut harness = Self {
            rng: ChaCha8Rng::seed_from_u64(bench.seed()),
            bench,
            store: Bundle::of::<bus::MmioWrite>("mmio_write"),
            commit: Bundle::of::<bus::Commit>("commit"),
            rows: vec![[Row::default(); 2]; VIS],
            posted: vec![None; VIS],
            posting: [None; 2],
            queues: Default::default(),
            pushed: [None; 2],
            shown: [None; 2],
            stored: None,
            armed: None,
            ignored: 0,
            counted: 0,
            seen: Seen::default(),
        };
        // Memories start with anything: nothing is looked at before it is written.
        for vi in 0..VIS as u64 {
            for queue in [RECEIVE, SEND] {
                let commit = Some((vi << 1 | queue as u64, false));
                harness.cycle(Cycle { commit, look: (vi, queue), look_posted: vi, ..Default::default() });
            }
        }
        harness
    }

    /// A queue has work.
    fn waiting(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
            || self.armed.is_some()
            || self.stored.is_some_and(|(address, ..)| address >> 12 < VIS as u64)
            || self.pushed.iter().chain(&self.shown).any(Option::is_some)
    }
}

/// Few VIs, so that the same one is stored to, popped, requeued and read in one cycle.
fn traffic(harness: &mut Harness, cycles: usize, stores: f64, vis: u64) {
    let mut now = Cycle::default();
    for _ in 0..cycles {
        let rng = &mut harness.rng;
        now.store = rng.random_bool(stores).then(|| {
            let place = match rng.random_range(0..12) {
                0 => rng.random_range(0..512) * 8,
                1 => page::SEND_ARM,
                2 => page::RECEIVE_ARM,
                n if n % 2 == 1 => page::SEND,
                _ => page::RECEIVE,
            };
            let vi = if rng.random_bool(0.02) { rng.random_range(0..256) } else { rng.random_range(0..vis) };
            let region = if rng.random_bool(0.1) { 0 } else { rng.random_range(0..1 << 15) };
            let data = encode(region, rng.random_range(0..1 << 34), rng.random_range(0..1 << 14));
            let enables = match rng.random_range(0..6) {
                0 => rng.random::<u8>(),
                1 => 0xf0,
                2 => 0x0f,
                _ => 0xff,
            };
            (vi << 12 | place, data, u64::from(enables))
        });
        if now.commit.is_none() && rng.random_bool(0.05) {
            now.commit = Some((rng.random_range(0..2 * vis), rng.random_bool(0.9)));
        }
        if now.again_fetch.is_none() && rng.random_bool(0.2) {
            now.again_fetch = Some((rng.random_range(0..vis), rng.random()));
        }
        for queue in 0..2 {
            if now.again[queue].is_none() && rng.random_bool(0.2) {
                now.again[queue] = Some(rng.random_range(0..vis));
            }
            now.pop[queue] = rng.random_bool(0.3);
        }
        let stored = harness.stored.map(|store| store.0 >> 12).filter(|vi| *vi < vis);
        let near = |rng: &mut ChaCha8Rng| match stored {
            Some(vi) if rng.random_bool(0.5) => vi,
            _ => rng.random_range(0..vis),
        };
        now.look = (near(rng), rng.random_range(0..2));
        now.look_posted = near(rng);
        let [commit, again_fetch, again_send, again_receive] = harness.cycle(now);
        now.commit = now.commit.filter(|_| !commit);
        now.again_fetch = now.again_fetch.filter(|_| !again_fetch);
        now.again[SEND] = now.again[SEND].filter(|_| !again_send);
        now.again[RECEIVE] = now.again[RECEIVE].filter(|_| !again_receive);
    }
    for _ in 0..3 {
        harness.cycle(Cycle::default());
    }
    assert_eq!(harness.counted, harness.ignored);
}

#[test]
fn storms_of_stores() {
    let mut harness = Harness::new();
    for (stores, vis) in [(0.3, 4), (1.0, 3), (0.5, VIS as u64), (1.0, VIS as u64)] {
        traffic(&mut harness, 8000, stores, vis);
    }
    println!("{:?}", harness.seen);
    let seen = &harness.seen;
    assert!(
        seen.taken > 4000
            && seen.ignored > 4000
            && seen.armed > 1000
            && seen.popped > 3000
            && seen.forwarded > 300
    );
}

/// Stores in every cycle to two doorbells of every VI are all in the rows, and every VI is queued once.
#[test]
fn nothing_overflows() {
    let mut harness = Harness::new();
    for row in 0..2 * VIS as u64 {
        harness.cycle(Cycle { commit: Some((row, true)), ..Default::default() });
    }
    for position in 0..40 {
        for vi in 0..VIS as u64 {
            for place in [page::SEND, page::RECEIVE] {
                let store = Some((vi << 12 | place, encode(1, vi, position), 0xff));
                harness.cycle(Cycle { store, ..Default::default() });
            }
        }
    }
    // The one on show has been queued again.
    for _ in 0..2 {
        harness.cycle(Cycle::default());
    }
    assert_eq!(harness.queues[SEND].len(), VIS);
    while harness.waiting() {
        let look = (harness.shown[RECEIVE].unwrap_or(0), RECEIVE);
        harness.cycle(Cycle { pop: [true, true], look, look_posted: look.0, ..Default::default() });
    }
    assert_eq!(harness.seen.popped, 2 * (VIS as u64 + 1));
    harness.cycle(Cycle::default());
    assert_eq!(harness.bench.get("busy"), 0);
    assert_eq!(harness.ignored, 0);
}
