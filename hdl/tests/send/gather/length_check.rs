//! Lengths of segments, in the first 64 bytes and in the tail, against a length, a limit, and what a frame may have.

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
    for port in ["head_sum_valid", "tail_length_valid", "limit_valid"] {
        bench.set(port, 0);
    }
    for _ in 0..3000 {
        let bits = *[4, 12, 13, 16, 31, 32].choose(&mut rng).unwrap();
        let segments: Vec<u64> =
            (0..rng.random_range(0..6)).map(|_| rng.random_range(0..1_u64 << bits)).collect();
        let sum: u64 = segments.iter().sum();
        let near = sum.wrapping_add(rng.random_range(0..3)).wrapping_sub(1);
        let length = *[sum, near, 13, 14, 4200, 4201, rng.random()].choose(&mut rng).unwrap() & 0xffff_ffff;
        let limit =
            *[length, length.saturating_sub(1), rng.random::<u64>()].choose(&mut rng).unwrap() & 0xffff_ffff;
        let (head, tail) = segments.split_at(segments.len().min(2));
        bench.set("head_sum", head.iter().sum());
        bench.set("head_sum_valid", 1);
        bench.tick();
        bench.set("head_sum_valid", 0);
        bench.set("head_sum", rng.random_range(0..1 << 33));
        for segment in tail {
            bench.set("tail_length", *segment);
            bench.set("tail_length_valid", 1);
            bench.tick();
            bench.set("tail_length_valid", 0);
            bench.set("tail_length", rng.random_range(0..1 << 32));
            if rng.random() {
                bench.tick();
            }
        }
        bench.set("length", length);
        bench.set("limit", limit);
        bench.set("limit_valid", 1);
        bench.tick();
        bench.set("limit_valid", 0);
        // The limit holds, whatever the port has later.
        for _ in 0..rng.random_range(0..3) {
            bench.set("limit", rng.random_range(0..1 << 32));
            bench.tick();
        }
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
