//! Answers to reads of this side: from the wire to memory, and to the send side.

use viaduct_hdl::bus::{local, ReadSent};
use viaduct_spec::tables::service;
use viaduct_spec::wire::{opcode, syndrome};

use super::{buffer, complete, fill, packet, world, BUFFER, DONE, PSN, VI};
use crate::bundle::Bundle;
use crate::world::{Descriptor, Event, World};

/// Where the reads' descriptors lie in their region, in units of 64 bytes: where no receive of the VI does.
const OFFSET: u64 = (VI * 64 + 32) * 64;

/// A read of so many bytes into these segments leaves: the `n`th of its VI; its answer begins `psn` packets behind the first PSN.
fn leaves(world: &mut World, n: u64, segments: &[(u64, u64, u64)], length: u64, psn: u64) {
    // In front of a read's own segments stands the peer's memory.
    let all: Vec<_> = [(0x5555_0000, 0x77, 0)].iter().chain(segments).copied().collect();
    let place = world.regions[&world.descriptors].base + OFFSET * 64;
    for (at, word) in Descriptor::new(&all).words.iter().enumerate() {
        for (k, byte) in word.to_le_bytes().into_iter().enumerate() {
            world.memory.insert(place + at as u64 * 8 + k as u64, byte);
        }
    }
    let fields = [
        ("vi", VI),
        ("number", n % 8),
        ("region", world.descriptors),
        ("offset", OFFSET),
        ("segments", all.len() as u64),
        ("length", length),
        ("psn", (PSN + psn) & 0xff_ffff),
    ];
    Bundle::of::<ReadSent>("read").set(&mut world.bench, &fields);
    world.bench.set("read_valid", 1);
    for _ in 0..100 {
        world.bench.eval();
        let taken = world.bench.get("read_ready") == 1;
        world.step();
        if taken {
            return world.bench.set("read_valid", 0);
        }
    }
    panic!("the read was not taken");
}

/// What the send side is told of the packet that is `psn` behind the first PSN.
fn told(psn: u64, syndrome: u64) -> Event {
    Event::Acknowledged { vi: VI, psn: (PSN + psn) & 0xff_ffff, syndrome }
}

#[test]
fn the_answer_to_a_read_goes_where_its_descriptor_says() {
    let mut world = world(service::RELIABLE_DELIVERY);
    let (mut psn, mut expect) = (0, Vec::new());
    for (n, length) in (0..).zip([1, 40, 255, 256, 257, 512, 513, 700, 0, 1000]) {
        // Seven segments of odd lengths, the last one long enough.
        let mut at = 0x400 * n;
        let segments: Vec<_> = (0..7)
            .map(|k| {
                let long = if k == 6 { 1000 } else { 13 * k + 5 };
                at += long + 3;
                buffer(at - long, long)
            })
            .collect();
        leaves(&mut world, n, &segments, length, psn);
        let data = fill(length as usize, n as u8);
        let packets = data.len().div_ceil(256).max(1);
        for k in 0..packets {
            let op = match (k == 0, k + 1 == packets) {
                (true, true) => opcode::RC_READ_RESPONSE_ONLY,
                (true, false) => opcode::RC_READ_RESPONSE_FIRST,
                (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
                (false, true) => opcode::RC_READ_RESPONSE_LAST,
            };
            let part = &data[256 * k..data.len().min(256 * k + 256)];
            world.send(&packet(op, psn, part).bytes(), n % 3 == 0);
            expect.push(told(psn, syndrome::ACK.into()));
            psn += 1;
        }
        world.settle();
        assert_eq!(world.take(), expect, "{length} bytes");
        let places = segments.iter().flat_map(|(address, _, long)| world.bytes(*address, *long));
        assert!(places.take(length as usize).eq(data), "{length} bytes");
    }
    assert_eq!(
        [world.count("count_message"), world.count("count_response")],
        [0, 0],
        "no message of the peer's"
    );
}

/// Rule REQ-2: an answer that no read waits for, behind one that a read waits for.
#[test]
fn an_answer_to_nothing_is_counted() {
    let mut world = world(service::RELIABLE_DELIVERY);
    leaves(&mut world, 0, &[buffer(0, 64)], 40, 7);
    for (psn, salt) in [(6, 1), (7, 2), (7, 3), (8, 4)] {
        world.send(&packet(opcode::RC_READ_RESPONSE_ONLY, psn, &fill(40, salt)).bytes(), false);
        world.settle();
    }
    assert_eq!(world.count("count_response"), 3);
    assert_eq!(world.take(), [told(7, syndrome::ACK.into())]);
    assert_eq!(world.bytes(BUFFER, 40), fill(40, 2));
}

/// Rule WQ-2: a segment that is refused when the answer comes.
#[test]
fn behind_an_answer_the_peers_messages_go_on() {
    let mut world = world(service::RELIABLE_DELIVERY);
    // Of one that is placed, one of nothing, and one whose memory is not the VI's.
    let foreign = (BUFFER, 0x4343_0003, 64);
    let reads = [(buffer(0x100, 64), 64, true), (buffer(0x200, 64), 0, true), (foreign, 64, false)];
    let mut expect = Vec::new();
    for (n, (segment, length, good)) in (0..).zip(reads) {
        leaves(&mut world, n, &[segment], length, 100 + n);
        let answer = packet(opcode::RC_READ_RESPONSE_ONLY, 100 + n, &fill(length as usize, 3));
        world.send(&answer.bytes(), false);
        let word = if good { syndrome::ACK.into() } else { local::PROTECTION };
        expect.push(told(100 + n, word));
        world.post(VI, Descriptor::new(&[buffer(64 * n, 64)]), true);
        let data = fill(50, n as u8);
        world.send(&packet(opcode::RC_SEND_ONLY, n, &data).bytes(), false);
        world.settle();
        assert_eq!(world.bytes(BUFFER + 64 * n, 50), data, "behind read {n}");
        let seen: Vec<_> =
            world.take().into_iter().filter(|event| !matches!(event, Event::Acknowledge { .. })).collect();
        expect.push(complete(n, 50, DONE));
        assert_eq!(seen, expect, "behind read {n}");
    }
}
