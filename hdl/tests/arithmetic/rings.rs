//! Rings: the slot of a position, and how full one is. Rings of the two sorts that the NIC has: of work queues, and of completion queues.

use rand::Rng;
use viaduct_hdl::arithmetic::{RingLevel, RingSlot};
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

fn slots(name: &str, text: &str, width: u32) {
    let mut bench = Bench::new(name, text);
    let mut rng = crate::random(&bench);
    for log2 in 0..width {
        let size = 1u64 << log2;
        for lap in 0..20 {
            let position = (lap * size + rng.random_range(0..size)) % (1 << width);
            bench.set("position", position);
            bench.set("log2", u64::from(log2));
            bench.eval();
            assert_eq!(bench.get("slot"), position % size, "{position} in {size}");
            assert_eq!(bench.get("odd_lap"), position / size % 2, "{position} in {size}");
        }
    }
}

#[test]
fn every_size_of_a_work_queue_has_its_slots() {
    slots("ring_slot", &verilog(RingSlot::<14, 4>::default()), 14);
}

#[test]
fn every_size_of_a_completion_queue_has_its_slots() {
    slots("ring_slot_18", &verilog(RingSlot::<18, 5>::default()), 18);
}

fn levels(name: &str, text: &str, width: u32) {
    let mut bench = Bench::new(name, text);
    let mut rng = crate::random(&bench);
    for log2 in 0..width {
        let size = 1u64 << log2;
        for round in 0..20u64 {
            let level = if round < 4 { size + round - 1 } else { rng.random_range(0..1 << width) };
            bench.set("level", level % (1 << width));
            bench.set("log2", u64::from(log2));
            bench.eval();
            assert_eq!(bench.get("full") == 1, level >= size, "{level} of {size}");
            assert_eq!(bench.get("over") == 1, level > size, "{level} of {size}");
        }
    }
}

#[test]
fn every_size_of_a_work_queue_is_full_once() {
    levels("ring_level", &verilog(RingLevel::<14, 4>::default()), 14);
}

#[test]
fn every_size_of_a_completion_queue_is_full_once() {
    levels("ring_level_18", &verilog(RingLevel::<18, 5>::default()), 18);
}
