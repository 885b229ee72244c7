//! Work queues: what a descriptor on either queue ends with, in which order, and what breaks a VI.

use viaduct_spec::descriptor::{control, status};
use viaduct_spec::doorbell::page;
use viaduct_spec::profile::SEND_WINDOW;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{region, vi_states};

use super::bench::{handle, Bench, Descriptor, End, Level, DATA, DATA_REGION, RECEIVED, RING_LOG2, SENT};
use crate::fabric::Faults;

const A: End = (0, 1);
const B: End = (1, 2);
const FLUSHED: u32 = status::DESC_FLUSHED_ERROR;

fn pair(level: Level) -> Bench {
    let mut bench = Bench::new(2);
    bench.connect([A, B], level);
    bench
}

fn levels() -> [Level; 2] {
    [Level::unreliable(), Level::reliable()]
}

/// Descriptors of a send queue that are wrong in themselves, and their error.
fn wrong() -> Vec<(Descriptor, u32)> {
    let good = || Descriptor::of(DATA, 100);
    let format = status::FORMAT_ERROR;
    vec![
        (good().flags(0x10), format),
        (good().flags(0x10).length(1), format),
        (good().flags(3), format),
        (Descriptor::new().flags(control::OP_RDMAWRITE), format),
        (Descriptor::new().flags(control::OP_RDMAREAD), format),
        (Descriptor::of(DATA, 1).flags(control::OP_RDMAWRITE), format),
        (Descriptor::rdma(control::OP_RDMAREAD, DATA, DATA, 1).immediate(1), format),
        (good().length(99), status::LENGTH_ERROR),
        (good().length(99).handle(0, 0), status::LENGTH_ERROR),
        (Descriptor::of(DATA, 0x1_0001), status::LENGTH_ERROR),
        (good().handle(0, 0), status::PROTECTION_ERROR),
        (good().handle(0, handle() ^ 1 << 16), status::PROTECTION_ERROR),
        // Longer than what is read of it first, and than a packet: nothing is sent all the same.
        (Descriptor::of(DATA, 10).segment(DATA, 10).segment(DATA, 10).length(29), status::LENGTH_ERROR),
        (Descriptor::of(DATA, 10).segment(DATA, 10).segment(DATA, 10).length(31), status::LENGTH_ERROR),
        (Descriptor::of(DATA, 256).segment(DATA, 512).segment(DATA, 257).length(1024), status::LENGTH_ERROR),
    ]
}

/// Rules WQ-2 and WQ-3.
#[test]
fn rules_2_and_3_a_wrong_descriptor_completes_with_its_error_and_breaks_a_reliable_vi() {
    for level in levels() {
        for (number, (descriptor, error)) in wrong().into_iter().enumerate() {
            let reliable = level.service != 0;
            let mut bench = pair(level);
            let receive = bench.receive(B, &Descriptor::of(DATA, 5000));
            let [wrong, next] = [descriptor, Descriptor::of(DATA, 50)].map(|it| bench.send(A, &it));
            bench.settle();
            let (length, got) = bench.peek(0, wrong);
            assert_eq!((length, got & !status::OP_MASK), (0, status::DONE | error), "{number}");
            let state = if reliable { vi_states::ERROR } else { vi_states::CONNECTED };
            assert_eq!([bench.state(A), bench.state(B)], [state, vi_states::CONNECTED]);
            let (then, received) = if reliable { (SENT | FLUSHED, 0) } else { (SENT, RECEIVED) };
            assert_eq!((bench.peek(0, next).1, bench.peek(1, receive).1), (then, received));
            assert_eq!([bench.events(0), bench.events(1)], [[], []], "the descriptor says it");
        }
    }
}

/// Rules WQ-2 and WQ-3.
#[test]
fn rule_2_an_unreliable_message_that_has_begun_is_cut_off() {
    let mut bench = pair(Level::unreliable());
    let receives = [0, 1].map(|_| bench.receive(B, &Descriptor::of(DATA, 5000)));
    // Four packets of 256 bytes; the memory of the last is nobody's.
    let long = Descriptor::of(DATA, 256).segment(DATA, 512).segment(DATA, 256).handle(2, 0);
    let send = bench.send(A, &long);
    let next = bench.send(A, &Descriptor::of(DATA, 700));
    bench.settle();
    assert_eq!(bench.peek(0, send), (0, SENT | status::PROTECTION_ERROR));
    assert_eq!(bench.peek(0, next), (700, SENT));
    assert_eq!(
        receives.map(|place| bench.peek(1, place)),
        [(768, RECEIVED | status::PARTIAL_ERROR), (700, RECEIVED)]
    );
}

