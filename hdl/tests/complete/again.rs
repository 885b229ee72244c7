//! Sending again: when, from where, and what completes meanwhile.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::service;
use viaduct_spec::wire::syndrome;

use crate::requester::{Rewound, Settings, Told, World};

const DONE: u32 = status::DONE;
const LOST: u32 = status::DONE | status::TRANSPORT_ERROR;

fn rewound(epoch: bool, position: u64, skip: u64, psn: u64) -> Rewound {
    Rewound { vi: 7, epoch, position, skip, psn }
}

/// A VI with three messages of two packets, PSN 10 to 15, out and unanswered.
fn three() -> World {
    let mut world = World::new();
    world.create(7, Settings { psn: 10, timeout: 100, retries: 2, ..Settings::default() });
    for n in 0..3 {
        world.packet(7, 10 + 2 * n, n);
        world.send(7, n, 11 + 2 * n);
    }
    world
}

/// The same message, as after a rewind.
fn comes_again(world: &mut World, n: u64) {
    let epoch = world.epochs[7];
    let told = Told { vi: 7, offset: n, psn: Some(11 + 2 * n), length: 1000 + n, epoch, ..Told::default() };
    world.told(told);
}

/// Rules REQ-4; and REQ-8: how much of a message is not sent again, which a read skips, too.
#[test]
fn a_sequence_nak_rewinds_to_its_packet_and_completes_what_is_before() {
    let mut world = three();
    world.answer(7, 13, syndrome::NAK_SEQUENCE);
    assert_eq!(world.drain(), [(0, DONE)]);
    assert_eq!(world.rewinds(), [rewound(true, 1, 1, 13)]);
    comes_again(&mut world, 1);
    world.packet(7, 14, 2);
    comes_again(&mut world, 2);
    assert_eq!(world.drain(), []);
    assert_eq!((world.counts[4], world.counts[6]), (3, 3), "packets sent again, messages sent");
    world.answer(7, 15, syndrome::ACK);
    assert_eq!(world.drain(), [(1, DONE), (2, DONE)]);
    assert_eq!((world.position(7), world.broken.len()), (3, 0));
}

#[test]
fn an_acknowledged_message_completes_only_when_it_has_come_again() {
    let mut world = three();
    world.answer(7, 10, syndrome::NAK_SEQUENCE);
    assert_eq!(world.rewinds(), [rewound(true, 0, 0, 10)]);
    // The answer to the first time comes late: host memory is being read again.
    world.answer(7, 15, syndrome::ACK);
    assert_eq!(world.drain(), []);
    world.packet(7, 10, 0);
    assert_eq!(world.drain(), []);
    comes_again(&mut world, 0);
    assert_eq!(world.drain(), [(0, DONE)]);
    comes_again(&mut world, 1);
    comes_again(&mut world, 2);
    assert_eq!(world.drain(), [(1, DONE), (2, DONE)]);
}

#[test]
fn one_rewind_at_a_time_and_not_into_what_is_acknowledged() {
    let mut world = three();
    world.answer(7, 10, syndrome::NAK_SEQUENCE);
    assert_eq!(world.rewinds(), [rewound(true, 0, 0, 10)]);
    world.answer(7, 14, syndrome::NAK_SEQUENCE);
    assert_eq!(world.rewinds(), [], "nothing of the first has left");
    world.packet(7, 10, 0);
    assert_eq!(world.rewinds(), [], "two messages are acknowledged and have not come");
    comes_again(&mut world, 0);
    assert_eq!(world.rewinds(), []);
    comes_again(&mut world, 1);
    assert_eq!(world.drain(), [(0, DONE), (1, DONE)]);
    assert_eq!(world.rewinds(), [rewound(false, 2, 0, 14)]);
    // What transmit had told before it heard of the new epoch is not what comes again.
    let old = Told { vi: 7, offset: 2, psn: Some(15), length: 1002, epoch: true, ..Told::default() };
    world.told(old);
    world.answer(7, 15, syndrome::ACK);
    assert_eq!(world.drain(), []);
    comes_again(&mut world, 2);
    assert_eq!(world.drain(), [(2, DONE)]);
}

