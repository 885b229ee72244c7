//! Receives that writes with immediate data take: missing, malformed, lost and flushed.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::{opcode, syndrome};

use super::{
    acknowledge, class, complete, fault, fill, message, packet, post, send, world, world_with, written,
    FLUSHED, RECEIVED, RKEY, SERVICES, TARGET, VI, WRITTEN,
};
use crate::frames::Frame;
use crate::world::{Descriptor, Event};

/// Rule RSP-4.
#[test]
fn receiver_not_ready() {
    let stays = |row: &mut [u64]| {
        receive::RNR_STAY.put(row, 1);
        receive::RNR_TIMER.put(row, 21);
    };
    let wait = |n, msn| acknowledge(n, msn, syndrome::RNR_NAK | 21);
    let mut world = world_with(service::RELIABLE_DELIVERY, stays);
    // The last packet finds no receive: its bytes do not move, and what is behind it is no gap.
    let data = fill(300, 5);
    let write = message(0, 0, (TARGET, RKEY), &data, true);
    let only = Frame { ack_request: true, ..packet(opcode::RC_SEND_ONLY, 2, (0, 0, 0), b"behind") };
    send(&mut world, &write);
    send(&mut world, &[only.clone(), only.clone()]);
    world.settle();
    assert_eq!(world.take(), [wait(1, 0)]);
    assert_eq!((world.written, world.count("count_psn")), (256, 2));
    // Again, and again too early; then there is one.
    send(&mut world, &write[1..]);
    world.settle();
    post(&mut world);
    send(&mut world, &write[1..]);
    send(&mut world, std::slice::from_ref(&only));
    world.settle();
    let taken = [wait(1, 0), wait(1, 0), written(0, 300), acknowledge(1, 1, syndrome::ACK), wait(2, 1)];
    assert_eq!(world.take(), taken);
    assert_eq!(world.bytes(TARGET, 300), data);
    // A gap after that is a gap again.
    post(&mut world);
    send(&mut world, &[only.clone(), Frame { psn: only.psn + 2, ..only }]);
    world.settle();
    let gap = acknowledge(3, 2, syndrome::NAK_SEQUENCE);
    assert_eq!(world.take()[5..], [complete(1, 6, RECEIVED), acknowledge(2, 2, syndrome::ACK), gap]);
    assert_eq!(world.count("count_no_receive"), 0, "nothing was dropped for good");

    // VIA's way.
    let mut world = self::world(service::RELIABLE_DELIVERY);
    send(&mut world, &write);
    world.settle();
    assert_eq!(world.take(), [acknowledge(1, 0, syndrome::RNR_NAK), fault(event_code::RECVQ_EMPTY, true)]);
    assert_eq!(world.written, 256);

    // Unreliable: the message is lost.
    let mut world = self::world(service::UNRELIABLE);
    send(&mut world, &message(0x20, 0, (TARGET, RKEY), &data, true));
    send(&mut world, &message(0x20, 2, (TARGET, RKEY), b"next", false));
    world.settle();
    assert_eq!(world.take(), [fault(event_code::RECVQ_EMPTY, false)]);
    assert_eq!((world.bytes(TARGET, 4), world.written), (b"next".to_vec(), 260));
}

#[test]
fn a_receive_that_is_malformed_or_lost() {
    for service in SERVICES {
        let unreliable = service == service::UNRELIABLE;
        let nak = |n| acknowledge(n, 0, syndrome::NAK_OPERATIONAL);
        let broken = fault(event_code::CONN_LOST, true);
        // The bytes of the packets before are written, and are not the receive's.
        for (length, last) in [(4, 0), (300, 1)] {
            let mut world = world(service);
            let mut descriptor = Descriptor::new(&[]);
            descriptor.words[2] |= 1;
            world.post(VI, descriptor, true);
            send(&mut world, &message(class(service), 0, (TARGET, RKEY), &fill(length, 7), true));
            world.settle();
            let error = complete(0, 0, WRITTEN | u64::from(status::FORMAT_ERROR));
            let expect = [error, nak(last), broken.clone()];
            assert_eq!(world.take(), expect[..if unreliable { 1 } else { 3 }], "{length} bytes");
            assert_eq!(world.written, 256 * last);
        }

        let mut world = self::world(service);
        world.post(VI, Descriptor { lost: true, ..Descriptor::new(&[]) }, true);
        send(&mut world, &message(class(service), 0, (TARGET, RKEY), b"data", true));
        world.settle();
        assert_eq!(world.take(), [nak(0), broken][..if unreliable { 0 } else { 2 }]);
        assert_eq!((world.written, world.count("count_no_receive")), (0, 1));
    }
}

#[test]
fn a_write_in_progress_when_the_vi_breaks() {
    let mut world = world(service::RELIABLE_DELIVERY);
    (0..2).for_each(|_| post(&mut world));
    let write = message(0, 0, (TARGET, RKEY), &fill(300, 5), true);
    send(&mut world, &write[..1]);
    world.settle();
    world.state(VI, viaduct_spec::tables::vi_states::ERROR);
    send(&mut world, &write[1..]);
    world.settle();
    // Its bytes are none of the receives'.
    let mut found = world.take();
    found.sort_by_key(|event| matches!(event, Event::Repeat { .. }));
    assert_eq!(found, [complete(0, 0, FLUSHED), complete(1, 0, FLUSHED), Event::Repeat { vi: VI }]);
}
