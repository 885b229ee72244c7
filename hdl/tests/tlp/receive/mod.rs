//! The receive side against a parser of its own.

mod packet;

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::bus::{MmioRead, MmioWrite};
use viaduct_hdl::edge::TlpReceive;
use viaduct_hdl::export::verilog;
use viaduct_spec::tlp::{dw0, kind, request_dw1};
use viaduct_verilate::Bench;

use crate::beat::{beats, header, Beat};
use crate::bundle::Bundle;
use packet::{append, make, Made, Read, Want, Write};

fn read_on_show(bench: &Bench) -> Read {
    let bundle = Bundle::of::<MmioRead>("mmio_read");
    let get = |name| bundle.get(bench, name);
    Read {
        doorbell: get("doorbell") == 1,
        address: get("address"),
        pair: get("pair") == 1,
        unsupported: get("unsupported") == 1,
        lower: get("lower_address"),
        count: get("byte_count"),
        tag: get("tag"),
        requester: get("requester"),
        attributes: get("traffic_class") << 2 | get("attr"),
    }
}

/// Runs packets through; `late`: the source sees `np_ready` so many cycles late.
fn run(late: usize, read_rate: f64) {
    let mut bench = Bench::new("receive", &verilog(TlpReceive::default()));
    let stored = Bundle::of::<MmioWrite>("mmio_write");
    let mut rng = crate::random(&bench);
    let mut want = Want::default();
    let mut dropped = 0;
    let mut line: VecDeque<Beat> = VecDeque::new();
    let mut next: Option<(Made, Want)> = None;
    let mut bar = 0;
    let (mut writes, mut reads) = (0, 0);
    let mut ready_was = VecDeque::from(vec![false; late + 1]);
    for cycle in 0..60_000 {
        let ending = cycle > 59_000;
        ready_was.push_back(bench.get("np_ready") == 1);
        ready_was.pop_front();
        if line.is_empty() && !ending && rng.random_bool(0.8) {
            let (made, wanted) = next.take().unwrap_or_else(|| {
                let mut wanted = Want::default();
                (make(&mut rng, &mut wanted), wanted)
            });
            if made.nonposted && !ready_was[0] {
                // Posted packets and completions pass it.
                next = Some((made, wanted));
                let mut wanted = Want::default();
                let other = make(&mut rng, &mut wanted);
                if !other.nonposted {
                    line = beats(&other.packet).into();
                    bar = other.bar;
                    append(&mut want, wanted);
                }
            } else {
                line = beats(&made.packet).into();
                bar = made.bar;
                append(&mut want, wanted);
            }
        }
        let beat = if rng.random_bool(0.9) { line.pop_front() } else { None };
        bench.set("rx_valid", beat.is_some().into());
        bench.set("rx_bar", bar);
        if let Some(beat) = beat {
            beat.set_apart(&mut bench, "rx");
        }
        let ready = ending || rng.random_bool(read_rate);
        bench.set("mmio_read_ready", ready.into());
        bench.eval();
        if bench.get("mmio_write_valid") == 1 {
            let get = |name| stored.get(&bench, name);
            let (doorbell, address) = (get("doorbell") == 1, get("address"));
            let (data, enables) = (get("data").to_le_bytes(), get("enables"));
            let bytes = (0..8).filter(|k| enables >> k & 1 == 1).map(|k| (k, data[k as usize])).collect();
            assert_eq!(Some(Write { doorbell, address, bytes }), want.writes.pop_front());
            writes += 1;
        }
        if bench.get("mmio_read_valid") == 1 {
            assert_eq!(Some(&read_on_show(&bench)), want.reads.front());
            if ready {
                want.reads.pop_front();
                reads += 1;
            }
        }
        if bench.get("completion_valid") == 1 {
            assert_eq!(Some(Beat::get(&bench, "completion")), want.completions.pop_front());
        }
        dropped += bench.get("count_dropped");
        bench.tick();
    }
    assert!(want.writes.is_empty() && want.reads.is_empty() && want.completions.is_empty());
    assert_eq!(dropped, want.dropped);
    assert!(writes > 1000 && reads > 500 && dropped > 500, "{writes} {reads} {dropped}");
}

#[test]
fn every_packet_becomes_what_it_is() {
    run(0, 0.5);
}

#[test]
fn a_source_that_sees_np_ready_late_loses_nothing() {
    run(1, 0.05);
}

/// Of two loads that wait, the second is the one that was asked for, in each of its fields.
#[test]
fn one_load_more_than_np_ready_allows_is_kept_whole() {
    run(2, 0.05);
}

