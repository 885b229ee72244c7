//! What waits for the writes before it: interrupts, answers to loads, files.

use std::time::Duration;

use viaduct_driver::device::Bar;

use super::*;
use crate::memory::Range;
use crate::tlp::Completion;

#[test]
fn an_interrupt_waits_for_the_writes_before_it() {
    let mut remote = Remote::new();
    let eventfd = eventfd(&mut remote.edge.complex, 3);
    remote.edge.queue(&write(0, 8, 1));
    remote.edge.queue(&write(8, 8, 2));
    remote.edge.queue(&interrupt(3));
    remote.edge.queue(&write(16, 8, 3));
    remote.edge.run(300);
    let asked = remote.asked();
    assert_eq!(asked.len(), 2, "what is behind the interrupt is not sent yet");
    remote.answer(asked[1].0, Ok(Vec::new()));
    remote.edge.run(50);
    assert_eq!(count(&eventfd), 0);
    assert!(remote.edge.complex.is_quiet(remote.edge.now));
    remote.answer(asked[0].0, Ok(Vec::new()));
    assert!(!remote.edge.complex.is_quiet(remote.edge.now), "the interrupt may go now");
    remote.edge.run(50);
    assert_eq!((count(&eventfd), remote.counters().interrupts), (1, 1));
    assert_eq!(remote.only().1, DmaMessage::Write { address: BASE + 16, data: vec![3, 0, 0, 0, 3, 0, 0, 0] });
    remote.check();
}

#[test]
fn a_file_is_not_written_before_the_client_has_what_came_before() {
    let mut remote = Remote::with(Options::default(), 1 << 20);
    let range = Range { iova: 0x10_0000, length: 4096, offset: 0, readable: true, writable: true };
    remote.edge.complex.memory.map(&range, None).unwrap();
    remote.edge.queue(&Tlp::Write(Request::new(0x10_0000, 4, 0, NIC_ID), vec![0]));
    remote.edge.queue(&write(0, 4, 0xAAAA_AAAA));
    remote.edge.run(300);
    assert_eq!(remote.edge.memory(BASE, 4), [0, 1, 2, 3]);
    let (id, _) = remote.only();
    remote.answer(id, Ok(Vec::new()));
    remote.edge.run(1);
    assert_eq!(remote.edge.memory(BASE, 4), [0xAA; 4]);
}

/// A write that the client has, and a load's completion behind it.
fn write_and_load() -> (Remote, MessageId, LoadId) {
    let mut remote = Remote::new();
    remote.edge.run(1);
    let now = remote.edge.now;
    let load = remote.edge.complex.load(now, Access::new(Bar::Registers, 0x20, 4).unwrap());
    remote.edge.run(100);
    let Ok(Tlp::Read(request)) = Tlp::decode(&remote.edge.got[0].2) else { panic!("the load") };
    remote.edge.queue(&write(0, 4, 1));
    remote.edge.queue(&Tlp::Completion(Completion {
        status: 0,
        byte_count: 4,
        lower_address: 0x20,
        tag: request.tag,
        requester: HOST_ID,
        completer: NIC_ID,
        poisoned: false,
        data: vec![0x55],
    }));
    remote.edge.run(100);
    let (id, _) = remote.only();
    assert_eq!(remote.edge.complex.answer(load), None);
    assert!(remote.edge.complex.is_quiet(remote.edge.now), "it waits for the client, not for time");
    // It is not late: only the client is.
    remote.edge.now += 1 << 20;
    remote.edge.run(300);
    assert_eq!(remote.edge.complex.answer(load), None);
    (remote, id, load)
}

#[test]
fn a_load_s_answer_waits_for_the_writes_before_it() {
    let (mut remote, id, load) = write_and_load();
    remote.answer(id, Ok(Vec::new()));
    remote.edge.run(1);
    assert_eq!(remote.edge.complex.answer(load), Some(0x55));
    assert_eq!((remote.counters().overtaken, remote.edge.complex.wall_deadline()), (0, None));
    remote.check();
}

#[test]
fn the_simulator_s_own_loads_wait_for_nobody() {
    let (mut remote, id, load) = write_and_load();
    assert_eq!(remote.edge.complex.answer_now(load), Some(0x55));
    assert_eq!(remote.edge.complex.answer_now(load), None, "once");
    remote.answer(id, Ok(Vec::new()));
    remote.edge.run(1);
    assert_eq!((remote.edge.complex.answer(load), remote.edge.complex.wall_deadline()), (None, None));
}

#[test]
fn a_load_s_answer_does_not_wait_for_ever() {
    let (mut remote, id, load) = write_and_load();
    let deadline = remote.edge.complex.wall_deadline().unwrap();
    assert!(deadline <= Instant::now() + LOAD_PATIENCE);
    let now = remote.edge.now;
    remote.edge.complex.look_at_wall(now, deadline - Duration::from_millis(1));
    assert_eq!(remote.edge.complex.answer(load), None);
    remote.edge.complex.look_at_wall(now, deadline);
    assert_eq!(remote.edge.complex.answer(load), Some(0x55));
    assert_eq!((remote.counters().overtaken, remote.counters().unanswered), (1, 0));
    remote.answer(id, Ok(Vec::new()));
    assert_eq!(remote.counters().unsupported, 0);
}
