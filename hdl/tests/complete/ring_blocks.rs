//! The blocks of `complete/queues` that say where an entry goes, and which completion queue takes events.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::complete::{CqRow, ErrorRing, NextEntry};
use viaduct_hdl::export::verilog;
use viaduct_hdl::rows::register::EventWord;
use viaduct_hdl::rows::tables::CompletionQueueRow;
use viaduct_spec::profile::CQS;
use viaduct_spec::register::event_code;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// Rules CQ-1, CQ-2: entry n of a ring lies in slot n modulo its size; its phase is 1 in the first lap, and changes with each.
#[test]
fn an_entry_goes_behind_the_last_one() {
    const INDICES: u64 = 1 << 18;
    let mut bench = Bench::new("next_entry", &verilog(NextEntry::default()));
    let mut rng = ChaCha8Rng::seed_from_u64(bench.seed());
    for _ in 0..5000 {
        let log2 = rng.random_range(0..=17);
        let entries = 1 << log2;
        let written = rng.random_range(0..INDICES);
        let waiting = rng.random_range(0..=entries);
        let (offset, held) = (rng.random_range(0..1_u64 << 33), rng.random_range(0..entries));
        Bundle::of::<CqRow>("row").set(&mut bench, &[("written", written), ("log2", log2)]);
        bench.set("taken", written.wrapping_sub(waiting) % INDICES);
        bench.set("offset", offset);
        bench.set("held_slot", held);
        bench.eval();
        assert_eq!(bench.get("slot"), written % entries);
        assert_eq!(bench.get("phase") == 1, (written / entries) % 2 == 0, "{written} of {entries}");
        assert_eq!(bench.get("full") == 1, waiting == entries, "{waiting} of {entries}");
        assert_eq!(bench.get("address"), 64 * offset + 16 * held);
    }
}

/// Rule CQ-3: the completion queue that was committed last with LIVE and EVENTS takes events, until it is committed without.
#[test]
fn the_last_queue_that_takes_events_is_the_error_ring() {
    let mut bench = Bench::new("error_ring", &verilog(ErrorRing::default()));
    let mut rng = ChaCha8Rng::seed_from_u64(bench.seed());
    let mut ring: Option<u64> = None;
    for _ in 0..3000 {
        let cq = rng.random_range(0..4) * (CQS as u64 / 4);
        let [commits, live, events] = [0; 3].map(|_: u64| rng.random_range(0..2_u64));
        let reset = u64::from(rng.random_bool(0.02));
        bench.set("commits", commits);
        bench.set("cq", cq);
        bench.set("reset", reset);
        Bundle::of::<CompletionQueueRow>("row").set(&mut bench, &[("live", live), ("events", events)]);
        bench.eval();
        assert_eq!(bench.get("is_there") == 1, ring.is_some());
        if let Some(ring) = ring {
            assert_eq!(bench.get("ring"), ring);
        }
        let overrun = Bundle::of::<EventWord>("overrun");
        assert_eq!(overrun.get(&bench, "code"), u64::from(event_code::CQ_OVERRUN));
        assert_eq!(overrun.get(&bench, "vi"), cq);
        bench.tick();
        ring = match (commits, live & events) {
            (1, 1) => Some(cq),
            (1, _) if ring == Some(cq) => None,
            _ => ring,
        };
        ring = ring.filter(|_| reset == 0);
    }
}
