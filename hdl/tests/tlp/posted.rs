//! Interrupts between the packets of the write engine.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::edge::TlpPosted;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

use crate::beat::{beats, Beat, Collector};

/// A packet of so many double words; the first says whose it is, and the second its number.
fn packet(message: bool, number: u32, words: usize) -> Vec<u32> {
    let mut packet = vec![u32::from(message), number];
    packet.extend((2..words as u32).map(|n| number.wrapping_mul(0x9E37_79B9) ^ n));
    packet
}

#[test]
fn packets_of_both_leave_whole_in_order_and_in_turn() {
    let mut bench = Bench::new("posted", &verilog(TlpPosted::default()));
    let mut random = crate::random(&bench);
    let mut queues: [VecDeque<Beat>; 2] = Default::default();
    let mut sent: [VecDeque<Vec<u32>>; 2] = Default::default();
    let mut numbers = [0, 0];
    let mut showing = [false; 2];
    // The interrupt's first beat is on show: it may be withdrawn.
    let mut first = true;
    let mut collector = Collector::default();
    let (mut withdrawn, mut behind, mut seen) = (0, 0, [0, 0]);
    for cycle in 0..40_000 {
        // First everything at random; then writes without a gap.
        let dense = cycle > 20_000;
        for (side, queue) in queues.iter_mut().enumerate() {
            let chance = if side == 1 {
                0.1
            } else if dense {
                1.0
            } else {
                0.3
            };
            if queue.is_empty() && random.random_bool(chance) {
                let words = random.random_range(4..if side == 1 { 6 } else { 12 });
                let packet = packet(side == 1, numbers[side], words);
                numbers[side] += 1;
                queue.extend(beats(&packet));
                sent[side].push_back(packet);
            }
        }
        let ready = random.random_bool(0.8);
        bench.set("tx_ready", ready.into());
        for (side, name) in ["write", "message"].into_iter().enumerate() {
            // The write engine's data may come late; an interrupt's beats are all there.
            let late = side == 0 && !dense && random.random_bool(0.3);
            showing[side] = !queues[side].is_empty() && (showing[side] || !late);
            if side == 1 && first && showing[1] && random.random_bool(0.05) {
                showing[1] = false;
                withdrawn += 1;
            }
            bench.set(&format!("{name}_valid"), showing[side].into());
            if let Some(beat) = queues[side].front() {
                beat.set(&mut bench, name);
            }
        }
        bench.eval();
        let taken = ["write", "message"].map(|name| bench.get(&format!("{name}_ready")) == 1);
        assert!(!(taken[0] && taken[1]) && (ready || taken == [false; 2]));
        let valid = bench.get("tx_valid") == 1;
        if valid && ready {
            let side = usize::from(taken[1]);
            assert!(showing[side] && taken[side]);
            let beat = Beat::get(&bench, "tx");
            assert_eq!(Some(beat), queues[side].pop_front());
            showing[side] = false;
            if side == 1 {
                first = beat.last;
            }
            if let Some(packet) = collector.push(beat) {
                assert_eq!(Some(&packet), sent[side].front(), "whole");
                sent[side].pop_front();
                seen[side] += 1;
                behind = if side == 0 && showing[1] { behind + 1 } else { 0 };
                assert!(behind <= 2 || !dense, "an interrupt waits for {behind} packets");
            }
        }
        if valid && !ready {
            assert!(showing[0] || showing[1]);
        }
        bench.tick();
    }
    println!("{seen:?} packets, {withdrawn} withdrawn");
    assert!(seen[0] > 4000 && seen[1] > 1500 && withdrawn > 100);
}

#[test]
fn a_write_is_not_delayed() {
    let mut bench = Bench::new("posted", &verilog(TlpPosted::default()));
    bench.set("tx_ready", 1);
    let all: Vec<Beat> = (0..50).flat_map(|n| beats(&packet(false, n, 8))).collect();
    for beat in all {
        beat.set(&mut bench, "write");
        bench.set("write_valid", 1);
        bench.eval();
        assert_eq!((bench.get("tx_valid"), bench.get("write_ready")), (1, 1));
        assert_eq!(Beat::get(&bench, "tx"), beat);
        bench.tick();
    }
}
