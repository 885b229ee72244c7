//! One VI by hand: messages that end before their end, and reads that may not be.

use viaduct_hdl::bus::{Access, Packet, SendHead};
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::tables::{gather, table, transmit, vi_states};
use viaduct_verilate::Bench;

use super::setup;
use crate::port;

/// VI 7 is connected, with the right to RDMA reads or without.
fn connected(reads: u64) -> Bench {
    let mut bench = setup().bench;
    port::state(&mut bench, 7, vi_states::CONNECTED);
    let mut row = [0; 3];
    gather::TAG.put(&mut row, 1);
    gather::MAX_TRANSFER.put(&mut row, 100_000);
    gather::RDMA_READ.put(&mut row, reads);
    port::commit(&mut bench, table::GATHER, 7, row);
    bench
}

/// A descriptor's words, and its head.
pub fn post(bench: &mut Bench, words: [u64; 8], head: &[(&str, u64)]) {
    bench.set("word_valid", 1);
    for word in words {
        bench.set("word", word);
        bench.tick();
    }
    bench.set("word_valid", 0);
    port::set::<SendHead>(bench, "head", head);
    bench.set("head_valid", 1);
    bench.tick();
    bench.set("head_valid", 0);
}

/// What comes first of a descriptor that was posted.
fn first_packet(bench: &mut Bench) -> port::Fields {
    bench.set("packet_ready", 1);
    bench.eval();
    while bench.get("packet_valid") == 0 {
        bench.tick();
        bench.eval();
        assert!(bench.cycles() < 10_000);
    }
    port::get::<Packet>(bench, "packet")
}

#[test]
fn a_message_of_a_past_epoch_ends_without_a_word() {
    let mut bench = connected(0);
    for (offset, epoch) in [(77, 0), (78, 0), (77, 1)] {
        let words = [0, 1 << 32, 0, 50_000, 0x1000, 50_000 << 32 | 5, 0, 0];
        let head = [
            ("vi", 7),
            ("words", 8),
            ("offset", offset),
            ("epoch", epoch),
            ("restart", epoch),
            ("skip", epoch),
        ];
        post(&mut bench, words, &head);
    }
    bench.set("packet_ready", 1);
    bench.set("access_ready", 1);
    let (mut old, mut new, mut taken, mut turned) = (0, 0, 0, false);
    while new == 0 {
        bench.eval();
        taken += bench.get("head_taken");
        if bench.get("packet_valid") == 1 {
            let packet = port::get::<Packet>(&bench, "packet");
            assert_eq!((packet["send"], packet["last"]), (1, 0), "{packet:?}");
            old += 1 - packet["epoch"];
            new += packet["epoch"];
            assert_eq!(
                (packet["restart"], packet["first"]),
                (packet["epoch"], u64::from(old == 1 && new == 0))
            );
        }
        bench.tick();
        if old == 3 && !turned {
            turned = true;
            bench.set("packet_ready", 0);
            port::epoch(&mut bench, 7, true);
            bench.set("packet_ready", 1);
        }
        assert!(bench.cycles() < 10_000);
    }
    assert!((3..8).contains(&old), "{old}");
    assert_eq!(taken, 2, "heads of the past epoch");
}

/// What makes an RDMA read none: no right, no depth, immediate data.
/// Rule WQ-2.
#[test]
fn a_read_that_may_not_be_one_is_malformed() {
    for (right, depth, immediate) in [(1, 4, 0), (0, 4, 0), (1, 0, 0), (1, 4, control::IMMEDIATE)] {
        let mut bench = connected(right);
        let mut row = [0; 3];
        transmit::READ_DEPTH.put(&mut row, depth);
        port::commit(&mut bench, table::TRANSMIT, 7, row);
        let flags = u64::from(control::OP_RDMAREAD | immediate) << 48;
        let words = [0, flags | 2 << 32, 0, 600, 0x1000, 5, 0x2000, 600 << 32 | 5];
        post(&mut bench, words, &[("vi", 7), ("words", 8), ("offset", 77)]);
        let packet = first_packet(&mut bench);
        let good = right == 1 && depth != 0 && immediate == 0;
        let error = if good { 0 } else { status::FORMAT_ERROR };
        assert_eq!(
            (packet["send"], packet["errors"], packet["parked"]),
            (good.into(), error.into(), 0),
            "right {right}, depth {depth}, immediate {immediate}"
        );
    }
}

