//! Whether a request that comes again lies within that of a slot.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::reply::SlotMatch;
use viaduct_verilate::Bench;

const PSNS: u64 = 1 << 24;

/// Rule RSP-1.
#[test]
fn a_request_is_covered_if_all_its_psns_are_the_slots() {
    let mut bench = Bench::new("slot_match", &verilog(SlotMatch::default()));
    let mut random = ChaCha8Rng::seed_from_u64(bench.seed());
    let mut seen = [0, 0];
    for _ in 0..20_000 {
        let most = 1 << random.random_range(1..23);
        let (start, all) = (random.random_range(0..PSNS), random.random_range(1..=most));
        let gone = random.random_range(0..=all);
        // Where the request begins and ends, counted from the slot's first PSN on.
        let near = |random: &mut ChaCha8Rng, to: i64| to + random.random_range(-2..=2);
        let begin = match random.random_range(0..3) {
            0 => near(&mut random, 0),
            1 => near(&mut random, all as i64),
            _ => random.random_range(0..all as i64),
        };
        let end = match random.random_range(0..2) {
            0 => near(&mut random, all as i64),
            _ => random.random_range(0..=all as i64),
        };
        let packets = (end - begin).max(1);
        let psn = (start as i64 + begin).rem_euclid(PSNS as i64) as u64;
        let values = [
            ("psn", psn),
            ("packets", packets as u64),
            ("start", start),
            ("next_psn", (start + gone) % PSNS),
            ("left", all - gone),
        ];
        values.iter().for_each(|(port, value)| bench.set(port, *value));
        bench.tick();
        bench.eval();
        let expected = begin >= 0 && begin + packets <= all as i64;
        assert_eq!(bench.get("covered") == 1, expected, "{values:?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 2000), "{seen:?}");
}