/// Rule WQ-2.
#[test]
fn rule_2_the_segments_of_a_read_are_looked_at_when_its_answer_comes() {
    for (target, error) in [(DATA, status::PROTECTION_ERROR), (DATA + (1 << 40), status::RDMA_PROT_ERROR)] {
        let mut bench = pair(Level::reliable());
        let read = Descriptor::rdma(control::OP_RDMAREAD, target, DATA, 300).segment(DATA, 9).handle(2, 0);
        let read = bench.send(A, &read);
        bench.settle();
        assert_eq!(bench.peek(0, read), (0, status::DONE | status::OP_RDMA_READ | error));
        assert_eq!(bench.state(A), vi_states::ERROR);
        assert_eq!(bench.events(0), [(event_code::CONN_LOST, 1, false, true)]);
        // The peer has nothing against a read that it may answer.
        let other = if error == status::PROTECTION_ERROR { vi_states::CONNECTED } else { vi_states::ERROR };
        assert_eq!(bench.state(B), other);
    }
}

/// Rules WQ-4; and REQ-1: SEND_WINDOW messages went out.
#[test]
fn rule_4_a_vi_that_breaks_completes_all_in_order() {
    let mut bench = pair(Level { timeout: 50, retries: 0, ..Level::reliable() });
    // What is sent is lost; the VI breaks at the time-out.
    bench.faults(Faults { drop: (1..100).collect(), ..Faults::default() });
    let receives = [0, 1].map(|_| bench.receive(A, &Descriptor::of(DATA, 100)));
    let sends: Vec<u64> = (0..SEND_WINDOW + 4).map(|_| bench.send(A, &Descriptor::of(DATA, 40))).collect();
    bench.settle();
    let ends: Vec<u32> = sends.iter().map(|place| bench.peek(0, *place).1).collect();
    let sent = ends.iter().take_while(|end| **end == SENT | status::TRANSPORT_ERROR).count();
    // The window: what went out whole; the rest never began.
    assert_eq!(sent, SEND_WINDOW);
    assert!(ends[sent..].iter().all(|end| *end == SENT | FLUSHED), "{ends:x?}");
    assert!(receives.iter().all(|place| bench.peek(0, *place).1 == RECEIVED | FLUSHED));
    assert_eq!(bench.events(0), [(event_code::CONN_LOST, 1, false, true)]);
    let later = [true, false].map(|receive| bench.post(A, receive, &Descriptor::of(DATA, 1)));
    bench.settle();
    assert_eq!(later.map(|place| bench.peek(0, place).1), [RECEIVED | FLUSHED, SENT | FLUSHED]);
}

/// Rule WQ-4.
#[test]
fn rule_4_the_receive_that_was_being_executed_is_a_transport_error() {
    let mut bench = pair(Level::reliable());
    bench.faults(Faults { drop: (3..100).collect(), ..Faults::default() });
    let receives = [0, 1].map(|_| bench.receive(B, &Descriptor::of(DATA, 5000)));
    bench.send(A, &Descriptor::of(DATA, 2000));
    bench.net.step(3000);
    bench.set_state(B, vi_states::ERROR);
    bench.net.step(3000);
    assert_eq!(bench.peek(1, receives[0]), (512, RECEIVED | status::TRANSPORT_ERROR));
    assert_eq!(bench.peek(1, receives[1]), (0, RECEIVED | FLUSHED));
    assert_eq!(bench.events(1), [], "the agent did it");
}

/// Rule WQ-5.
#[test]
fn rule_5_a_fence_waits_for_reads_and_nothing_else_does() {
    for fence in [0, control::QFENCE] {
        let mut bench = pair(Level::reliable());
        bench.write(1, DATA, &[7; 100]);
        bench.write(0, DATA, &[1; 100]);
        // The answer of the read is lost once; what follows reads its target.
        let answer = if fence == 0 { 3 } else { 2 };
        bench.faults(Faults { drop: [answer].into(), ..Faults::default() });
        let receive = bench.receive(B, &Descriptor::of(DATA + 0x1000, 100));
        bench.send(A, &Descriptor::rdma(control::OP_RDMAREAD, DATA, DATA, 100));
        let send = bench.send(A, &Descriptor::of(DATA, 100).flags(fence));
        bench.settle();
        assert_eq!([bench.peek(0, send).1, bench.peek(1, receive).1], [SENT, RECEIVED]);
        let expected = if fence == 0 { 1 } else { 7 };
        assert_eq!(bench.read(1, DATA + 0x1000, 100), [expected; 100], "fence {fence:#x}");
    }
}

