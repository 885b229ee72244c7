//! Receives: none posted, some that do not come or come late, and those that are flushed.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, vi_states};
use viaduct_spec::wire::{opcode, syndrome};

use super::{acknowledge, broken, buffer, complete, fill, packet, world, BUFFER, DONE, GENERATION, PSN, VI};
use crate::frames::Frame;
use crate::world::{Descriptor, Event, World};

/// Rules UNR-4 and RSP-4.
#[test]
fn no_receive_posted() {
    let mut unreliable = world(service::UNRELIABLE);
    unreliable.send(&packet(opcode::UC_SEND_FIRST, 0, &fill(256, 0)).bytes(), false);
    unreliable.send(&packet(opcode::UC_SEND_LAST, 1, b"x").bytes(), false);
    unreliable.settle();
    unreliable.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    unreliable.send(&packet(opcode::UC_SEND_ONLY, 2, b"kept").bytes(), false);
    unreliable.settle();
    let empty = u64::from(event_code::RECVQ_EMPTY);
    let lost = Event::Fault { vi: VI, code: empty, breaks: false };
    assert_eq!(unreliable.take(), [lost, complete(0, 4, DONE)]);
    assert_eq!(unreliable.count("count_no_receive"), 1);
    assert_eq!(unreliable.count("count_partial"), 1);

    let mut reliable = world(service::RELIABLE_RECEPTION);
    reliable.send(&packet(opcode::RC_SEND_ONLY, 0, b"x").bytes(), false);
    reliable.settle();
    reliable.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    reliable.settle();
    let flushed = DONE | u64::from(status::DESC_FLUSHED_ERROR);
    assert_eq!(
        reliable.take(),
        [acknowledge(0, 0, syndrome::RNR_NAK), broken(event_code::RECVQ_EMPTY), complete(0, 0, flushed)]
    );
}

/// Rule FRAME-11.
#[test]
fn a_posted_receive_is_waited_for() {
    let mut world = world(service::RELIABLE_DELIVERY);
    world.post(VI, Descriptor::new(&[buffer(0, 64)]), false);
    world.send(&packet(opcode::RC_SEND_ONLY, 0, b"patience").bytes(), false);
    world.run(2000);
    assert_eq!(world.take(), []);
    // A commit is taken meanwhile.
    world.connect(9, service::UNRELIABLE, 0, 0, 1);
    world.fetch_all(VI);
    world.settle();
    assert_eq!(world.take(), [complete(0, 8, DONE), acknowledge(0, 1, syndrome::ACK)]);

    // Or until the VI is connected no more; what is posted is flushed when it comes.
    world.post(VI, Descriptor::new(&[buffer(0, 64)]), false);
    world.send(&packet(opcode::RC_SEND_ONLY, 1, b"in vain").bytes(), false);
    world.run(2000);
    world.state(VI, vi_states::ERROR);
    world.run(1000);
    assert_eq!(world.count("count_no_vi"), 1);
    assert_eq!(world.take()[2..], [Event::Repeat { vi: VI }]);
    world.fetch_all(VI);
    world.settle();
    let flushed = DONE | u64::from(status::DESC_FLUSHED_ERROR);
    assert_eq!(world.take()[3..], [complete(1, 0, flushed)]);
}

const OTHER: u64 = 9;

/// A world in which a second VI is connected, with `receives` of its fetched; its packets; and what becomes of them.
fn two_vis(service: u8, receives: u64) -> World {
    let mut world = world(service);
    world.connect(OTHER, service::UNRELIABLE, 0, PSN, GENERATION);
    for n in 0..receives {
        world.post(OTHER, Descriptor::new(&[buffer(0x2000 + n * 0x40, 0x40)]), true);
    }
    world
}

fn others_packet(n: u64) -> Frame {
    let payload = fill(60, n as u8);
    Frame { queue_pair: (GENERATION << 10 | OTHER) as u32, ..packet(opcode::UC_SEND_ONLY, n, &payload) }
}

fn others_complete(position: u64) -> Event {
    Event::Complete { vi: OTHER, position, length: 60, status: DONE, immediate: None }
}

/// The VI's frames wait, in their order, for a receive that is posted and does not come; another VI's go on.
/// Rule FRAME-11.
#[test]
fn a_receive_that_does_not_come_holds_back_its_own_vi_only() {
    for reliable in [false, true] {
        let class = if reliable { 0 } else { 0x20 };
        let mut world = two_vis(if reliable { service::RELIABLE_DELIVERY } else { service::UNRELIABLE }, 6);
        for n in 0..3 {
            world.post(VI, Descriptor::new(&[buffer(n * 0x400, 0x400)]), false);
        }
        let big = fill(500, 5);
        let frames = [
            packet(class, 0, &big[..256]),
            packet(class | 2, 1, &big[256..]),
            packet(class | 4, 2, b"second"),
            packet(class | 4, 3, b"third"),
        ];
        for (n, frame) in frames.iter().enumerate() {
            world.send(&frame.bytes(), false);
            world.send(&others_packet(n as u64).bytes(), false);
        }
        world.run(3000);
        let mut expect: Vec<Event> = (0..4).map(others_complete).collect();
        assert_eq!(world.take(), expect, "reliable {reliable}");
        // Commits go on, and whatever else comes for the other one.
        world.connect(11, service::UNRELIABLE, 0, 0, 1);
        world.send(&others_packet(4).bytes(), false);
        world.run(1000);
        expect.push(others_complete(4));
        assert_eq!(world.take(), expect, "reliable {reliable}");
        world.fetch_all(VI);
        world.settle();
        let mut done = vec![complete(0, 500, DONE), complete(1, 6, DONE), complete(2, 5, DONE)];
        if reliable {
            for (place, n, msn) in [(1, 1, 1), (3, 2, 2), (5, 3, 3)] {
                done.insert(place, acknowledge(n, msn, syndrome::ACK));
            }
        }
        assert_eq!(world.take()[5..], done, "reliable {reliable}");
        assert_eq!(world.bytes(BUFFER, 500), big);
        world.send(&others_packet(5).bytes(), false);
        world.settle();
        assert_eq!(world.count("count_overflow"), 0);
        assert_eq!(world.take().last(), Some(&others_complete(5)));
    }
}

