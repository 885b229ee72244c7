//! Losses: packets that are missing, come twice, overtake others, or stand where none of their kind may.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::service;
use viaduct_spec::wire::{opcode, syndrome};

use super::{acknowledge, broken, buffer, complete, fill, packet, world, BUFFER, DONE, VI};
use crate::frames::Frame;
use crate::world::Descriptor;

/// Rule RSP-1.
#[test]
fn reliable_duplicates_and_gaps() {
    let mut world = world(service::RELIABLE_DELIVERY);
    for n in 0..3 {
        world.post(VI, Descriptor::new(&[buffer(n * 0x400, 0x400)]), true);
    }
    let big = fill(600, 3);
    let frames = [
        packet(opcode::RC_SEND_ONLY, 0, b"first"),
        packet(opcode::RC_SEND_FIRST, 1, &big[..256]),
        packet(opcode::RC_SEND_MIDDLE, 2, &big[256..512]),
        packet(opcode::RC_SEND_LAST, 3, &big[512..]),
        packet(opcode::RC_SEND_ONLY, 4, b"third"),
    ];
    // 0, 0 again, 2 (gap), 3 (gap, silent), 1, 2, 1 again, 3, 3 again, 4.
    for n in [0, 0, 2, 3, 1, 2, 1, 3, 3, 4] {
        world.send(&frames[n].bytes(), false);
    }
    world.settle();
    assert_eq!(
        world.take(),
        [
            complete(0, 5, DONE),
            acknowledge(0, 1, syndrome::ACK),
            acknowledge(0, 1, syndrome::ACK),
            acknowledge(1, 1, syndrome::NAK_SEQUENCE),
            acknowledge(2, 1, syndrome::ACK),
            complete(1, 600, DONE),
            acknowledge(3, 2, syndrome::ACK),
            acknowledge(3, 2, syndrome::ACK),
            complete(2, 5, DONE),
            acknowledge(4, 3, syndrome::ACK),
        ]
    );
    assert_eq!(world.bytes(BUFFER + 0x400, 600), big);
    assert_eq!((world.count("count_duplicate"), world.count("count_psn")), (3, 2));
    assert_eq!(world.count("count_message"), 3);
}

/// Rules UNR-2 and UNR-3.
#[test]
fn unreliable_losses() {
    let mut world = world(service::UNRELIABLE);
    for n in 0..8 {
        world.post(VI, Descriptor::new(&[buffer(n * 0x400, 0x400)]), true);
    }
    let big = fill(600, 4);
    let part = [&big[..256], &big[256..512], &big[512..]];
    let (first, middle, last, only) = (0x20, 0x21, 0x22, 0x24);
    // A middle is missing: the message ends partial where the hole shows, its last is dropped.
    world.send(&packet(first, 0, part[0]).bytes(), false);
    world.send(&packet(last, 2, part[2]).bytes(), false);
    // A last is missing: the next first ends the message.
    world.send(&packet(first, 3, part[0]).bytes(), false);
    world.send(&packet(middle, 4, part[1]).bytes(), false);
    world.send(&packet(only, 6, b"whole").bytes(), false);
    // Duplicates, and a message whose first is missing.
    world.send(&packet(only, 6, b"again").bytes(), false);
    world.send(&packet(middle, 8, part[1]).bytes(), false);
    world.send(&packet(last, 9, part[2]).bytes(), false);
    // A jump ahead, then what is behind it.
    world.send(&packet(only, 1000, b"later").bytes(), false);
    world.send(&packet(only, 999, b"sooner").bytes(), false);
    // Wrong lengths: a middle that is not full, an empty last.
    world.send(&packet(first, 1001, part[0]).bytes(), false);
    world.send(&packet(middle, 1002, part[2]).bytes(), false);
    world.send(&packet(first, 1003, part[0]).bytes(), false);
    world.send(&packet(last, 1004, &[]).bytes(), false);
    world.send(&packet(first, 1005, part[2]).bytes(), false);
    world.send(&packet(only, 1006, &fill(257, 0)).bytes(), false);
    world.send(&packet(only, 1007, b"end").bytes(), false);
    world.settle();
    let partial = DONE | u64::from(status::PARTIAL_ERROR);
    assert_eq!(
        world.take(),
        [
            complete(0, 256, partial),
            complete(1, 512, partial),
            complete(2, 5, DONE),
            complete(3, 5, DONE),
            complete(4, 256, partial),
            complete(5, 256, partial),
            complete(6, 3, DONE),
        ]
    );
    assert_eq!(world.bytes(BUFFER + 0x800, 5), b"whole");
    assert_eq!(world.bytes(BUFFER + 0xc00, 5), b"later");
    assert_eq!(world.count("count_psn"), 2);
    assert_eq!(world.count("count_partial"), 7);
}

