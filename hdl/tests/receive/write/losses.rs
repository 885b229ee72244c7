//! Losses and duplicates: what is missing ends a write, what comes twice is written once.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::service;
use viaduct_spec::wire::{opcode, syndrome};

use super::{
    acknowledge, complete, fault, fill, message, packet, post, send, world, written, PRIVATE, PRIVATE_KEY,
    RECEIVED, RKEY, TARGET, VI,
};
use crate::frames::Frame;
use crate::world::Descriptor;

/// Rule UNR-3.
#[test]
fn an_unreliable_write_that_loses_a_packet() {
    let mut world = world(service::UNRELIABLE);
    (0..4).for_each(|_| post(&mut world));
    let data = fill(700, 3);
    let abort = fault(event_code::RDMAW_ABORT, false);
    // The middle is missing: what came stays, the last is dropped, and no receive goes.
    let frames = message(0x20, 0, (TARGET, RKEY), &data, true);
    send(&mut world, &[frames[0].clone(), frames[2].clone()]);
    world.settle();
    assert_eq!(world.take(), std::slice::from_ref(&abort));
    assert_eq!((world.bytes(TARGET, 256), world.written), (data[..256].to_vec(), 256));
    assert_eq!(world.count("count_partial"), 1);
    // The last is missing: the next message ends it, a send.
    let frames = message(0x20, 3, (TARGET, RKEY), &data, true);
    send(&mut world, &frames[..2]);
    let only = Frame { opcode: opcode::UC_SEND_ONLY, reth: None, ..packet(0, 6, (0, 0, 0), b"send") };
    send(&mut world, &[only]);
    world.settle();
    assert_eq!(world.take(), [abort.clone(), abort.clone(), complete(0, 4, RECEIVED)]);
    // A send loses its last to a write: its receive is a send's.
    let begins = Frame { opcode: opcode::UC_SEND_FIRST, reth: None, ..packet(0, 7, (0, 0, 0), &data[..256]) };
    world.post(VI, Descriptor::new(&[(PRIVATE, PRIVATE_KEY.into(), 0x800)]), true);
    (0..3).for_each(|n| send(&mut world, &message(0x20, 8 + n, (TARGET, RKEY), b"w", true)));
    world.settle();
    send(&mut world, &[Frame { psn: begins.psn + 4, ..begins }]);
    send(&mut world, &message(0x20, 12, (TARGET, RKEY), b"last", false));
    world.settle();
    let partial = complete(4, 256, RECEIVED | u64::from(status::PARTIAL_ERROR));
    assert_eq!(world.take()[3..], [written(1, 1), written(2, 1), written(3, 1), partial]);
    assert_eq!(world.bytes(TARGET, 4), b"last");
}

/// Rule RSP-1.
#[test]
fn a_duplicate_is_acknowledged_and_not_written() {
    let mut world = world(service::RELIABLE_DELIVERY);
    let old = message(0, 0, (TARGET, RKEY), &fill(300, 1), false);
    send(&mut world, &old);
    send(&mut world, &message(0, 2, (TARGET, RKEY), b"new", false));
    send(&mut world, &old);
    // Even one that could not be taken.
    send(&mut world, &message(0, 1, (PRIVATE, 0), b"x", true));
    world.settle();
    let again = acknowledge(2, 2, syndrome::ACK);
    assert_eq!(
        world.take(),
        [acknowledge(1, 1, syndrome::ACK), again.clone(), again.clone(), again.clone(), again]
    );
    assert_eq!((world.bytes(TARGET, 3), world.written), (b"new".to_vec(), 303));
    assert_eq!(world.count("count_duplicate"), 3);
}
