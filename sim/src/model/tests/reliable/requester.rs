//! The requester: what it sends again and when, and when it gives up.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{service, vi_states, RNR_WITHOUT_END};
use viaduct_spec::wire::{opcode, syndrome};

use super::by_hand::frame_of;
use super::{pair, unanswered, A, B, READ, WRITE};
use crate::fabric::Faults;
use crate::model::frame::{self, Packet};
use crate::model::tests::bench::{Bench, Descriptor, Level, DATA, PSN, RECEIVED, SENT};

/// The frame of this number does not arrive.
fn lost(number: u64) -> Faults {
    Faults { drop: [number].into(), ..Faults::default() }
}

/// Rules REQ-4 and REQ-5; and RSP-1: each message is executed once.
#[test]
fn requester_4_and_5_any_frame_may_be_lost_or_come_twice() {
    // A send of three packets, a write of three, a read of three, and the acknowledgements.
    for twice in [false, true] {
        for number in 1..14 {
            let mut bench = pair(Level::reliable());
            let hit = Faults { duplicate: [number].into(), ..Faults::default() };
            bench.faults(if twice { hit } else { lost(number) });
            bench.write(0, DATA, &[5; 700]);
            bench.write(1, DATA + 0x3000, &[6; 700]);
            let receives = [0, 1].map(|_| bench.receive(B, &Descriptor::of(DATA + 0x1000, 700)));
            let send = bench.send(A, &Descriptor::of(DATA, 700));
            let write = bench.send(A, &Descriptor::rdma(WRITE, DATA + 0x2000, DATA, 700));
            let read = bench.send(A, &Descriptor::rdma(READ, DATA + 0x3000, DATA + 0x1000, 700));
            let last = bench.send(A, &Descriptor::of(DATA, 70));
            bench.settle();
            assert_eq!(bench.peek(0, send), (700, SENT), "frame {number}");
            assert_eq!(bench.peek(0, write), (700, SENT | status::OP_RDMA_WRITE));
            assert_eq!(bench.peek(0, read), (700, SENT | status::OP_RDMA_READ));
            assert_eq!(bench.peek(0, last), (70, SENT));
            assert_eq!(receives.map(|place| bench.peek(1, place)), [(700, RECEIVED), (70, RECEIVED)]);
            assert_eq!(bench.read(1, DATA + 0x2000, 700), [5; 700]);
            assert_eq!(bench.read(0, DATA + 0x1000, 700), [6; 700]);
            assert_eq!(bench.counter(1, counter::MESSAGES_RECEIVED), 3, "each executed once");
        }
    }
}

/// Rule REQ-5.
#[test]
fn requester_5_retries_end_and_the_oldest_message_says_so() {
    for (operation, event) in [(0, event_code::CONN_LOST), (READ, event_code::RDMA_TRANSPORT)] {
        let mut bench = pair(Level { retries: 3, ..Level::reliable() });
        bench.faults(Faults { drop: (1..1000).collect(), ..Faults::default() });
        let descriptor = match operation {
            0 => Descriptor::of(DATA, 10),
            operation => Descriptor::rdma(operation, DATA, DATA, 10),
        };
        let send = bench.send(A, &descriptor);
        bench.settle();
        assert_eq!(bench.peek(0, send).1 & status::ERROR_MASK, status::TRANSPORT_ERROR);
        assert_eq!(bench.counter(0, counter::TIMEOUTS), 4);
        assert_eq!(
            (bench.roce_frames(), bench.counter(0, counter::RETRANSMITTED)),
            (4, 3),
            "once and three times again"
        );
        assert_eq!(bench.events(0), [(event, 1, false, true)]);
    }
}

