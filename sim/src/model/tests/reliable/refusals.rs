//! The responder refuses: what each side is told, and that both connections break.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{region, service, vi_states};
use viaduct_spec::wire::{opcode, syndrome};

use super::by_hand::{answered, frame_of, reth};
use super::{pair, unanswered, A, B, READ, WRITE};
use crate::model::tests::bench::{handle, Bench, Completion, Descriptor, Level, DATA, SENT};
use crate::model::{frame, Choices};

/// What a request that B refuses does: its completion, and the event at B.
fn refused(level: Level, descriptor: &Descriptor, prepare: impl FnOnce(&mut Bench)) -> (Completion, u8) {
    let mut bench = pair(level);
    prepare(&mut bench);
    let send = bench.send(A, descriptor);
    let next = bench.send(A, &Descriptor::new());
    bench.settle();
    assert_eq!([bench.state(A), bench.state(B)], [vi_states::ERROR; 2]);
    assert_eq!(bench.events(0), [(event_code::CONN_LOST, 1, false, true)]);
    assert_ne!(bench.peek(0, next).1 & (status::TRANSPORT_ERROR | status::DESC_FLUSHED_ERROR), 0);
    let events = bench.events(1);
    assert!(events.len() == 1 && events[0].1 == 2 && events[0].2 && events[0].3, "{events:?}");
    (bench.peek(0, send), events[0].0)
}

/// Rules RSP-3, RSP-4 and RSP-5; and REQ-4: the table of refusals.
#[test]
fn responder_3_to_5_refusals_as_the_requester_sees_them() {
    let delivery = Level { rnr: 0, ..Level::reliable() };
    let reception = Level { service: service::RELIABLE_RECEPTION, ..delivery };
    let send = Descriptor::of(DATA, 700);
    let short = |bench: &mut Bench| {
        bench.receive(B, &Descriptor::of(DATA, 699));
    };
    let malformed = |bench: &mut Bench| {
        bench.receive(B, &Descriptor::of(DATA, 700).flags(0x10));
    };
    let no_region =
        |bench: &mut Bench| bench.region(1, 1, &[(region::RDMA_READ, 0), (region::RDMA_WRITE, 0)]);
    for (level, error) in [(delivery, status::TRANSPORT_ERROR), (reception, status::REMOTE_DESC_ERROR)] {
        assert_eq!(refused(level, &send, short), ((0, SENT | error), event_code::CONN_LOST));
        assert_eq!(refused(level, &send, malformed), ((0, SENT | error), event_code::CONN_LOST));
        assert_eq!(refused(level, &send, |_| ()), ((0, SENT | error), event_code::RECVQ_EMPTY));
        for (operation, event) in [(WRITE, event_code::RDMAW_PROT), (READ, event_code::RDMAR_PROT)] {
            let bits = if operation == WRITE { status::OP_RDMA_WRITE } else { status::OP_RDMA_READ };
            let expected = ((0, status::DONE | bits | status::RDMA_PROT_ERROR), event);
            let rdma = Descriptor::rdma(operation, DATA, DATA, 700);
            assert_eq!(refused(level, &rdma, no_region), expected);
            assert_eq!(refused(level, &rdma.clone().handle(0, handle() ^ 1 << 20), |_| ()), expected);
            assert_eq!(refused(Level { rdma: false, ..level }, &rdma, |_| ()), expected);
            let beyond = Descriptor::rdma(operation, DATA + 0xF_FFFF, DATA, 2);
            assert_eq!(refused(level, &beyond, |_| ()), expected);
        }
    }
}

/// Rule RSP-5.
#[test]
fn responder_5_a_refused_write_with_immediate_data_is_told_by_its_receive() {
    let mut bench = pair(Level::reliable());
    bench.region(1, 1, &[(region::RDMA_WRITE, 0)]);
    let receive = bench.receive(B, &Descriptor::of(DATA, 100));
    bench.send(A, &Descriptor::rdma(WRITE, DATA, DATA, 100).immediate(5));
    bench.settle();
    let expected = status::DONE | status::OP_REMOTE_RDMA_WRITE | status::RDMA_PROT_ERROR;
    assert_eq!(bench.peek(1, receive).1, expected);
    assert_eq!(bench.events(1), [(event_code::CONN_LOST, 2, true, true)]);
}