/// However many packets are lost, what comes then is taken, unless it lies 2^16 packets behind or less: a duplicate.
/// Rule UNR-2.
#[test]
fn an_unreliable_vi_hears_again_after_any_loss() {
    let only = opcode::UC_SEND_ONLY;
    // Packets lost, the message behind them is taken.
    for (lost, taken) in [
        (1, true),
        ((1 << 23) - 1, true),
        (1 << 23, true),
        (0xc0_0000, true),
        (0x100_0000 - (1 << 16) - 1, true),
        (0x100_0000 - (1 << 16), false),
        (0xff_ffff, false),
    ] {
        let mut world = world(service::UNRELIABLE);
        for n in 0..3 {
            world.post(VI, Descriptor::new(&[buffer(n * 0x400, 0x400)]), true);
        }
        world.send(&packet(only, 0, b"before").bytes(), false);
        world.send(&packet(only, 1 + lost, b"behind").bytes(), false);
        world.send(&packet(only, 1 + lost, b"twice").bytes(), false);
        world.settle();
        let expect = [complete(0, 6, DONE), complete(1, 6, DONE)];
        assert_eq!(world.take(), expect[..1 + usize::from(taken)], "{lost} lost");
        assert_eq!(world.count("count_psn"), 2 - usize::from(taken), "{lost} lost");
    }
}

/// What overtakes the beginning of its message takes no PSN: the beginning is not taken for a duplicate.
/// Rule UNR-2.
#[test]
fn unreliable_reordering() {
    let mut world = world(service::UNRELIABLE);
    for n in 0..2 {
        world.post(VI, Descriptor::new(&[buffer(n * 0x400, 0x400)]), true);
    }
    let (first, middle, last, only) = (0x20, 0x21, 0x22, 0x24);
    world.send(&packet(middle, 1, &fill(256, 1)).bytes(), false);
    world.send(&packet(first, 0, &fill(256, 0)).bytes(), false);
    world.send(&packet(last, 2, b"late").bytes(), false);
    // A receive is gone for the message that was cut off; the next one is whole.
    world.send(&packet(only, 3, b"whole").bytes(), false);
    world.settle();
    let partial = DONE | u64::from(status::PARTIAL_ERROR);
    assert_eq!(world.take(), [complete(0, 256, partial), complete(1, 5, DONE)]);
    assert_eq!(world.bytes(BUFFER, 256), fill(256, 0));
    assert_eq!((world.count("count_psn"), world.count("count_partial")), (0, 2));
}

/// Rule RSP-2.
#[test]
fn reliable_order_is_kept() {
    let full = fill(256, 0);
    // A first in a message, a middle in none, a short middle, a payload above the MTU.
    let cases: [(&str, Vec<Frame>, u64, bool); 4] = [
        ("first twice", vec![packet(0, 0, &full), packet(0, 1, &full)], 1, true),
        ("middle first", vec![packet(1, 0, &full)], 0, false),
        ("short middle", vec![packet(0, 0, &full), packet(1, 1, b"short")], 1, true),
        ("too much", vec![packet(4, 0, &fill(260, 0))], 0, false),
    ];
    for (name, frames, at, active) in cases {
        let mut world = world(service::RELIABLE_DELIVERY);
        world.post(VI, Descriptor::new(&[buffer(0, 0x1000)]), true);
        for frame in frames {
            world.send(&frame.bytes(), false);
        }
        world.settle();
        let error = if active { status::TRANSPORT_ERROR } else { status::DESC_FLUSHED_ERROR };
        let done = complete(0, if active { 256 } else { 0 }, DONE | u64::from(error));
        let nak = acknowledge(at, 0, syndrome::NAK_INVALID);
        let fault = broken(event_code::CONN_LOST);
        let expect = if active { vec![done, nak, fault] } else { vec![nak, fault, done] };
        assert_eq!(world.take(), expect, "{name}");
    }
}
