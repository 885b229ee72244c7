//! The stream primitives against one model: a queue of a known capacity and latency.

use std::collections::VecDeque;

use rand::Rng;
use rust_hdl::prelude::*;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::{Fifo, FifoSlice, RamFifo, Skid};
use viaduct_verilate::Bench;

/// A payload of two fields, to see that structures go through as they are.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Word {
    tag: Bits<5>,
    body: Bits<40>,
}

/// What distinguishes one queue from another.
struct Shape {
    capacity: usize,
    latency: u64,
    level: bool,
}

/// Every assertion a stream queue must keep, under random valid and ready of several densities.
fn check(bench: &mut Bench, shape: &Shape) {
    let mut rng = super::random(bench);
    let mut queue: VecDeque<u64> = VecDeque::new();
    let mut shown: Option<u64> = None;
    for (offer, take) in [(0.5, 0.5), (0.9, 0.2), (0.2, 0.9), (1.0, 1.0), (0.95, 0.9)] {
        for _ in 0..3000 {
            let word = rng.random_range(0..1 << 45);
            let valid = rng.random_bool(offer);
            bench.set("sink_valid", valid.into());
            bench.set("sink", word);
            bench.set("source_ready", rng.random_bool(take).into());
            bench.eval();
            if shape.level {
                assert_eq!(bench.get("level"), queue.len() as u64);
                assert_eq!(
                    bench.get("sink_ready") == 1,
                    queue.len() < shape.capacity,
                    "ready exactly when there is room"
                );
            }
            let out = (bench.get("source_valid") == 1).then(|| bench.get("source"));
            if let Some(word) = shown {
                assert_eq!(out, Some(word), "a word on show stays");
            }
            shown = out;
            if let Some(word) = out {
                assert_eq!(queue.front(), Some(&word), "in order");
                if bench.get("source_ready") == 1 {
                    queue.pop_front();
                    shown = None;
                }
            }
            if valid && bench.get("sink_ready") == 1 {
                queue.push_back(word);
            }
            assert!(queue.len() <= shape.capacity);
            bench.tick();
        }
    }
}

/// Capacity, latency, throughput and reset, each measured.
fn measure(bench: &mut Bench, shape: &Shape) {
    bench.reset();
    bench.set("sink_valid", 1);
    bench.set("source_ready", 0);
    let mut held = 0;
    let mut latency = None;
    for cycle in 0..(shape.capacity as u64 + 8) {
        bench.set("sink", cycle);
        bench.eval();
        if latency.is_none() && bench.get("source_valid") == 1 {
            latency = Some(cycle);
        }
        held += bench.get("sink_ready") as usize;
        bench.tick();
    }
    assert_eq!(held, shape.capacity);
    assert_eq!(latency, Some(shape.latency));

    bench.reset();
    assert_eq!((bench.get("source_valid"), bench.get("sink_ready")), (0, 1), "reset empties");
    let mut out = 0;
    bench.set("source_ready", 1);
    for cycle in 0..1000 {
        bench.set("sink", cycle);
        bench.eval();
        assert_eq!(bench.get("sink_ready"), 1, "full throughput in");
        out += bench.get("source_valid");
        bench.tick();
    }
    assert_eq!(out, 1000 - shape.latency, "full throughput out");
}

fn test(name: &str, verilog: &str, shape: &Shape) {
    let mut bench = Bench::new(name, verilog);
    check(&mut bench, shape);
    measure(&mut bench, shape);
}

#[test]
fn fifo() {
    let shape = Shape { capacity: 8, latency: 1, level: true };
    test("fifo", &verilog(Fifo::<Word, 3, 4>::default()), &shape);
}

#[test]
fn fifo_of_two() {
    let shape = Shape { capacity: 2, latency: 1, level: true };
    test("fifo_of_two", &verilog(Fifo::<Bits<45>, 1, 2>::default()), &shape);
}

#[test]
fn fifo_slice() {
    let shape = Shape { capacity: 9, latency: 2, level: false };
    test("fifo_slice", &verilog(FifoSlice::<Word, 3, 4>::default()), &shape);
}

#[test]
fn ram_fifo() {
    let shape = Shape { capacity: 16, latency: 2, level: true };
    test("ram_fifo", &verilog(RamFifo::<Word, 4, 5>::default()), &shape);
}

#[test]
fn skid() {
    let shape = Shape { capacity: 2, latency: 1, level: false };
    test("skid", &verilog(Skid::<Word>::default()), &shape);
}