#[test]
fn a_message_cut_off_by_a_rewind_is_new_when_it_comes() {
    let mut world = World::new();
    world.create(7, Settings { psn: 10, ..Settings::default() });
    for psn in 10..14 {
        world.packet(7, psn, 0);
    }
    world.answer(7, 12, syndrome::NAK_SEQUENCE);
    assert_eq!(world.rewinds(), [rewound(true, 0, 2, 12)]);
    // Its last packet left in the old epoch.
    world.told(Told { vi: 7, psn: Some(14), length: 1000, ..Told::default() });
    world.answer(7, 14, syndrome::ACK);
    assert_eq!(world.drain(), []);
    world.packet(7, 12, 0);
    world.packet(7, 13, 0);
    world.told(Told { vi: 7, psn: Some(14), length: 1000, epoch: true, ..Told::default() });
    assert_eq!(world.drain(), [(0, DONE)]);
}

#[test]
fn a_nested_rewind_knows_the_messages_that_left_as_the_first_began() {
    let mut world = World::new();
    world.create(7, Settings { psn: 10, timeout: 100, retries: 9, ..Settings::default() });
    for psn in 10..14 {
        world.packet(7, psn, 0);
    }
    // Its timer ends as the rest leaves, and the next message with it; the answers are late.
    wait(&mut world, &mut 0, 102);
    assert_eq!(world.rewinds(), [rewound(true, 0, 0, 10)]);
    world.told(Told { vi: 7, psn: Some(14), length: 1000, ..Told::default() });
    world.told(Told { vi: 7, offset: 1, psn: Some(15), length: 1001, ..Told::default() });
    world.packet(7, 10, 0);
    world.answer(7, 15, syndrome::NAK_SEQUENCE);
    assert_eq!(world.rewinds(), [], "all of the first is acknowledged, but it must come again");
    for psn in 11..14 {
        world.packet(7, psn, 0);
    }
    world.told(Told { vi: 7, psn: Some(14), length: 1000, epoch: true, ..Told::default() });
    assert_eq!(world.drain(), [(0, DONE)]);
    assert_eq!(world.rewinds(), [rewound(false, 1, 0, 15)]);
    assert_eq!(world.broken, []);
}

/// Rule REQ-7.
#[test]
fn half_a_message_that_comes_again_as_another_breaks_the_vi() {
    for (length, operation) in [(999, 0), (1000, 1)] {
        let mut world = World::new();
        world.create(7, Settings { psn: 10, ..Settings::default() });
        world.packet(7, 10, 0);
        world.packet(7, 11, 0);
        world.answer(7, 10, syndrome::NAK_SEQUENCE);
        world.settle();
        world.packet_of(7, 10, length, operation);
        world.settle();
        assert_eq!(world.broken, [(7, event_code::POST_DESC)]);
        world.told(Told { vi: 7, errors: status::DESC_FLUSHED_ERROR, epoch: true, ..Told::default() });
        assert_eq!(world.drain(), [(0, LOST)]);
    }
}

/// Rule REQ-7.
#[test]
fn a_message_that_is_not_the_same_breaks_the_vi() {
    for (length, psn, operation) in [(1001, 11, 0), (1000, 12, 0), (1000, 11, 1)] {
        let mut world = three();
        world.answer(7, 10, syndrome::NAK_SEQUENCE);
        world.settle();
        let told = Told { vi: 7, psn: Some(psn), length, operation, epoch: true, ..Told::default() };
        world.told(told);
        assert_eq!(world.drain(), [(0, LOST)]);
        assert_eq!(world.broken, [(7, event_code::POST_DESC)]);
        for offset in 1..3 {
            let errors = status::DESC_FLUSHED_ERROR;
            world.told(Told { vi: 7, offset, errors, epoch: true, ..Told::default() });
        }
        assert_eq!(world.drain(), [(1, LOST), (2, LOST)], "they had left");
    }
}