/// Rule WQ-6.
#[test]
fn rule_6_a_position_outside_the_ring_breaks_the_vi_and_what_it_holds_is_flushed() {
    for level in levels() {
        for receive in [false, true] {
            let mut bench = pair(level);
            let (place, token) = bench.prepare(A, receive, &Descriptor::of(DATA, 10));
            let offset = if receive { page::RECEIVE } else { page::SEND };
            bench.ring(0, A.1, offset, 8, token | 1 << RING_LOG2 << 50);
            bench.settle();
            assert_eq!(bench.state(A), vi_states::ERROR);
            assert_eq!(bench.events(0), [(event_code::VI_OVERRUN, 1, receive, true)]);
            let flushed = bench.peek(0, place).1 & status::ERROR_MASK;
            assert_eq!(flushed, status::DESC_FLUSHED_ERROR, "the ring says what was posted");
        }
    }
}

/// Rule WQ-6.
#[test]
fn rule_6_a_stale_slot_breaks_the_vi_and_what_was_good_is_flushed() {
    for level in levels() {
        let mut bench = pair(level);
        let (good, token) = bench.prepare(A, true, &Descriptor::of(DATA, 10));
        // The high half alone rings: the ring is read, and slot 1 was never written.
        bench.ring(0, A.1, page::RECEIVE + 4, 4, (token + (1 << 50)) >> 32);
        bench.settle();
        assert_eq!(bench.events(0), [(event_code::POST_DESC, 1, true, true)]);
        assert_eq!(bench.peek(0, good).1, RECEIVED | FLUSHED);
    }
}

/// Rule WQ-6.
#[test]
fn rule_6_a_descriptor_outside_live_memory_is_post_desc() {
    for level in levels() {
        for receive in [false, true] {
            let mut bench = pair(level);
            bench.region(0, 3, &[(region::TAG, 8)]);
            let (place, token) = bench.prepare(A, receive, &Descriptor::of(DATA, 10));
            let offset = if receive { page::RECEIVE } else { page::SEND };
            bench.ring(0, A.1, offset, 8, token ^ u64::from(DATA_REGION ^ 3) << 34);
            bench.settle();
            assert_eq!(bench.events(0), [(event_code::POST_DESC, 1, receive, true)]);
            assert_eq!(bench.peek(0, place), (10, 0), "nothing is written");
            let next = bench.post(A, receive, &Descriptor::of(DATA, 10));
            bench.settle();
            assert_eq!(bench.peek(0, next).1 & status::ERROR_MASK, status::DESC_FLUSHED_ERROR);
        }
    }
}

/// Rule WQ-7.
#[test]
fn a_completion_without_memory_breaks_the_vi() {
    let mut bench = pair(Level::unreliable());
    bench.region(0, 3, &[(region::READ_ONLY, 1)]);
    let (place, token) = bench.prepare(A, false, &Descriptor::of(DATA, 10));
    bench.ring(0, A.1, page::SEND, 8, token ^ u64::from(DATA_REGION ^ 3) << 34);
    bench.settle();
    assert_eq!(bench.events(0), [(event_code::COMP_PROT, 1, false, true)]);
    assert_eq!(bench.peek(0, place), (10, 0));
    assert_eq!(bench.state(A), vi_states::ERROR);
}

#[test]
fn doorbell_stores_that_are_none_are_ignored_and_counted() {
    let mut bench = pair(Level::unreliable());
    let (_, token) = bench.prepare(A, false, &Descriptor::of(DATA, 10));
    let stores = [
        (A.1, page::SEND, 4, token),
        (A.1, page::SEND + 4, 2, token >> 32),
        (A.1, 0x20, 8, token),
        (A.1, page::SEND_ARM, 4, 0),
        (9, page::SEND, 8, token),
        (9, page::SEND_ARM, 8, 0),
        (A.1, page::SEND, 8, token & !(0xFFFF << 34)),
        (64, 0, 8, 1),
    ];
    for (number, (at, offset, length, value)) in stores.into_iter().enumerate() {
        bench.ring(0, at, offset, length, value);
        bench.settle();
        assert_eq!(bench.counter(0, counter::DOORBELL_IGNORED), number as u64 + 1);
    }
    assert_eq!(bench.counter(0, counter::MESSAGES_SENT), 0);
}
