//! Completion queues, rule by rule.

use viaduct_hdl::bus::QUEUE_LOG2;
use viaduct_spec::profile::{CQS, VIS};
use viaduct_spec::register::event_code;

use crate::cq_world::{Deed, End, Ring, World, REFUSED_REGION};

fn ring(log2: u64) -> Ring {
    Ring { offset: 0x3_0000_0001, region: 0xA5A5, log2, live: true, events: false, tag: 0x1234, vector: 5 }
}

fn end(n: u64) -> End {
    End { vi: 9, receive: 1, region: 0x3EEF, offset: 0x3_1234_5678 + n, written: true }
}

/// Rule CQ-1.
#[test]
fn entries_go_round_the_ring_and_the_phase_turns_with_each_lap() {
    let mut world = World::new();
    for (cq, log2) in [(0, 2), (CQS - 1, 3), (7, 5)] {
        world.ring(cq, ring(log2));
        world.work_queue(19, Some(cq));
        for n in 0..5 << log2 {
            world.end(end(n));
            // The consumer is up to a whole ring behind.
            if n >= (1 << log2) - 1 {
                world.settle();
                world.store(cq, n + 2 - (1 << log2), false);
            }
        }
        world.settle();
        assert_eq!(world.model.written[cq], 5 << log2);
        assert_eq!(world.model.overruns, 0);
    }
}

#[test]
fn the_last_slot_of_the_largest_ring_and_the_last_index() {
    let mut world = World::new();
    world.hurry = true;
    world.ring(3, ring(16));
    world.work_queue(19, Some(3));
    // Past 2^18 entries: index and position wrap.
    for n in 0..(1 << 18) + 10 {
        world.end(end(n & 0xFFFF));
        if n % 0x8000 == 0 {
            world.store(3, n & 0x3_FFFF, false);
        }
        // Its consumer sleeps at indices of many bits.
        if n % 0x6543 == 0 {
            world.store(3, (n + 1) & 0x3_FFFF, true);
        }
    }
    world.settle();
    assert_eq!((world.model.written[3], world.model.overruns), (10, 0));
}

/// Rule CQ-4.
#[test]
fn what_is_not_written_and_what_has_no_queue_makes_no_entry_but_counts() {
    let mut world = World::new();
    world.ring(1, ring(4));
    world.work_queue(18, Some(1));
    world.work_queue(19, None);
    world.end(End { written: false, receive: 0, ..end(0) });
    world.end(End { receive: 1, ..end(1) });
    world.end(End { receive: 0, ..end(2) });
    world.settle();
    // The model says position 1.
    assert_eq!(world.entries, 1);
    // A new start of the work queue: position 0 again, the queue goes on.
    world.work_queue(18, Some(1));
    world.end(End { receive: 0, ..end(3) });
    world.settle();
    assert_eq!(world.entries, 2);
}

#[test]
fn a_descriptor_that_ended_is_the_old_rows_however_late_it_is_looked_at() {
    let mut world = World::new();
    world.ring(1, ring(6));
    world.ring(2, ring(6));
    // Idle, and with an entry under way.
    for busy in [false, true] {
        for gap in 0..if busy { 20 } else { 1 } {
            world.work_queue(19, Some(1));
            world.work_queue(18, Some(1));
            world.end(end(gap));
            world.settle();
            if busy {
                world.end(End { receive: 0, ..end(gap) });
                for _ in 0..gap {
                    world.cycle();
                }
            }
            world.end_and_commit(&[end(100)], Some(2));
            // And the first of the new row.
            world.end(end(200));
            world.settle();
            let written = [0, 1, 2].map(|cq| world.model.written[cq]);
            world.store(1, written[1], false);
            world.store(2, written[2], false);
        }
    }
    assert_eq!((world.model.written[2], world.model.overruns), (21, 0));
}

/// Rules CQ-2; and CQ-4: a queue that is gone.
#[test]
fn an_overrun_breaks_every_time_and_is_told_once() {
    let mut world = World::new();
    world.ring(0, Ring { events: true, vector: 0, region: 7, ..ring(4) });
    world.ring(1, ring(2));
    world.work_queue(19, Some(1));
    for n in 0..7 {
        world.end(end(n));
    }
    world.settle();
    assert_eq!((world.model.overruns, world.model.written[0]), (3, 1));
    // Room again, and again none.
    world.store(1, 1, false);
    world.end(end(7));
    world.end(end(8));
    world.end(end(9));
    world.settle();
    assert_eq!((world.model.overruns, world.model.written[0]), (5, 2));
    // A queue that is gone, and one whose ring is not the agent's any more: no overrun, COMP_PROT each time.
    world.ring(1, Ring { live: false, ..ring(2) });
    world.end(end(10));
    world.settle();
    world.ring(1, Ring { region: REFUSED_REGION, ..ring(2) });
    world.end(end(11));
    world.settle();
    assert_eq!((world.model.overruns, world.model.written[0], world.model.written[1]), (5, 2, 0));
}