/// 600 bytes are three packets of 256: the third may be asked for alone, a fourth there has never been.
#[test]
fn a_read_that_was_longer_before_is_a_transport_error() {
    for (skip, beyond, error) in [(0, 2, 0), (2, 0, 0), (3, 0, status::TRANSPORT_ERROR)] {
        let mut bench = connected(1);
        let mut row = [0; 3];
        transmit::READ_DEPTH.put(&mut row, 4);
        port::commit(&mut bench, table::TRANSMIT, 7, row);
        let words =
            [0, u64::from(control::OP_RDMAREAD) << 48 | 2 << 32, 0, 600, 0x1000, 5, 0x2000, 600 << 32 | 5];
        post(&mut bench, words, &[("vi", 7), ("words", 8), ("restart", 1), ("skip", skip)]);
        let packet = first_packet(&mut bench);
        let good = u64::from(error == 0);
        assert_eq!((packet["send"], packet["errors"]), (good, error.into()), "{skip} packets skipped");
        if good == 1 {
            assert_eq!((packet["beyond"], packet["remote_address"]), (beyond, 0x1000 + 256 * skip));
        }
    }
}

#[test]
fn ends_a_message_whose_vi_breaks() {
    let mut bench = connected(0);
    let words = [0, 1 << 32, 0, 50_000, 0x1000, 50_000 << 32 | 5, 0, 0];
    post(&mut bench, words, &[("vi", 7), ("words", 8), ("offset", 77)]);
    bench.set("packet_ready", 1);
    bench.set("access_ready", 1);
    let (mut sent, mut breaks) = (0, true);
    loop {
        bench.eval();
        if bench.get("packet_valid") == 1 {
            let packet = port::get::<Packet>(&bench, "packet");
            if packet["send"] == 0 {
                assert_eq!(packet["last"], 1);
                assert_eq!(packet["offset"], 77);
                assert_eq!(packet["errors"], u64::from(status::DESC_FLUSHED_ERROR));
                break;
            }
            assert_eq!(packet["last"], 0);
            sent += 1;
        }
        bench.tick();
        if sent == 3 && breaks {
            breaks = false;
            bench.set("packet_ready", 0);
            port::state(&mut bench, 7, vi_states::ERROR);
            bench.set("packet_ready", 1);
        }
        assert!(bench.cycles() < 10_000);
    }
    assert!((3..8).contains(&sent), "{sent}");
}

/// What is left of a long message behind the packets to skip, whatever its length.
#[test]
fn the_end_of_a_long_message_comes_alone() {
    for bit in 13..25 {
        let mut bench = connected(0);
        let mut row = [0; 3];
        gather::TAG.put(&mut row, 1);
        gather::MTU.put(&mut row, 4);
        gather::MAX_TRANSFER.put(&mut row, 1 << 31);
        port::commit(&mut bench, table::GATHER, 7, row);
        let (length, skip) = ((1 << bit) + 100, 1 << (bit - 12));
        let words = [0, 1 << 32, 0, length, 0x1000, length << 32 | 5, 0, 0];
        post(&mut bench, words, &[("vi", 7), ("words", 8), ("restart", 1), ("skip", skip), ("psn", 9)]);
        bench.set("access_ready", 1);
        let (mut access, mut packet) = (None, None);
        for _ in 0..10 * skip + 200 {
            bench.eval();
            if bench.get("access_valid") == 1 {
                let got = port::get::<Access>(&bench, "access");
                assert!(access.replace((got["address"], got["length"])).is_none(), "bit {bit}");
            }
            let shown = bench.get("packet_valid");
            bench.set("packet_ready", shown);
            if shown == 1 {
                assert!(packet.replace(port::get::<Packet>(&bench, "packet")).is_none(), "bit {bit}");
            }
            bench.tick();
        }
        assert_eq!(access, Some((0x1000 + (1 << bit), 100)), "bit {bit}");
        let packet = packet.expect("a packet");
        for (name, value) in [
            ("send", 1),
            ("first", 0),
            ("last", 1),
            ("length", 100),
            ("message_length", length),
            ("restart", 1),
            ("psn", 9),
            ("errors", 0),
        ] {
            assert_eq!(packet[name], value, "bit {bit}: {name}");
        }
    }
}