/// Rules REQ-6 and RSP-4.
#[test]
fn requester_6_a_receiver_that_is_not_ready_is_asked_again() {
    let mut bench = pair(Level { timeout: 0, ..Level::reliable() });
    let sends = [0, 1].map(|_| bench.send(A, &Descriptor::of(DATA, 700)));
    // The timer's code is 1: ten microseconds.
    bench.net.step(10 * 1250);
    assert_eq!(bench.peek(0, sends[0]).1, 0);
    let receives = [0, 1].map(|_| bench.receive(B, &Descriptor::of(DATA, 700)));
    bench.settle();
    assert_eq!(sends.map(|place| bench.peek(0, place)), [(700, SENT); 2]);
    assert_eq!(receives.map(|place| bench.peek(1, place)), [(700, RECEIVED); 2]);
    let asked = bench.counter(0, counter::RNR_RECEIVED);
    assert!((5..=10).contains(&asked), "{asked}");
    assert_eq!([counter::NAKS_SENT, counter::DROP_NO_RECEIVE].map(|number| bench.counter(1, number)), [0, 0]);
    assert_eq!([bench.events(0), bench.events(1)], [[], []]);
}

/// Rule REQ-6.
#[test]
fn requester_6_its_retries_end() {
    for (service, error) in [
        (service::RELIABLE_DELIVERY, status::TRANSPORT_ERROR),
        (service::RELIABLE_RECEPTION, status::REMOTE_DESC_ERROR),
    ] {
        let mut bench = pair(Level { service, rnr: 3, ..Level::reliable() });
        let send = bench.send(A, &Descriptor::of(DATA, 700));
        bench.settle();
        assert_eq!(bench.peek(0, send), (0, SENT | error));
        assert_eq!(bench.counter(0, counter::RNR_RECEIVED), 4);
        assert_eq!([bench.state(A), bench.state(B)], [vi_states::ERROR, vi_states::CONNECTED]);
        assert_eq!(bench.events(0), [(event_code::CONN_LOST, 1, false, true)]);
    }
}

/// Rule REQ-6.
#[test]
fn requester_6_or_never_end() {
    let mut bench = pair(Level { rnr: RNR_WITHOUT_END.into(), timeout: 0, ..Level::reliable() });
    let send = bench.send(A, &Descriptor::of(DATA, 700));
    while bench.counter(0, counter::RNR_RECEIVED) < 600 {
        assert_eq!((bench.peek(0, send).1, bench.events(0)), (0, vec![]));
        bench.net.step(10 * 1250);
    }
    let receive = bench.receive(B, &Descriptor::of(DATA, 700));
    bench.settle();
    assert_eq!((bench.peek(0, send), bench.peek(1, receive)), ((700, SENT), (700, RECEIVED)));
}

/// Rule REQ-6.
#[test]
fn requester_6_a_nak_that_moves_nothing_leaves_the_wait_as_it_is_and_progress_ends_it() {
    // Code 0 asks for 655 ms, code 1 for ten microseconds.
    let [long, short] = [0, 1].map(|code| syndrome::RNR_NAK | code);
    for (first, second, sent_again) in [
        (short, long, true),
        (long, short, false),
        (long, syndrome::NAK_SEQUENCE, false),
        (long, syndrome::ACK, true),
    ] {
        let mut bench = pair(Level { timeout: 0, ..Level::reliable() });
        // All answers are made by hand.
        bench.faults(Faults { drop: (1..1000).collect(), ..Faults::default() });
        bench.send(B, &Descriptor::of(DATA, 500));
        bench.net.step(1000);
        for answer in [first, second] {
            bench.inject(1, frame_of(opcode::RC_ACKNOWLEDGE, 0, false, &[answer, 0, 0, 0]));
            bench.net.step(1000);
        }
        bench.net.step(2000);
        let again = bench.counter(1, counter::RETRANSMITTED);
        assert_eq!(again > 0, sent_again, "{first:#x}, {second:#x}: {again}");
    }
}