#[test]
fn a_message_refused_by_our_own_checker_when_it_comes_again_says_so() {
    let mut world = three();
    world.answer(7, 10, syndrome::NAK_SEQUENCE);
    world.settle();
    world.tell = Some(7);
    world.settle();
    assert_eq!(world.drain(), [], "its memory may still be read");
    let errors = status::PROTECTION_ERROR;
    world.told(Told { vi: 7, errors, epoch: true, ..Told::default() });
    world.told(Told { vi: 7, offset: 1, lost: true, epoch: true, ..Told::default() });
    world.told(Told { vi: 7, offset: 2, errors: status::DESC_FLUSHED_ERROR, epoch: true, ..Told::default() });
    assert_eq!(world.drain(), [(0, DONE | status::PROTECTION_ERROR), (2, LOST)]);
    assert_eq!(world.lost, [7]);
}

/// Lets device time pass, a tick every 20 cycles, until something happens or the tick comes.
fn wait(world: &mut World, time: &mut u64, until: u64) {
    while *time < until {
        *time += 1;
        world.dut.set("time_now", *time);
        for _ in 0..20 {
            world.tick();
        }
    }
}

/// Rule REQ-5.
#[test]
fn time_outs_send_again_and_break_the_vi_when_the_retries_are_used_up() {
    let mut world = three();
    let mut time = 0;
    // An end is compared with the earliest one in a cycle of its own.
    world.tick();
    assert_eq!(world.dut.get("deadline_valid"), 1);
    let first = world.dut.get("deadline");
    assert_eq!(first, 101, "the tick that runs does not count");
    wait(&mut world, &mut time, first - 1);
    assert_eq!(world.rewinds(), []);
    wait(&mut world, &mut time, first);
    assert_eq!(world.rewinds(), [rewound(true, 0, 0, 10)]);
    world.packet(7, 10, 0);
    // Progress forgets the retries.
    world.answer(7, 10, syndrome::ACK);
    for _ in 0..2 {
        world.settle();
        let next = world.dut.get("deadline");
        assert!((time + 95..=time + 101).contains(&next), "{next} at {time}");
        wait(&mut world, &mut time, next + 2);
        assert_eq!(world.rewinds().len(), 1);
        world.packet(7, 11, 0);
        assert_eq!(world.broken, []);
    }
    let last = world.dut.get("deadline");
    wait(&mut world, &mut time, last + 2);
    assert_eq!(world.broken, [(7, event_code::CONN_LOST)]);
    assert_eq!(world.counts[5], 4);
    for offset in 0..3 {
        let errors = status::DESC_FLUSHED_ERROR;
        world.told(Told { vi: 7, offset, errors, epoch: world.epochs[7], ..Told::default() });
    }
    assert_eq!(world.drain(), [(0, LOST), (1, LOST), (2, LOST)]);
    wait(&mut world, &mut time, last + 500);
    assert_eq!(world.dut.get("deadline_valid"), 0, "no timer runs");
    assert_eq!((world.rewinds(), world.counts[5]), (vec![], 4));
}

/// Rule REQ-6.
#[test]
fn a_peer_without_a_receive_is_left_in_peace_for_its_time() {
    for (service, error) in [
        (service::RELIABLE_DELIVERY, status::TRANSPORT_ERROR),
        (service::RELIABLE_RECEPTION, status::REMOTE_DESC_ERROR),
    ] {
        let mut world = World::new();
        world.create(7, Settings { psn: 10, service, timeout: 1000, rnr_retries: 1, ..Settings::default() });
        world.send(7, 0, 10);
        world.send(7, 1, 11);
        // 0.64 ms are 625 ticks.
        world.answer(7, 10, syndrome::RNR_NAK | 12);
        // What was behind it: the peer asks for the same packet. Not yet.
        world.answer(7, 10, syndrome::NAK_SEQUENCE);
        assert_eq!(world.rewinds(), []);
        assert_eq!(world.dut.get("deadline"), 626);
        let mut time = 0;
        wait(&mut world, &mut time, 625);
        assert_eq!(world.rewinds(), []);
        wait(&mut world, &mut time, 627);
        assert_eq!(world.rewinds(), [rewound(true, 0, 0, 10)]);
        assert_eq!(world.counts[5], 0, "that is no time-out");
        for n in 0..2 {
            let told = Told { vi: 7, offset: n, psn: Some(10 + n), length: 1000 + n, ..Told::default() };
            world.told(Told { epoch: true, ..told });
        }
        world.answer(7, 10, syndrome::RNR_NAK | 1);
        assert_eq!(world.drain(), [(0, DONE | error), (1, LOST)]);
        assert_eq!(world.broken, [(7, event_code::CONN_LOST)]);
        assert_eq!(world.counts[2], 2);
    }
}