/// One that never comes costs the others 131 us, once. Then its VI's frames are dropped, and counted, until it is there.
/// Rule FRAME-12.
#[test]
fn a_vi_whose_receives_never_come_loses_its_frames() {
    let mut world = two_vis(service::RELIABLE_DELIVERY, 40);
    world.post(VI, Descriptor::new(&[buffer(0, 64)]), false);
    for n in 0..20 {
        world.send(&packet(opcode::RC_SEND_ONLY, n / 2, b"in vain").bytes(), false);
        world.send(&others_packet(n).bytes(), false);
    }
    world.run(40_000);
    let mut expect: Vec<Event> = (0..20).map(others_complete).collect();
    assert_eq!(world.take(), expect);
    assert_eq!(world.count("count_overflow"), 20);
    // Nobody waits any more.
    for n in 20..40 {
        world.send(&packet(opcode::RC_SEND_ONLY, 0, b"in vain").bytes(), false);
        world.send(&others_packet(n).bytes(), false);
    }
    world.run(6000);
    expect.extend((20..40).map(others_complete));
    assert_eq!(world.take(), expect);
    assert_eq!(world.count("count_overflow"), 40);
    // It comes, and so does what the peer sends again.
    world.fetch_all(VI);
    world.run(2000);
    world.send(&packet(opcode::RC_SEND_ONLY, 0, b"at last").bytes(), false);
    world.settle();
    assert_eq!(world.take()[40..], [complete(0, 7, DONE), acknowledge(0, 1, syndrome::ACK)]);
    assert_eq!(world.bytes(BUFFER, 7), b"at last");
}

/// What is set aside when its VI breaks meets a VI that is broken; the others do not notice.
#[test]
fn frames_set_aside_meet_the_end_of_their_vi() {
    let mut world = two_vis(service::RELIABLE_DELIVERY, 4);
    world.post(VI, Descriptor::new(&[buffer(0, 64)]), false);
    for n in 0..3 {
        world.send(&packet(opcode::RC_SEND_ONLY, n, b"in vain").bytes(), false);
        world.send(&others_packet(n).bytes(), false);
    }
    world.run(2000);
    world.state(VI, vi_states::ERROR);
    world.run(1000);
    world.send(&others_packet(3).bytes(), false);
    world.run(1000);
    world.fetch_all(VI);
    world.settle();
    let mut expect: Vec<Event> = (0..3).map(others_complete).collect();
    expect.extend([0; 3].map(|_| Event::Repeat { vi: VI }));
    expect.extend([others_complete(3), complete(0, 0, DONE | u64::from(status::DESC_FLUSHED_ERROR))]);
    assert_eq!(world.take(), expect);
    assert_eq!((world.count("count_no_vi"), world.count("count_overflow")), (3, 0));
}

/// Rules WQ-4; and LIFE-1: receives live over connections.
#[test]
fn flush_takes_the_message_in_progress_first() {
    let mut world = world(service::UNRELIABLE);
    for n in 0..7 {
        world.post(VI, Descriptor::new(&[buffer(n * 0x200, 0x200)]), true);
    }
    world.send(&packet(opcode::UC_SEND_FIRST, 0, &fill(256, 0)).bytes(), false);
    world.settle();
    assert_eq!(world.take(), []);
    world.state(VI, vi_states::ERROR);
    world.settle();
    let flushed = DONE | u64::from(status::DESC_FLUSHED_ERROR);
    let unknown = DONE | u64::from(status::TRANSPORT_ERROR);
    let mut expect = vec![complete(0, 256, unknown)];
    expect.extend((1..7).map(|n| complete(n, 0, flushed)));
    assert_eq!(world.take(), expect);
    // Back in Idle, receives stay.
    world.state(VI, vi_states::IDLE);
    world.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    world.settle();
    assert_eq!(world.take(), expect);
    // And the next connection takes them.
    world.connect(VI, service::UNRELIABLE, 0, PSN, GENERATION);
    world.send(&packet(opcode::UC_SEND_ONLY, 0, b"anew").bytes(), false);
    world.settle();
    expect.push(complete(7, 4, DONE));
    assert_eq!(world.take(), expect);
}