/// Whatever the source thinks of `np_ready`: a load more than it was offered finds room, a third is counted.
#[test]
fn a_second_load_finds_room_and_a_third_is_dropped() {
    let mut bench = Bench::new("receive", &verilog(TlpReceive::default()));
    let mut dropped = 0;
    for number in 0..3 {
        let load = [
            header(&[(dw0::KIND, kind::READ_3DW.into()), (dw0::LENGTH, 1)]),
            header(&[(request_dw1::FIRST_BE, 0xF), (request_dw1::TAG, number)]),
            0x10 * number as u32,
        ];
        for beat in beats(&load) {
            beat.set_apart(&mut bench, "rx");
            bench.set("rx_valid", 1);
            bench.tick();
            dropped += bench.get("count_dropped");
        }
    }
    bench.set("rx_valid", 0);
    bench.set("mmio_read_ready", 1);
    let mut taken = Vec::new();
    for _ in 0..8 {
        bench.eval();
        if bench.get("mmio_read_valid") == 1 {
            let read = read_on_show(&bench);
            taken.push((read.tag, read.address));
        }
        bench.tick();
        dropped += bench.get("count_dropped");
    }
    assert_eq!((taken, dropped), (vec![(0, 0), (1, 0x10)], 1));
}

/// Reset in the middle of a packet: the rest of it is nothing, the next one is whole again.
#[test]
fn reset_cuts_one_packet_only() {
    let mut bench = Bench::new("receive", &verilog(TlpReceive::default()));
    let mut rng = crate::random(&bench);
    for _ in 0..300 {
        let mut want = Want::default();
        let made = make(&mut rng, &mut want);
        let line = beats(&made.packet);
        let cut = rng.random_range(0..line.len());
        bench.set("rx_bar", made.bar);
        bench.set("mmio_read_ready", 1);
        for (n, beat) in line.iter().enumerate() {
            bench.set("rx_valid", 1);
            bench.set("reset", (n == cut).into());
            beat.set_apart(&mut bench, "rx");
            bench.tick();
            if n >= cut {
                let events = ["mmio_write_valid", "mmio_read_valid", "completion_valid", "count_dropped"];
                assert!(events.iter().all(|name| bench.get(name) == 0), "{:x?} cut at {cut}", made.packet);
            }
        }
        bench.set("reset", 0);
        // A store of one double word.
        let store = [0x4000_0001, 0x0000_000F, 0x0000_1238, 0xCAFE_F00D];
        bench.set("rx_bar", 2);
        for beat in beats(&store) {
            assert_eq!(bench.get("mmio_write_valid"), 0);
            beat.set_apart(&mut bench, "rx");
            bench.tick();
        }
        bench.set("rx_valid", 0);
        assert_eq!(bench.get("mmio_write_valid"), 1);
        let stored = Bundle::of::<MmioWrite>("mmio_write");
        let got = ["doorbell", "address", "data", "enables"].map(|name| stored.get(&bench, name));
        assert_eq!([got[0], got[1], got[2] & 0xFFFF_FFFF, got[3]], [1, 0x1238, 0xCAFE_F00D, 0x0F]);
        bench.tick();
    }
}

/// The link goes down in the middle of a packet: its rest never comes, and the first beat of after is a packet's first.
#[test]
fn a_link_that_goes_down_takes_the_rest_of_a_packet_with_it() {
    let mut bench = Bench::new("receive", &verilog(TlpReceive::default()));
    let mut rng = crate::random(&bench);
    for _ in 0..300 {
        let made = make(&mut rng, &mut Want::default());
        let line = beats(&made.packet);
        bench.set("rx_bar", made.bar);
        bench.set("mmio_read_ready", 1);
        for beat in &line[..rng.random_range(0..line.len())] {
            bench.set("rx_valid", 1);
            beat.set_apart(&mut bench, "rx");
            bench.tick();
        }
        bench.set("rx_valid", 0);
        bench.set("reset", 1);
        bench.set("down", 1);
        bench.tick();
        bench.set("reset", 0);
        bench.set("down", 0);
        let store = [0x4000_0001, 0x0000_000F, 0x0000_1238, 0xCAFE_F00D];
        bench.set("rx_bar", 2);
        bench.set("rx_valid", 1);
        for beat in beats(&store) {
            assert_eq!(bench.get("mmio_write_valid"), 0);
            beat.set_apart(&mut bench, "rx");
            bench.tick();
        }
        bench.set("rx_valid", 0);
        assert_eq!(bench.get("mmio_write_valid"), 1, "{:x?}", made.packet);
        bench.tick();
    }
}
