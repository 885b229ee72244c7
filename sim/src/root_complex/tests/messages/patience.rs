//! Clients that never answer or go, and resets while messages are on their way.

use std::time::Duration;

use viaduct_spec::tlp::completion_status;

use super::*;
use crate::root_complex::messages::PATIENCE;

#[test]
fn a_client_that_never_answers_is_given_up() {
    let mut remote = Remote::new();
    let eventfd = eventfd(&mut remote.edge.complex, 0);
    remote.edge.queue(&read(0, 64, 4));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.queue(&interrupt(0));
    remote.edge.run(300);
    let asked = remote.asked();
    let deadline = remote.edge.complex.wall_deadline().unwrap();
    assert!(deadline > Instant::now() + PATIENCE / 2);
    let now = remote.edge.now;
    remote.edge.complex.look_at_wall(now, deadline + Duration::from_secs(1));
    remote.edge.run(300);
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!((remote.counters().unanswered, remote.counters().unsupported), (2, 2));
    assert_eq!(count(&eventfd), 1, "what waited behind goes on");
    assert_eq!(remote.edge.complex.wall_deadline(), None);
    // What comes now comes too late.
    remote.answer(asked[0].0, Ok(vec![0; 64]));
    remote.answer(asked[1].0, Ok(Vec::new()));
    remote.edge.run(300);
    assert_eq!(remote.edge.completions().len(), 1);
    assert!(remote.edge.complex.is_quiet(remote.edge.now));
    remote.check();
}

#[test]
fn a_reset_drops_reads_and_keeps_behind_writes() {
    let mut remote = Remote::new();
    remote.edge.queue(&read(0, 64, 4));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.run(300);
    let asked = remote.asked();
    let now = remote.edge.now;
    remote.edge.complex.reset(now);
    remote.edge.complex.config_write(now, 4, &[6, 0]);
    remote.edge.run(100);
    remote.edge.queue(&read(0, 4, 4));
    remote.edge.queue(&interrupt(0));
    remote.edge.run(300);
    assert_eq!(remote.counters().interrupts, 0, "a write of before is not answered");
    remote.answer(asked[0].0, Ok(vec![9; 64]));
    remote.answer(asked[1].0, Ok(Vec::new()));
    remote.edge.run(300);
    // The read of before was given up at once: whoever could have answered it might be waiting for the reset.
    assert_eq!((remote.edge.got.len(), remote.counters().interrupts), (1, 1));
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    let (id, _) = remote.only();
    remote.answer(id, Ok(vec![1; 4]));
    remote.edge.run(300);
    assert_eq!(remote.edge.completions()[1].data, [0x0101_0101]);
    assert_eq!(remote.counters().unsupported, 0);
    remote.check();
}

#[test]
fn a_read_that_arrives_in_a_reset_asks_nobody() {
    let mut remote = Remote::new();
    remote.edge.drains = 200;
    remote.edge.queue(&read(0, 64, 4));
    // It is on its way.
    remote.edge.run(5);
    let now = remote.edge.now;
    remote.edge.complex.reset(now);
    remote.edge.run(300);
    assert!(remote.asked().is_empty(), "the client may be waiting for the reset");
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    remote.check();
}

#[test]
fn a_client_that_goes_leaves_nothing_waiting() {
    let mut remote = Remote::new();
    remote.edge.queue(&read(0, 64, 4));
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.run(300);
    let now = remote.edge.now;
    remote.edge.complex.detach(now);
    remote.edge.run(300);
    assert_eq!(remote.edge.completions()[0].status, completion_status::UNSUPPORTED);
    assert_eq!((remote.counters().unsupported, remote.edge.complex.wall_deadline()), (2, None));
    remote.check();
}
