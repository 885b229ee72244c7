//! Lengths of segments, in the head and in the tail, against a length, a limit, and what a frame may have.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{LengthCheck, LengthFaults};
use viaduct_verilate::Bench;

use crate::port;

/// Rule WQ-2, RAW-4.
#[test]
fn a_length_is_the_sum_and_within_its_limits() {
    let mut bench = Bench::new("length_check", &verilog(LengthCheck::default()));
    let mut rng = crate::random(&bench);
    bench.set("head_length_valid", 0);
    bench.set("tail_length_valid", 0);
    for _ in 0..3000 {
        let bits = *[4, 12, 13, 16, 31, 32].choose(&mut rng).unwrap();
        let segments: Vec<u64> =
            (0..rng.random_range(0..6)).map(|_| rng.random_range(0..1_u64 << bits)).collect();
        let sum: u64 = segments.iter().sum();
        let near = sum.wrapping_add(rng.random_range(0..3)).wrapping_sub(1);
        let length = *[sum, near, 13, 14, 4200, 4201, rng.random()].choose(&mut rng).unwrap() & 0xffff_ffff;
        let limit =
            *[length, length.saturating_sub(1), rng.random::<u64>()].choose(&mut rng).unwrap() & 0xffff_ffff;
        bench.set("clear", 1);
        bench.tick();
        bench.set("clear", 0);
        for segment in &segments {
            let port = if rng.random() { "head_length" } else { "tail_length" };
            // What the other port has must not count.
            bench.set("head_length", rng.random_range(0..1 << 32));
            bench.set("tail_length", rng.random_range(0..1 << 32));
            bench.set(port, *segment);
            bench.set(&format!("{port}_valid"), 1);
            bench.tick();
            bench.set(&format!("{port}_valid"), 0);
            if rng.random() {
                bench.tick();
            }
        }
        bench.set("length", length);
        bench.set("limit", limit);
        bench.tick();
        bench.eval();
        let faults = port::get::<LengthFaults>(&bench, "faults");
        let expected = [
            ("unequal", sum != length),
            ("too_long", length > limit),
            ("no_frame", !(14..=4200).contains(&length)),
        ];
        for (name, value) in expected {
            assert_eq!(faults[name] == 1, value, "{name}: {length} of {segments:?}, at most {limit}");
        }
    }
}