/// Rule CQ-3.
#[test]
fn events_without_a_ring_or_without_room_are_counted() {
    let mut world = World::new();
    world.event(event_code::RECVQ_EMPTY, 3, 1, false);
    world.settle();
    assert_eq!(world.model.lost, 1);
    world.ring(2, Ring { events: true, ..ring(2) });
    for vi in 0..6 {
        world.event(event_code::CONN_LOST, vi, vi & 1, vi > 3);
    }
    world.settle();
    assert_eq!((world.model.lost, world.entries), (3, 4));
    // An overrun that cannot be told is none less.
    world.ring(3, ring(2));
    world.work_queue(19, Some(3));
    for n in 0..6 {
        world.end(end(n));
    }
    world.settle();
    assert_eq!((world.model.overruns, world.model.lost), (2, 4));
    // Without EVENTS it takes none.
    world.ring(2, ring(2));
    world.event(event_code::CONN_LOST, 1, 0, true);
    world.settle();
    assert_eq!(world.model.lost, 5);
}

/// Rule CQ-3: of a ring from before a reset the block knows nothing.
#[test]
fn after_a_reset_there_is_no_error_ring() {
    let mut world = World::new();
    world.ring(2, Ring { events: true, ..ring(3) });
    world.bench.reset();
    world.model.error_ring = None;
    world.event(event_code::CONN_LOST, 1, 0, true);
    world.settle();
    assert_eq!((world.model.lost, world.entries), (1, 0));
}

/// Rule CQ-5.
#[test]
fn a_resize_with_an_entry_on_its_way_counts_it_for_the_old_ring() {
    // The commit comes in every cycle of an entry's way.
    for gap in 0..30 {
        let mut world = World::new();
        world.ring(4, ring(3));
        world.work_queue(19, Some(4));
        for n in 0..3 {
            world.end(end(n));
        }
        world.settle();
        world.end(end(3));
        for _ in 0..gap {
            world.cycle();
        }
        let new = Ring { offset: 99, region: 55, vector: 2, ..ring(6) };
        // `ring` compares RESULT with the model, which has had the fourth.
        world.ring(4, new);
        assert_eq!(world.bench.get("result"), 4, "gap {gap}");
        world.end(end(4));
        world.settle();
        assert_eq!(world.model.written[4], 1);
    }
}

/// Rule CQ-6.
#[test]
fn arm_and_completion_at_every_relative_cycle_raise_exactly_once() {
    let mut world = World::new();
    world.ring(4, ring(16));
    world.work_queue(19, Some(4));
    for gap in 0..40 {
        world.settle();
        let (written, raises) = (world.model.written[4], world.raises);
        // An end, and the arm so many cycles later, whatever has become of the end by then.
        world.end(end(0));
        for _ in 0..gap {
            world.cycle();
        }
        // Whichever is first, there is one raise.
        world.model.deeds.push_back(Deed::Raise { vector: 5 });
        world.store_now(4, written, true);
        world.settle();
        assert_eq!(world.raises, raises + 1, "gap {gap}");
        world.end(end(1));
        world.settle();
        assert_eq!(world.raises, raises + 1, "one shot, gap {gap}");
    }
    // And the arm first.
    for gap in 0..6 {
        world.settle();
        let (written, raises) = (world.model.written[4], world.raises);
        world.store_now(4, written, true);
        for _ in 0..gap {
            world.cycle();
        }
        world.model.deeds.push_back(Deed::Raise { vector: 5 });
        world.end(end(0));
        world.settle();
        assert_eq!(world.raises, raises + 1, "gap {gap}");
    }
}

/// Of any queue: all that have ended are the old row's.
#[test]
fn descriptors_that_have_ended_go_before_their_queues_row() {
    let mut world = World::new();
    for cq in [1, 2] {
        let ring = Ring { region: 3, log2: 8, live: true, ..Ring::default() };
        world.ring(cq, ring);
    }
    let queues = 2 * VIS as u64;
    for queue in (0..QUEUE_LOG2).flat_map(|bit| [1 << bit, (queues - 1) ^ 1 << bit]) {
        world.work_queue(queue as usize, Some(1));
        let end = |offset| End { vi: queue / 2, receive: queue % 2, region: 7, offset, written: true };
        world.end_and_commit(&[end(1), end(2), end(3)], Some(2));
        world.end(end(4));
        world.settle();
    }
    assert_eq!(world.model.written[1], 3 * world.model.written[2]);
    assert_eq!(world.model.overruns, 0);
}

/// A commit names as many entries as the old ring got, however many these are.
#[test]
fn a_large_ring_is_counted_to_its_end() {
    let mut world = World::new();
    world.hurry = true;
    world.ring(1, ring(15));
    world.work_queue(19, Some(1));
    for n in 0..0x7FFF {
        world.end(end(n));
    }
    world.settle();
    assert_eq!((world.model.written[1], world.model.overruns), (0x7FFF, 0));
    world.ring(1, Ring::default());
}
