//! Waits: a read for what came before it, a new connection for the answers of the one before.

use viaduct_hdl::bus::Commit;
use viaduct_spec::tables::table;

use super::{read, World};
use crate::bundle::Bundle;

/// Rule RSP-7.
#[test]
fn a_read_waits_for_the_writes_before_it() {
    let mut world = World::new();
    world.open(1, 0, 4);
    world.dut.set("issued", 3);
    world.dut.set("retired", 254);
    world.request.set(&mut world.dut, &[("vi", 1), ("length", 10)]);
    world.dut.set("request_valid", 1);
    for retired in [254, 255, 0, 1, 2] {
        world.dut.set("retired", retired);
        world.has_no_answer_for(30);
    }
    world.dut.set("retired", 3);
    world.until("answer_valid");
}

/// Its answer acknowledges what came before.
/// Rule RSP-7.
#[test]
fn a_read_of_reliable_reception_waits_for_what_was_received_before_it() {
    for reception in [0, 1] {
        let mut world = World::new();
        world.open(1, 0, 4);
        world.request.set(&mut world.dut, &[("vi", 1), ("length", 0), ("reception", reception)]);
        world.dut.set("request_valid", 1);
        world.dut.set("arriving", 1);
        if reception == 1 {
            world.has_no_answer_for(100);
            world.dut.set("arriving", 0);
        }
        world.until("answer_valid");
    }
}

#[test]
fn a_new_connection_begins_when_nothing_is_on_its_way() {
    let mut world = World::new();
    world.open(3, 0, 4);
    assert_eq!(world.ask(read(3, 0, 600)), Some(3));
    assert!(world.take().is_some());
    let commit = Bundle::of::<Commit>("commit");
    commit
        .set(&mut world.dut, &[("target", table::RECEIVE.into()), ("row", 3), ("word1", 4 << 40 | 2 << 32)]);
    world.dut.set("commit_valid", 1);
    let mut left = 1;
    while world.take().is_some() {
        left += 1;
    }
    assert!(left <= 2, "one may have been on show");
    for _ in 0..left {
        world.dut.eval();
        assert_eq!(world.dut.get("commit_ready"), 0);
        world.dut.set("gone", 1);
        world.tick();
        world.dut.set("gone", 0);
    }
    world.until("commit_ready");
    world.tick();
    world.dut.set("commit_valid", 0);
    assert_eq!(world.take(), None);
    assert!(!world.held(3));
}