#[test]
fn rewinds_of_many_vis_wait_for_fetch_and_none_is_forgotten() {
    let mut world = World::new();
    world.rewinds = false;
    for vi in 0..40 {
        world.create(vi, Settings { psn: 5, ..Settings::default() });
        world.send(vi, 0, 5);
        world.answer(vi, 5, syndrome::NAK_SEQUENCE);
    }
    for _ in 0..2000 {
        world.tick();
    }
    // Meanwhile transmit is heard.
    world.send(50, 0, 0);
    world.answer(50, 0, syndrome::ACK);
    for _ in 0..200 {
        world.tick();
    }
    assert_eq!(world.completed.len(), 1);
    world.rewinds = true;
    let mut vis: Vec<u64> = world.rewinds().iter().map(|rewound| rewound.vi).collect();
    vis.sort_unstable();
    assert_eq!(vis, (0..40).collect::<Vec<_>>());
}

/// A rewind that fetch has not taken is of the connection before: it must not come into the next one's queue.
#[test]
fn a_connection_begins_when_fetch_has_taken_the_rewind_of_the_one_before() {
    let mut world = three();
    world.rewinds = false;
    world.answer(7, 13, syndrome::NAK_SEQUENCE);
    world.settle();
    let next = Settings { psn: 500, ..Settings::default() };
    assert!(!world.offered(7, next, 300), "the rewind waits");
    // Another VI does not wait for it.
    assert!(world.offered(8, next, 100));
    assert!(!world.offered(7, next, 300), "the rewind waits");
    world.rewinds = true;
    world.create(7, next);
    assert_eq!(world.rewinds(), [rewound(true, 1, 1, 13)]);
    assert!(!world.epochs[7]);
    world.completed.clear();
    world.send(7, 40, 500);
    world.answer(7, 500, syndrome::ACK);
    assert_eq!((world.drain(), world.position(7)), (vec![(40, DONE)], 1));
}

/// What has left, its answer and its completion belong to the connection in which they came, however long the writer takes.
/// Rules LIFE-2; and LIFE-1: it begins at position 0.
#[test]
fn a_connection_begins_behind_what_came_in_the_one_before() {
    for writes_every in [1, 7, 90] {
        let mut world = three();
        world.writes_every = writes_every;
        world.answer(7, 13, syndrome::ACK);
        world.settle();
        world.tell = Some(7);
        for n in 3..6 {
            let flushed = status::DESC_FLUSHED_ERROR;
            world.told(Told { vi: 7, offset: n, errors: flushed, ..Told::default() });
        }
        assert!(world.offered(7, Settings { psn: 500, ..Settings::default() }, 2000));
        let done: Vec<_> =
            world.completed.drain(..).map(|(_, offset, _, status)| (offset, status as u32)).collect();
        let flushed = DONE | status::DESC_FLUSHED_ERROR;
        let all = [(0, DONE), (1, DONE), (2, LOST), (3, flushed), (4, flushed), (5, flushed)];
        assert_eq!(done, all, "a completion in {writes_every} cycles");
        // Nothing comes later.
        assert_eq!((world.drain(), world.position(7)), (vec![], 0));
    }
}
