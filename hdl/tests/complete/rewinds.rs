//! Rewinds that wait for their turn, and those that nobody asked for.

use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

use crate::requester::{Rewound, Settings, Told, World};

/// VIs 7 and 8 with a message each out, PSN 10; the rewind of VI 8 waits for fetch.
fn one_waits() -> World {
    let mut world = World::new();
    world.rewinds = false;
    for vi in [7, 8] {
        world.create(vi, Settings { psn: 10, ..Settings::default() });
        world.send(vi, 0, 10);
    }
    world.answer(8, 10, syndrome::NAK_SEQUENCE);
    for _ in 0..100 {
        world.tick();
    }
    world
}

fn rewound(vi: u64, psn: u64) -> Rewound {
    Rewound { vi, epoch: true, position: 0, skip: 0, psn }
}

#[test]
fn what_is_acknowledged_before_its_rewind_has_its_turn_is_not_sent_again() {
    let mut world = one_waits();
    world.answer(7, 10, syndrome::NAK_SEQUENCE);
    for _ in 0..100 {
        world.tick();
    }
    // The answer to the first time was on its way.
    world.answer(7, 10, syndrome::ACK);
    world.rewinds = true;
    assert_eq!(world.rewinds(), [rewound(8, 10)]);
    assert_eq!(world.drain(), [(0, status::DONE)]);
    assert_eq!((world.position(7), world.position(8)), (1, 0));
}

/// The queue of VIs to look at again takes one a cycle, and one that breaks first.
#[test]
fn a_rewind_that_waits_is_not_forgotten_when_another_vi_breaks() {
    for delay in 0..24 {
        let mut world = one_waits();
        world.answer(7, 10, syndrome::NAK_SEQUENCE);
        for _ in 0..delay {
            world.tick();
        }
        world.tell = Some(9);
        for _ in 0..100 {
            world.tick();
        }
        world.rewinds = true;
        assert_eq!(world.rewinds(), [rewound(8, 10), rewound(7, 10)], "{delay} cycles");
    }
}

/// Rule REQ-1.
#[test]
fn too_many_packets_in_flight_are_sent_again() {
    let mut world = World::new();
    world.create(7, Settings { psn: 10, ..Settings::default() });
    for psn in [10, 9 + (3 << 20)] {
        world.packet(7, psn, 0);
        assert_eq!(world.rewinds(), []);
    }
    world.packet(7, 10 + (3 << 20), 0);
    assert_eq!(world.rewinds(), [rewound(7, 10)]);
}

/// A message that waits for a read before it may not have begun before.
#[test]
fn a_message_that_has_begun_and_then_waits_for_a_read_is_not_the_same() {
    let mut world = World::new();
    world.create(7, Settings { psn: 10, ..Settings::default() });
    world.send(7, 0, 10);
    world.answer(7, 10, syndrome::NAK_SEQUENCE);
    assert_eq!(world.rewinds(), [rewound(7, 10)]);
    world.told(Told { vi: 7, parked: true, epoch: true, ..Told::default() });
    world.settle();
    assert_eq!(world.broken, [(7, event_code::POST_DESC)]);
    // It is fetched once more, and flushed.
    let epoch = world.epochs[7];
    assert!(!epoch && world.rewinds().len() == 1);
    world.told(Told { vi: 7, errors: status::DESC_FLUSHED_ERROR, epoch, ..Told::default() });
    assert_eq!(world.drain(), [(0, status::DONE | status::TRANSPORT_ERROR)]);
}

/// One that waits for a read comes again when one more is complete than when gather dropped it, however many those are.
#[test]
fn a_message_that_waits_for_a_read_comes_again_with_the_next_that_completes() {
    let operation = u64::from(control::OP_RDMAREAD);
    for late in [false, true] {
        let mut world = World::new();
        world.create(7, Settings::default());
        for n in 0..10 {
            let epoch = world.epochs[7];
            let next = Rewound { vi: 7, epoch: !epoch, position: n + 1, skip: 0, psn: n + 1 };
            world.told(Told { vi: 7, offset: n, psn: Some(n), operation, epoch, ..Told::default() });
            let parked = Told { vi: 7, parked: true, number: n % 8, epoch, ..Told::default() };
            if late {
                // The read is complete before it is heard that a message waits for it.
                world.answer(7, n, syndrome::ACK);
                world.settle();
                world.told(parked);
            } else {
                world.told(parked);
                assert_eq!(world.rewinds(), [], "{n} reads are complete");
                world.answer(7, n, syndrome::ACK);
            }
            assert_eq!(world.rewinds(), [next], "{} reads are complete", n + 1);
        }
        assert_eq!((world.completed.len(), world.broken.len()), (10, 0));
    }
}