/// Rule WQ-8.
#[test]
fn responder_6_a_read_that_the_host_does_not_answer_is_refused_as_operational() {
    let delivery = Level { rnr: 0, ..Level::reliable() };
    let reception = Level { service: service::RELIABLE_RECEPTION, ..delivery };
    for (level, error) in [(delivery, status::TRANSPORT_ERROR), (reception, status::REMOTE_DESC_ERROR)] {
        let (address, handle) = unanswered(&mut Bench::new(2), 1);
        let read = Descriptor::rdma(READ, address, DATA, 700).handle(0, handle);
        let expected = ((0, status::DONE | status::OP_RDMA_READ | error), event_code::CONN_LOST);
        let prepare = |bench: &mut Bench| {
            unanswered(bench, 1);
        };
        assert_eq!(refused(level, &read, prepare), expected);
    }
}

/// Rule RSP-6.
#[test]
fn responder_6_more_reads_than_agreed_are_refused() {
    let mut bench = pair(Level { depth: 1, timeout: 0, ..Level::reliable() });
    // No answer leaves while the wire is held: both requests are there at once.
    let read = |ahead| frame_of(opcode::RC_READ_REQUEST, ahead, true, &reth(DATA, handle(), 2560));
    bench.inject(1, read(0));
    bench.inject(1, read(10));
    bench.settle();
    assert_eq!(bench.state(B), vi_states::ERROR);
    assert_eq!(bench.events(1), [(event_code::CONN_LOST, 2, true, true)]);
    assert_eq!(bench.counter(1, counter::READS_SERVED), 1);
}

/// Rule RSP-6.
#[test]
fn responder_6_no_read_behind_a_refused_one_is_answered_when_the_vi_has_broken_before() {
    // The model looks at a read's range when it makes the answer.
    let mut bench = Bench::choosing(2, Choices { reads_late: true, ..Choices::default() });
    bench.connect([A, B], Level { timeout: 0, ..Level::reliable() });
    bench.receive(B, &Descriptor::of(DATA, 1));
    let read =
        |ahead, handle, length| frame_of(opcode::RC_READ_REQUEST, ahead, true, &reth(DATA, handle, length));
    // The answer to the first read takes ten packets. The others come meanwhile. The send is longer than its receive, and breaks the VI.
    bench.inject(1, read(0, handle(), 2560));
    bench.inject(1, read(10, handle() ^ 1 << 20, 100));
    bench.inject(1, read(11, handle(), 100));
    bench.inject(1, frame_of(opcode::RC_SEND_ONLY, 12, true, &[0; 2]));
    bench.settle();
    assert_eq!(bench.events(1), [(event_code::CONN_LOST, 2, true, true)]);
    let counters = [counter::READS_SERVED, counter::NAKS_SENT, counter::BYTES_SENT];
    assert_eq!(counters.map(|counter| bench.counter(1, counter)), [3, 1, 2560]);
}

/// Rules RSP-7: its MSN; and RSP-8.
#[test]
fn responder_7_a_read_that_is_not_answered_is_not_executed_and_its_nak_says_so_again_and_again() {
    let (address, handle) = unanswered(&mut Bench::new(2), 1);
    let read = frame_of(opcode::RC_READ_REQUEST, 1, true, &reth(address, handle, 700));
    let frames = [frame_of(opcode::RC_SEND_ONLY, 0, true, &[]), read.clone(), read];
    let prepare = |bench: &mut Bench| {
        unanswered(bench, 1);
    };
    let (frames, state) = answered(prepare, &frames);
    assert_eq!(state, vi_states::ERROR);
    let said: Vec<(u8, u32)> =
        frames.iter().map(|data| (data[54], frame::be32(data, 54) & 0xFF_FFFF)).collect();
    let nak = (syndrome::NAK_OPERATIONAL, 1);
    assert_eq!(said, [(syndrome::ACK, 1), nak, nak]);
}