/// Rule REQ-7.
#[test]
fn requester_7_what_is_sent_again_must_be_the_same() {
    for changed in [false, true] {
        let mut bench = pair(Level::reliable());
        bench.faults(lost(1));
        let receive = bench.receive(B, &Descriptor::of(DATA + 0x1000, 700));
        let send = bench.send(A, &Descriptor::of(DATA, 100));
        bench.net.step(2000);
        // Another Length and another segment; or other data.
        if changed {
            bench.write(0, send + 24, &[99, 0, 0, 0]);
            bench.write(0, send + 44, &[99, 0, 0, 0]);
        } else {
            bench.write(0, DATA, &[9; 100]);
        }
        bench.settle();
        if changed {
            assert_eq!(bench.peek(0, send), (0, SENT | status::TRANSPORT_ERROR));
            assert_eq!(bench.events(0), [(event_code::POST_DESC, 1, false, true)]);
        } else {
            assert_eq!(bench.peek(0, send), (100, SENT));
            assert_eq!(
                (bench.peek(1, receive).1, bench.read(1, DATA + 0x1000, 100)),
                (RECEIVED, vec![9; 100])
            );
        }
    }
}

/// Rules REQ-8; and REQ-2: an implied NAK asks for it.
#[test]
fn requester_8_a_read_is_asked_for_again_from_its_first_missing_byte() {
    let mut bench = pair(Level::reliable());
    // Request, four packets of answer: the third is lost.
    bench.faults(lost(4));
    bench.write(1, DATA, &(0..=255).cycle().take(1000).collect::<Vec<u8>>());
    let read = bench.send(A, &Descriptor::rdma(READ, DATA, DATA, 1000));
    bench.settle();
    assert_eq!(bench.peek(0, read).0, 1000);
    assert_eq!(bench.read(0, DATA, 1000), bench.read(1, DATA, 1000));
    // The fourth says that the third is missing: a request for two packets.
    assert_eq!((bench.roce_frames(), bench.counter(0, counter::TIMEOUTS)), (5 + 3, 0));
    assert_eq!(bench.counter(1, counter::DUPLICATES), 1);
    assert_eq!(bench.counter(1, counter::READS_SERVED), 2);
}

/// Rule REQ-9.
#[test]
fn requester_9_no_more_reads_than_the_peer_keeps() {
    let mut bench = pair(Level { depth: 2, ..Level::reliable() });
    let reads = [0; 6].map(|_| bench.send(A, &Descriptor::rdma(READ, DATA, DATA, 3000)));
    bench.settle();
    assert!(reads.iter().all(|place| bench.peek(0, *place).0 == 3000));
    assert_eq!(bench.counter(1, counter::NAKS_SENT), 0);
}

/// Rule WQ-8.
#[test]
fn a_read_that_the_host_does_not_answer_is_a_transport_error_and_breaks_reliable_connections() {
    for level in [Level::unreliable(), Level::reliable()] {
        let mut bench = pair(level);
        let (address, handle) = unanswered(&mut bench, 0);
        let send = bench.send(A, &Descriptor::of(address, 700).handle(0, handle));
        bench.settle();
        assert_eq!(bench.peek(0, send), (0, SENT | status::TRANSPORT_ERROR));
        let goes_on = level.service == service::UNRELIABLE;
        assert_eq!(bench.state(A), if goes_on { vi_states::CONNECTED } else { vi_states::ERROR });
        assert_eq!(bench.events(0), [], "the descriptor says it");
        let next = bench.send(A, &Descriptor::new());
        bench.settle();
        assert_eq!(bench.peek(0, next).1 == SENT, goes_on);
    }
}

