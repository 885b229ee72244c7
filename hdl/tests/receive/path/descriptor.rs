//! Descriptors that are wrong, that reach too far, or that cannot be read.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::service;
use viaduct_spec::wire::{opcode, syndrome};

use super::{acknowledge, broken, buffer, complete, fill, packet, world, BUFFER, DONE, VI};
use crate::world::{Descriptor, Event};

/// Rules RSP-3; and WQ-2: what a receive is checked for.
#[test]
fn errors_of_the_descriptor() {
    type Spoil = fn(&mut Descriptor);
    type Case = (&'static str, Vec<(u64, u64, u64)>, Spoil, u32, u8, u64);
    let nothing: Spoil = |_| {};
    // What is wrong, segments, spoiler, error bit, NAK, bytes that arrive before it shows.
    let cases: [Case; 12] = [
        ("too long", vec![buffer(0, 99)], nothing, status::LENGTH_ERROR, syndrome::NAK_INVALID, 99),
        ("no segment", vec![], nothing, status::LENGTH_ERROR, syndrome::NAK_INVALID, 0),
        (
            "outside",
            vec![buffer(0x3fa0, 128)],
            nothing,
            status::PROTECTION_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "second segment outside",
            vec![buffer(0, 77), buffer(0x5000, 128)],
            nothing,
            status::PROTECTION_ERROR,
            syndrome::NAK_OPERATIONAL,
            77,
        ),
        (
            "wrong key",
            vec![(BUFFER, 0x4243_0003, 128)],
            nothing,
            status::PROTECTION_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "operation",
            vec![buffer(0, 128)],
            |d| d.words[1] |= 1 << 48,
            status::FORMAT_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "reserved control bit",
            vec![buffer(0, 128)],
            |d| d.words[1] |= 1 << 63,
            status::FORMAT_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "reserved word",
            vec![buffer(0, 128)],
            |d| d.words[2] |= 1 << 31,
            status::FORMAT_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "status",
            vec![buffer(0, 128)],
            |d| d.words[3] |= 1 << 32,
            status::FORMAT_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "too many segments",
            vec![buffer(0, 128)],
            |d| d.words[1] |= 253 << 32,
            status::FORMAT_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "region ends in the descriptor",
            vec![buffer(0, 64), buffer(64, 64)],
            |d| d.held = 7,
            status::FORMAT_ERROR,
            syndrome::NAK_OPERATIONAL,
            0,
        ),
        (
            "the rest of the descriptor outside",
            vec![buffer(0, 1), buffer(1, 1), buffer(2, 128)],
            nothing,
            status::PROTECTION_ERROR,
            syndrome::NAK_OPERATIONAL,
            2,
        ),
    ];
    for (name, segments, spoil, error, nak, arrives) in cases {
        for reliable in [false, true] {
            println!("{name}, reliable {reliable}");
            let service = if reliable { service::RELIABLE_DELIVERY } else { service::UNRELIABLE };
            let op = if reliable { opcode::RC_SEND_ONLY } else { opcode::UC_SEND_ONLY };
            let mut world = world(service);
            if name.starts_with("the rest") {
                // The region ends behind the first 64 bytes of the VI's first descriptor.
                let end = VI * 64 * 64 * 64 + 64;
                world.regions.get_mut(&1).unwrap().length = end;
            }
            let mut descriptor = Descriptor::new(&segments);
            spoil(&mut descriptor);
            world.post(VI, descriptor, true);
            world.post(VI, Descriptor::new(&[buffer(0x1000, 128)]), true);
            world.send(&packet(op, 0, &fill(100, 1)).bytes(), false);
            world.send(&packet(op, 1, b"next").bytes(), false);
            world.settle();
            let status = DONE | u64::from(error);
            let flushed = DONE | u64::from(status::DESC_FLUSHED_ERROR);
            let expect = if reliable {
                vec![
                    complete(0, 0, status),
                    acknowledge(0, 0, nak),
                    broken(event_code::CONN_LOST),
                    complete(1, 0, flushed),
                    Event::Repeat { vi: VI },
                ]
            } else {
                vec![complete(0, 0, status), complete(1, 4, DONE)]
            };
            // The next frame is answered before or after the flush.
            let mut found = world.take();
            found.sort_by_key(|event| matches!(event, Event::Repeat { .. }));
            assert_eq!(found, expect, "{name}, reliable {reliable}");
            assert_eq!(world.written, arrives + if reliable { 0 } else { 4 }, "{name}");
            assert_eq!(world.count("count_no_vi"), usize::from(reliable));
        }
    }
}

/// Bytes are checked, not what a segment has room for: one that reaches past its region takes what fits into it.
/// Rule WQ-2.
#[test]
fn a_segment_may_reach_past_its_region() {
    for reliable in [false, true] {
        let class = if reliable { 0 } else { 0x20 };
        let mut world = world(if reliable { service::RELIABLE_DELIVERY } else { service::UNRELIABLE });
        // The region holds 300 bytes of each.
        for _ in 0..3 {
            world.post(VI, Descriptor::new(&[buffer(0x4000 - 300, 65_472)]), true);
        }
        let data = fill(400, 7);
        world.send(&packet(class | 4, 0, &data[..64]).bytes(), false);
        world.send(&packet(class, 1, &data[..256]).bytes(), false);
        world.send(&packet(class | 2, 2, &data[256..300]).bytes(), false);
        world.settle();
        assert_eq!(world.bytes(BUFFER + 0x4000 - 300, 300), data[..300]);
        // One byte more: the second packet is refused, and only that.
        world.send(&packet(class, 3, &fill(256, 9)).bytes(), false);
        world.send(&packet(class | 2, 4, &data[256..301]).bytes(), false);
        world.settle();
        let mut expect = vec![complete(0, 64, DONE), complete(1, 300, DONE)];
        let refused = complete(2, 256, DONE | u64::from(status::PROTECTION_ERROR));
        if reliable {
            expect.insert(1, acknowledge(0, 1, syndrome::ACK));
            expect.push(acknowledge(2, 2, syndrome::ACK));
            expect.extend([
                refused,
                acknowledge(4, 2, syndrome::NAK_OPERATIONAL),
                broken(event_code::CONN_LOST),
            ]);
        } else {
            expect.push(refused);
        }
        assert_eq!(world.take(), expect, "reliable {reliable}");
        assert_eq!(world.bytes(BUFFER + 0x4000 - 300, 300), [&fill(256, 9)[..], &data[256..300]].concat());
        assert_eq!(world.written, 64 + 300 + 256);
    }
}

/// Rule WQ-8.
#[test]
fn a_failed_read_of_the_descriptor() {
    let mut world = world(service::UNRELIABLE);
    let segments = [buffer(0, 10), buffer(10, 10), buffer(20, 100)];
    world.post(VI, Descriptor::new(&segments), true);
    world.post(VI, Descriptor::new(&segments), true);
    world.reads_fail = true;
    world.send(&packet(opcode::UC_SEND_ONLY, 0, &fill(50, 1)).bytes(), false);
    world.settle();
    world.reads_fail = false;
    world.send(&packet(opcode::UC_SEND_ONLY, 1, &fill(50, 2)).bytes(), false);
    world.settle();
    let failed = DONE | u64::from(status::TRANSPORT_ERROR);
    assert_eq!(world.take(), [complete(0, 0, failed), complete(1, 50, DONE)]);
    assert_eq!(world.bytes(BUFFER, 50), fill(50, 2));
}

/// Rule RSP-3.
#[test]
fn a_lost_descriptor_is_skipped() {
    let spoilt = || Descriptor { lost: true, ..Descriptor::new(&[]) };
    let mut unreliable = world(service::UNRELIABLE);
    unreliable.post(VI, spoilt(), true);
    unreliable.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    unreliable.send(&packet(opcode::UC_SEND_ONLY, 0, b"lost").bytes(), false);
    unreliable.send(&packet(opcode::UC_SEND_ONLY, 1, b"found").bytes(), false);
    unreliable.settle();
    assert_eq!(unreliable.take(), [complete(1, 5, DONE)]);
    assert_eq!(unreliable.count("count_no_receive"), 1);

    let mut reliable = world(service::RELIABLE_DELIVERY);
    reliable.post(VI, spoilt(), true);
    reliable.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    reliable.post(VI, spoilt(), true);
    reliable.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    reliable.send(&packet(opcode::RC_SEND_ONLY, 0, b"lost").bytes(), false);
    reliable.settle();
    let flushed = DONE | u64::from(status::DESC_FLUSHED_ERROR);
    assert_eq!(
        reliable.take(),
        [
            acknowledge(0, 0, syndrome::NAK_OPERATIONAL),
            broken(event_code::CONN_LOST),
            complete(1, 0, flushed),
            complete(3, 0, flushed),
        ]
    );
}
