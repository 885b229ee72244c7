//! The receive side against a parser of its own.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{MmioRead, MmioWrite};
use viaduct_hdl::edge::TlpReceive;
use viaduct_hdl::export::verilog;
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;
use viaduct_spec::tlp::{dw0, kind, request_dw1};
use viaduct_verilate::Bench;

use crate::beat::{beats, header, Beat};
use crate::bundle::Bundle;

#[derive(Debug, PartialEq, Eq)]
struct Write {
    doorbell: bool,
    address: u64,
    /// Bytes with their addresses in the word.
    bytes: Vec<(u64, u8)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Read {
    doorbell: bool,
    address: u64,
    pair: bool,
    unsupported: bool,
    lower: u64,
    count: u64,
    tag: u64,
    requester: u64,
    attributes: u64,
}

/// What must come of the packets sent so far.
#[derive(Default)]
struct Want {
    writes: VecDeque<Write>,
    reads: VecDeque<Read>,
    completions: VecDeque<Beat>,
    dropped: u64,
}

struct Made {
    packet: Vec<u32>,
    bar: u64,
    nonposted: bool,
}

/// A packet of any kind, and what must come of it.
fn make(rng: &mut ChaCha8Rng, want: &mut Want) -> Made {
    let bar = *[0, 0, 2, 2, 2, 3].choose(rng).unwrap();
    let known = bar != 3;
    let (tag, requester): (u64, u64) = (rng.random_range(0..256), rng.random_range(0..0x10000));
    let (class, attr): (u64, u64) = (rng.random_range(0..8), rng.random_range(0..4));
    let long = rng.random_bool(0.3);
    let length: u64 = *[1, 1, 1, 2, 2, 2, 3, 8, 32].choose(rng).unwrap();
    // The BAR lies anywhere.
    let high: u32 = if long { rng.random() } else { 0 };
    let mut address: u32 = rng.random::<u32>() & !3;
    if length == 2 && rng.random_bool(0.8) {
        address &= !7;
    }
    let first: u64 = rng.random_range(0..16);
    let last: u64 = if length == 1 { 0 } else { rng.random_range(1..16) };
    let request = |code: u8, length: u64| {
        let mut packet = vec![
            header(&[
                (dw0::KIND, u64::from(code) | if long { 0x20 } else { 0 }),
                (dw0::LENGTH, length),
                (dw0::TRAFFIC_CLASS, class),
                (dw0::ATTR, attr),
            ]),
            header(&[
                (request_dw1::FIRST_BE, first),
                (request_dw1::LAST_BE, last),
                (request_dw1::TAG, tag),
                (request_dw1::REQUESTER, requester),
            ]),
        ];
        if long {
            packet.push(high);
        }
        packet.push(address);
        packet
    };
    let astray = length == 2 && address % 8 != 0;
    // What is above a BAR's size is where it lies.
    let size = if bar == 0 { BAR0_BYTES } else { BAR2_BYTES };
    let offset = u64::from(address) & (size - 1);
    let unsupported = |nonposted: Vec<u32>, want: &mut Want| {
        want.reads.push_back(Read {
            doorbell: bar & 2 != 0,
            address: offset,
            pair: false,
            unsupported: true,
            lower: 0,
            count: 4,
            tag,
            requester,
            attributes: class << 2 | attr,
        });
        Made { packet: nonposted, bar, nonposted: true }
    };
    match rng.random_range(0..12) {
        0..=4 => {
            let mut packet = request(kind::WRITE_3DW, length);
            let payload: Vec<u32> = (0..length).map(|_| rng.random()).collect();
            packet.extend(&payload);
            let poisoned = rng.random_bool(0.1);
            if poisoned {
                packet[0] |= 1 << dw0::POISONED.lo;
            }
            let cut = rng.random_bool(0.1);
            if cut {
                let keep = rng.random_range(1..packet.len());
                packet.truncate(keep);
            } else if rng.random_bool(0.1) {
                packet[0] |= 1 << dw0::DIGEST.lo;
                packet.push(rng.random());
            }
            if !known || poisoned || cut || length > 2 || astray {
                want.dropped += 1;
            } else {
                let enables = first | last << 4;
                let bytes: Vec<_> = (0..8)
                    .filter(|k| enables >> k & 1 == 1)
                    .map(|k| (offset % 8 + k, payload[k as usize / 4].to_le_bytes()[k as usize % 4]))
                    .collect();
                if !bytes.is_empty() {
                    want.writes.push_back(Write { doorbell: bar == 2, address: offset & !7, bytes });
                }
            }
            Made { packet, bar, nonposted: false }
        }
        5..=7 => {
            let packet = request(kind::READ_3DW, length);
            if !known || length > 2 || astray {
                return unsupported(packet, want);
            }
            let enables = first | last << 4;
            let low = u64::from(first.trailing_zeros()) % 64 % 4 * u64::from(first != 0);
            let count = if enables == 0 {
                1
            } else if length == 1 {
                u64::from(64 - first.leading_zeros() - first.trailing_zeros())
            } else {
                u64::from(64 - enables.leading_zeros()) - low
            };
            want.reads.push_back(Read {
                doorbell: bar == 2,
                address: offset,
                pair: length == 2,
                unsupported: false,
                lower: (u64::from(address) & 0x7C) | low,
                count,
                tag,
                requester,
                attributes: class << 2 | attr,
            });
            Made { packet, bar, nonposted: true }
        }
        8 => {
            // Locked read, I/O, configuration, atomic operations.
            let codes = [0x01, 0x02, 0x42, 0x04, 0x44, 0x05, 0x45, 0x1B, 0x5B, 0x4C, 0x4D, 0x4E];
            let code = *codes.choose(rng).unwrap();
            let mut packet = request(code, length);
            if code & 0x40 != 0 {
                packet.extend((0..length).map(|_| rng.random::<u32>()));
            }
            unsupported(packet, want)
        }
        9 => {
            let code = if rng.random() { kind::COMPLETION } else { kind::COMPLETION_DATA };
            let mut packet = vec![header(&[(dw0::KIND, code.into()), (dw0::LENGTH, length)])];
            packet.extend((0..2 + length).map(|_| rng.random::<u32>()));
            if code == kind::COMPLETION {
                packet.truncate(3);
            }
            want.completions.extend(beats(&packet));
            Made { packet, bar: rng.random_range(0..8), nonposted: false }
        }
        10 => {
            // A message, with or without data.
            let code = rng.random_range(0x30..0x38) | if rng.random() { 0x40 } else { 0 };
            let mut packet: Vec<u32> = (0..4 + length).map(|_| rng.random()).collect();
            packet[0] = header(&[(dw0::KIND, code), (dw0::LENGTH, length)]);
            Made { packet, bar: 7, nonposted: false }
        }
        _ => {
            // A prefix, a locked completion, and what nobody has defined.
            let code = *[0x80, 0x90, 0x0B, 0x4B, 0x03, 0x19, 0x1A, 0x5F].choose(rng).unwrap();
            let mut packet: Vec<u32> = (0..3 + length).map(|_| rng.random()).collect();
            packet[0] = header(&[(dw0::KIND, code), (dw0::LENGTH, length)]);
            want.dropped += 1;
            Made { packet, bar, nonposted: false }
        }
    }
}

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
        attributes: get("attributes"),
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
            beat.set(&mut bench, "rx");
        }
        let ready = ending || rng.random_bool(read_rate);
        bench.set("read_ready", ready.into());
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

fn append(want: &mut Want, more: Want) {
    want.writes.extend(more.writes);
    want.reads.extend(more.reads);
    want.completions.extend(more.completions);
    want.dropped += more.dropped;
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
            beat.set(&mut bench, "rx");
            bench.set("rx_valid", 1);
            bench.tick();
            dropped += bench.get("count_dropped");
        }
    }
    bench.set("rx_valid", 0);
    bench.set("read_ready", 1);
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
        bench.set("read_ready", 1);
        for (n, beat) in line.iter().enumerate() {
            bench.set("rx_valid", 1);
            bench.set("reset", (n == cut).into());
            beat.set(&mut bench, "rx");
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
            beat.set(&mut bench, "rx");
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
        bench.set("read_ready", 1);
        for beat in &line[..rng.random_range(0..line.len())] {
            bench.set("rx_valid", 1);
            beat.set(&mut bench, "rx");
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
            beat.set(&mut bench, "rx");
            bench.tick();
        }
        bench.set("rx_valid", 0);
        assert_eq!(bench.get("mmio_write_valid"), 1, "{:x?}", made.packet);
        bench.tick();
    }
}