/// Rule REQ-3.
#[test]
fn requester_3_a_read_that_was_asked_for_again_takes_the_original_s_opcodes() {
    // Linux answers so. A asks for 1000 bytes; nobody answers but the test.
    let respond = |codes: [u8; 3], bench: &mut Bench| {
        for (n, code) in (1..).zip(codes) {
            let template = Bench::template(B, A);
            let mut body = if code == opcode::RC_READ_RESPONSE_MIDDLE { vec![] } else { vec![0x1F, 0, 0, 1] };
            body.resize(body.len() + if n == 3 { 232 } else { 256 }, n as u8);
            let psn = PSN.wrapping_add(n) & 0xFF_FFFF;
            bench.inject(0, frame::build(&template, &Packet { opcode: code, psn, ack_request: false, body }));
        }
        bench.net.step(2000);
    };
    let [first, middle, last] =
        [opcode::RC_READ_RESPONSE_FIRST, opcode::RC_READ_RESPONSE_MIDDLE, opcode::RC_READ_RESPONSE_LAST];
    for codes in [[middle, middle, last], [first, middle, last], [middle, first, last]] {
        let mut bench = pair(Level::reliable());
        // The answer's first packet comes; then the wire is cut.
        bench.faults(Faults { drop: (3..1000).collect(), ..Faults::default() });
        let read = bench.send(A, &Descriptor::rdma(READ, DATA, DATA, 1000));
        bench.net.step(3000);
        // The time-out, and the request for the rest.
        bench.net.step(200 * 128);
        respond(codes, &mut bench);
        let whole = codes[1] != first;
        assert_eq!(bench.peek(0, read).1 == SENT | status::OP_RDMA_READ, whole, "{codes:x?}");
    }
}

/// Rule REQ-4.
#[test]
fn requester_4_a_nak_of_an_unknown_code_refuses_its_message_and_completes_no_read_before_it() {
    for code in [0x64, 0x65, 0x7F, 0x80 | syndrome::NAK_OPERATIONAL] {
        let mut bench = pair(Level::reliable());
        // Nothing arrives.
        bench.faults(Faults { drop: (1..1000).collect(), ..Faults::default() });
        let read = bench.send(A, &Descriptor::rdma(READ, DATA, DATA, 100));
        let refused = bench.send(A, &Descriptor::of(DATA, 10));
        bench.net.step(3000);
        let nak = Packet {
            opcode: opcode::RC_ACKNOWLEDGE,
            psn: PSN.wrapping_add(1) & 0xFF_FFFF,
            ack_request: false,
            body: vec![code, 0, 0, 1],
        };
        bench.inject(0, frame::build(&Bench::template(B, A), &nak));
        bench.net.step(2000);
        assert_eq!(bench.state(A), vi_states::ERROR, "{code:#x}");
        let lost = SENT | status::TRANSPORT_ERROR;
        assert_eq!(bench.peek(0, read), (0, lost | status::OP_RDMA_READ), "{code:#x}");
        assert_eq!(bench.peek(0, refused), (0, lost), "{code:#x}");
        assert_eq!(bench.counter(0, counter::NAKS_RECEIVED), 1, "{code:#x}");
    }
}

/// Rule REQ-2.
#[test]
fn requester_2_ghosts_are_dropped_and_counted() {
    let mut bench = pair(Level::reliable());
    for ahead in [0, 5, 0xFF_FFFF] {
        bench.inject(1, frame_of(opcode::RC_ACKNOWLEDGE, ahead, false, &[0x1F, 0, 0, 1]));
        bench.inject(1, frame_of(opcode::RC_READ_RESPONSE_ONLY, ahead, false, &[0x1F, 0, 0, 1]));
    }
    bench.settle();
    assert_eq!(bench.counter(1, counter::DROP_RESPONSE), 6);
    assert_eq!(bench.state(B), vi_states::CONNECTED);
}

/// Rule WIRE-3.
#[test]
fn wire_a_request_asks_for_an_acknowledgement_in_its_last_and_every_16th_packet() {
    let mut bench = pair(Level::reliable());
    bench.receive(B, &Descriptor::of(DATA, 40 * 256));
    bench.send(A, &Descriptor::of(DATA, 40 * 256));
    bench.settle();
    assert_eq!(bench.counter(1, counter::ACKS_SENT), 3);
    assert_eq!(bench.counter(0, counter::ACKS_RECEIVED), 3);
}
