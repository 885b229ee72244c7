//! Check and cut alone: how many cycles each takes, and what it asks for meanwhile.

use viaduct_hdl::bus::{Access, Packet, SendHead};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{Check, CheckedMessage, Cut, HeadFindings, OwnerNow};
use viaduct_spec::descriptor::{control, control_segment};
use viaduct_spec::tables::gather;
use viaduct_verilate::Bench;

use crate::port::{self, Fields};

/// A descriptor's words with these segments, of address, handle and length.
fn descriptor(flags: u16, length: u64, segments: &[(u64, u64, u64)]) -> [u64; 8] {
    let count = segments.len() as u64;
    let mut words = [0, count << 32 | u64::from(flags) << 48, 0, length, 0, 0, 0, 0];
    for (n, (address, handle, bytes)) in segments.iter().take(2).enumerate() {
        words[4 + 2 * n] = *address;
        words[5 + 2 * n] = bytes << 32 | handle;
    }
    words
}

/// What is found in such a descriptor's first 64 bytes.
fn found(flags: u16, length: u64, segments: &[(u64, u64, u64)]) -> Vec<(&'static str, u64)> {
    vec![
        ("request.operation", u64::from(flags & control::OP_MASK)),
        ("request.has_immediate", u64::from(flags & control::IMMEDIATE > 0)),
        ("request.segments", segments.len() as u64),
        ("length", length),
        ("sum", segments.iter().map(|(_, _, bytes)| bytes).sum()),
    ]
}

/// Shows a descriptor to check. Returns the cycles from `load` to `message`, and the message.
fn checked(bench: &mut Bench, words: [u64; 8], found: &[(&str, u64)]) -> (u64, Fields) {
    bench.reset();
    for port in ["hold", "tail_ready", "tail_length_valid", "tail_end_valid", "message_ready"] {
        bench.set(port, 0);
    }
    port::set::<SendHead>(bench, "head", &[("vi", 3), ("words", 8)]);
    port::set::<OwnerNow>(bench, "now", &[("connected", 1), ("depth", 4)]);
    port::set::<HeadFindings>(bench, "found", found);
    let mut row = [0; 3];
    gather::TAG.put(&mut row, 7);
    gather::MTU.put(&mut row, 2);
    gather::RDMA_READ.put(&mut row, 1);
    gather::MAX_TRANSFER.put(&mut row, 100_000);
    bench.set("waits", 1);
    let mut word = 0;
    let mut loaded = None;
    for cycle in 0..100 {
        bench.eval();
        if bench.get("load") == 1 {
            loaded = Some(cycle);
        }
        if bench.get("message_valid") == 1 {
            return (cycle - loaded.expect("loaded"), port::get::<CheckedMessage>(bench, "message"));
        }
        let (reads_row, seeks, index) = (bench.get("read_row"), bench.get("seek_valid"), bench.get("seek"));
        bench.tick();
        // The memories answer in the next cycle.
        bench.set("waits", loaded.is_none().into());
        bench.set("late", word);
        if reads_row == 1 {
            word = row[0];
        } else if seeks == 1 {
            word = words[index as usize % 8];
        }
    }
    panic!("no message");
}

#[test]
fn check_takes_four_cycles_one_more_for_immediate_data_and_two_for_rdma() {
    let (data, other, remote) = ((0x5000, 0x9_0001, 600), (0x7000, 0x9_0002, 60), (0x1000, 5, 0));
    let immediate = control::OP_RDMAWRITE | control::IMMEDIATE;
    let cases = [
        (4, control::OP_SENDRECV, 600, vec![data]),
        (4, control::OP_SENDRECV, 660, vec![data, other]),
        (5, control::OP_SENDRECV | control::IMMEDIATE, 600, vec![data]),
        (6, control::OP_RDMAWRITE, 600, vec![remote, data]),
        (7, immediate, 600, vec![remote, data]),
        (6, control::OP_RDMAREAD, 600, vec![remote, data]),
    ];
    let mut bench = Bench::new("check", &verilog(Check::default()));
    for (latency, flags, length, segments) in cases {
        let mut words = descriptor(flags, length, &segments);
        control_segment::IMMEDIATE.put(&mut words, 0x1234_5678);
        let (cycles, message) = checked(&mut bench, words, &found(flags, length, &segments));
        assert_eq!(cycles, latency, "flags {flags:#x}, {} segments", segments.len());
        let operation = flags & control::OP_MASK;
        let expected = [
            ("ends", 0),
            ("parks", 0),
            ("errors", 0),
            ("operation", u64::from(operation)),
            ("reads", u64::from(operation == control::OP_RDMAREAD)),
            ("length", length),
            ("segments", segments.len() as u64),
            ("tag", 7),
            ("mtu", 1024),
            ("mtu_log2", 10),
        ];
        for (name, value) in expected {
            assert_eq!(message[name], value, "{name}, flags {flags:#x}");
        }
        if operation != control::OP_SENDRECV {
            assert_eq!((message["remote_address"], message["rkey"]), (0x1000, 5));
        }
        if flags & control::IMMEDIATE > 0 {
            assert_eq!(message["immediate"], 0x1234_5678);
        }
    }
}

#[test]
fn cut_asks_two_cycles_behind_its_message_and_every_four_behind_that() {
    let mut bench = Bench::new("cut", &verilog(Cut::default()));
    for port in ["hold", "counted", "message_valid"] {
        bench.set(port, 0);
    }
    port::set::<SendHead>(&mut bench, "head", &[("vi", 3)]);
    port::set::<OwnerNow>(&mut bench, "now", &[("connected", 1)]);
    for port in ["access_ready", "packet_ready", "claim_room"] {
        bench.set(port, 1);
    }
    // 1500 bytes in one segment, whose words are the last two shown.
    let message = [("length", 1500), ("segments", 1), ("tag", 7), ("mtu", 1024), ("mtu_log2", 10)];
    port::set::<CheckedMessage>(&mut bench, "message", &message);
    bench.set("late", 0x5000);
    bench.set("word", 1500 << 32 | 9 << 16 | 5);
    bench.set("prepares", 1);
    bench.tick();
    bench.tick();
    bench.set("prepares", 0);
    bench.set("message_valid", 1);
    let (mut accesses, mut packets, mut taken) = (Vec::new(), Vec::new(), None);
    for cycle in 0..30_u64 {
        bench.eval();
        if bench.get("access_valid") == 1 {
            let access = port::get::<Access>(&bench, "access");
            let place = (access["address"], access["length"], access["region"], access["key"], access["tag"]);
            accesses.push((cycle, place));
        }
        if bench.get("packet_valid") == 1 {
            let packet = port::get::<Packet>(&bench, "packet");
            packets.push((cycle, packet["first"], packet["last"], packet["length"]));
        }
        if bench.get("message_ready") == 1 {
            taken = Some(cycle);
        }
        bench.tick();
        bench.set("message_valid", taken.is_none().into());
        bench.set("prepares", taken.is_some().into());
    }
    assert_eq!(accesses, [(2, (0x5000, 1024, 5, 9, 7)), (6, (0x5400, 476, 5, 9, 7))]);
    assert_eq!(packets, [(1, 1, 0, 1024), (5, 0, 1, 476)]);
    assert_eq!(taken, Some(7), "the message is done with when all of it is asked for");
}
