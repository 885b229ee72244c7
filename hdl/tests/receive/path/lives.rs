//! One life of a VI after another: nothing of the one before is left.

use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, table, vi_states};
use viaduct_spec::wire::opcode;

use super::{buffer, complete, fill, packet, world, DONE, GENERATION, PSN, VI};
use crate::world::{Descriptor, Event};

/// Rule LIFE-1.
#[test]
fn a_receive_queue_made_anew_is_empty() {
    let mut world = world(service::UNRELIABLE);
    for n in 0..3 {
        world.post(VI, Descriptor::new(&[buffer(n * 0x200, 0x200)]), true);
    }
    world.settle();
    world.state(VI, vi_states::IDLE);
    world.commit(table::WORK_QUEUE, VI * 2 + 1, [0, 0]);
    world.connect(VI, service::UNRELIABLE, 0, PSN, GENERATION);
    world.send(&packet(opcode::UC_SEND_ONLY, 0, b"early").bytes(), false);
    world.settle();
    let lost = Event::Fault { vi: VI, code: event_code::RECVQ_EMPTY.into(), breaks: false };
    assert_eq!(world.take(), std::slice::from_ref(&lost));
    // The first that is posted now is at position 0 again.
    world.post(VI, Descriptor::new(&[buffer(0x800, 64)]), true);
    world.send(&packet(opcode::UC_SEND_ONLY, 1, b"new").bytes(), false);
    world.settle();
    assert_eq!(world.take(), [lost, complete(0, 3, DONE)]);
    assert_eq!(world.count("count_no_receive"), 1);
}

/// Rule LIFE-2.
#[test]
fn a_message_of_the_connection_before_has_no_end() {
    let mut world = world(service::UNRELIABLE);
    world.post(VI, Descriptor::new(&[buffer(0, 0x200)]), true);
    world.send(&packet(opcode::UC_SEND_FIRST, 0, &fill(256, 0)).bytes(), false);
    world.settle();
    world.state(VI, vi_states::IDLE);
    world.connect(VI, service::UNRELIABLE, 0, PSN + 1, GENERATION);
    // It comes where the new connection expects one.
    world.send(&packet(opcode::UC_SEND_LAST, 1, b"end").bytes(), false);
    world.settle();
    assert_eq!((world.take(), world.count("count_partial")), (vec![], 1));
    world.send(&packet(opcode::UC_SEND_ONLY, 2, b"new").bytes(), false);
    world.settle();
    assert_eq!(world.take(), [complete(0, 3, DONE)]);
}
