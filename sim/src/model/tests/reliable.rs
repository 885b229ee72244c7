//! Reliable service: what is sent again and when, and what the responder refuses.

use viaduct_spec::descriptor::{control, status};
use viaduct_spec::handle::memory_handle;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{page, region, service, table, vi_states};
use viaduct_spec::wire::{opcode, syndrome};

use super::bench::{
    handle, row, Bench, Completion, Descriptor, End, Level, DATA, DATA_REGION, PSN, RECEIVED, SENT,
};
use crate::fabric::Faults;
use crate::model::frame::{self, Packet};
use crate::model::response::is_answer;

const A: End = (0, 1);
const B: End = (1, 2);
const WRITE: u16 = control::OP_RDMAWRITE;
const READ: u16 = control::OP_RDMAREAD;

fn pair(level: Level) -> Bench {
    let mut bench = Bench::new(2);
    bench.connect([A, B], level);
    bench
}

fn lost(number: u64) -> Faults {
    Faults { drop: [number].into(), ..Faults::default() }
}

/// A frame as `A` would send it to `B`.
fn frame_of(code: u8, ahead: u32, ack_request: bool, body: &[u8]) -> Vec<u8> {
    let words = Bench::template(A, B);
    let mut template = [0; 64];
    for (bytes, word) in template.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let psn = PSN.wrapping_add(ahead) & 0xFF_FFFF;
    frame::build(&template, &Packet { opcode: code, psn, ack_request, body: body.to_vec() })
}

fn reth(address: u64, handle: u32, length: u32) -> Vec<u8> {
    [&address.to_be_bytes()[..], &handle.to_be_bytes(), &length.to_be_bytes()].concat()
}

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

#[test]
fn requester_9_no_more_reads_than_the_peer_keeps() {
    let mut bench = pair(Level { depth: 2, ..Level::reliable() });
    let reads = [0; 6].map(|_| bench.send(A, &Descriptor::rdma(READ, DATA, DATA, 3000)));
    bench.settle();
    assert!(reads.iter().all(|place| bench.peek(0, *place).0 == 3000));
    assert_eq!(bench.counter(1, counter::NAKS_SENT), 0);
}

#[test]
fn responder_1_ahead_of_the_expected_packet_one_nak_says_so() {
    let mut bench = pair(Level::reliable());
    bench.receive(B, &Descriptor::of(DATA, 100));
    for ahead in [1, 2, 1] {
        bench.inject(1, frame_of(opcode::RC_SEND_ONLY, ahead, true, &[1; 20]));
        bench.settle();
    }
    assert_eq!([counter::NAKS_SENT, counter::DROP_PSN].map(|number| bench.counter(1, number)), [1, 3]);
    bench.inject(1, frame_of(opcode::RC_SEND_ONLY, 0, true, &[1; 20]));
    bench.inject(1, frame_of(opcode::RC_SEND_ONLY, 2, true, &[1; 20]));
    bench.settle();
    assert_eq!(bench.counter(1, counter::NAKS_SENT), 2);
}

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

/// A region of a NIC's behind which no memory answers: an address in it, and its handle.
fn unanswered(bench: &mut Bench, nic: usize) -> (u64, u32) {
    let base = 0x4000_0000;
    bench.region(nic, 5, &[(region::BASE, base), (region::FIRST_PAGE, 2)]);
    bench.commit(nic, table::PAGE, 2, row(&[(page::ADDRESS, 0x7000_0000)]));
    (base, handle() ^ u32::from(DATA_REGION ^ 5) << memory_handle::INDEX.lo)
}

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

#[test]
fn a_write_with_immediate_data_takes_a_receive_and_not_its_segments() {
    let mut bench = pair(Level::reliable());
    let receive = bench.receive(B, &Descriptor::of(DATA + 0x8000, 9).handle(0, 0));
    bench.write(0, DATA, &[3; 700]);
    let write = bench.send(A, &Descriptor::rdma(WRITE, DATA + 0x1000, DATA, 700).immediate(0xABCD));
    bench.settle();
    assert_eq!(bench.peek(0, write).1, SENT | status::OP_RDMA_WRITE);
    let expected = status::DONE | status::OP_REMOTE_RDMA_WRITE | status::IMMEDIATE;
    assert_eq!((bench.peek(1, receive), bench.immediate(1, receive)), ((700, expected), 0xABCD));
    assert_eq!(bench.read(1, DATA + 0x1000, 700), [3; 700]);
}

/// The answers to frames of A's, made by hand: as they were on the wire, and B's state.
fn answered(prepare: impl FnOnce(&mut Bench), frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, u8) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("answers.pcap");
    let mut bench = Bench::captured(2, Some(crate::fabric::Capture::create(&path).unwrap()));
    bench.connect([A, B], Level::reliable());
    bench.receive(B, &Descriptor::of(DATA, 5000));
    prepare(&mut bench);
    // Nobody listens at A.
    bench.set_state(A, vi_states::IDLE);
    for frame in frames {
        bench.inject(1, frame.clone());
        bench.settle();
    }
    let state = bench.state(B);
    bench.net.fabric_mut().finish_capture().unwrap();
    let mut reader = pcap_file::pcap::PcapReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(captured) = reader.next_packet() {
        let data = captured.unwrap().data.into_owned();
        if is_answer(data[42]) {
            found.push(data);
        }
    }
    (found, state)
}

/// The same: syndrome and PSN ahead of the first; and opcodes.
fn answers(frames: &[Vec<u8>]) -> (Vec<(u8, u32)>, Vec<u8>) {
    let (frames, state) = answered(|_| (), frames);
    let ahead = |data: &[u8]| (frame::be32(data, 50) & 0xFF_FFFF).wrapping_sub(PSN) & 0xFF_FFFF;
    let found: Vec<(u8, u32)> = frames.iter().map(|data| (data[54], ahead(data))).collect();
    let codes = frames.iter().map(|data| data[42]).collect();
    let nak = found.iter().any(|(code, _)| code & 0xE0 == 0x60 && *code != syndrome::NAK_SEQUENCE);
    assert_eq!(state == vi_states::ERROR, nak);
    (found, codes)
}

#[test]
fn responder_2_opcodes_out_of_place() {
    let (full, part) = ([1; 256], [1; 100]);
    let invalid = |ahead| vec![(syndrome::NAK_INVALID, ahead)];
    let write = [reth(DATA, handle(), 300), full.to_vec()].concat();
    for (frames, refused) in [
        (vec![(opcode::RC_SEND_MIDDLE, &full[..])], 0),
        (vec![(opcode::RC_SEND_LAST, &part[..])], 0),
        (vec![(opcode::RC_SEND_FIRST, &part[..])], 0),
        (vec![(opcode::RC_SEND_FIRST, &full[..]), (opcode::RC_SEND_FIRST, &full[..])], 1),
        (vec![(opcode::RC_SEND_FIRST, &full[..]), (opcode::RC_SEND_ONLY, &part[..])], 1),
        (vec![(opcode::RC_SEND_FIRST, &full[..]), (opcode::RC_WRITE_LAST, &part[..])], 1),
        (vec![(opcode::RC_SEND_FIRST, &full[..]), (opcode::RC_SEND_LAST, &[][..])], 1),
        (vec![(opcode::RC_WRITE_FIRST, &write[..]), (opcode::RC_WRITE_LAST, &full[..])], 1),
        (vec![(opcode::RC_WRITE_FIRST, &write[..]), (opcode::RC_WRITE_LAST, &full[..43])], 1),
    ] {
        let frames: Vec<Vec<u8>> =
            (0..).zip(&frames).map(|(ahead, (code, body))| frame_of(*code, ahead, false, body)).collect();
        assert_eq!(answers(&frames).0, invalid(refused));
    }
}

#[test]
fn responder_8_the_last_nak_is_repeated() {
    let wrong = frame_of(opcode::RC_SEND_LAST, 0, true, &[1; 4]);
    let later = frame_of(opcode::RC_SEND_ONLY, 7, true, &[1; 4]);
    assert_eq!(answers(&[wrong.clone(), later, wrong]).0, [(syndrome::NAK_INVALID, 0); 3]);
}

#[test]
fn responder_1_and_7_a_duplicate_is_acknowledged_with_the_newest_psn() {
    let frames = [(0, true), (1, false), (2, true), (0, false), (1, true)].map(|(ahead, ask)| {
        frame_of(
            [opcode::RC_SEND_FIRST, opcode::RC_SEND_MIDDLE, opcode::RC_SEND_MIDDLE][ahead as usize],
            ahead,
            ask,
            &[1; 256],
        )
    });
    let expected = [0, 2, 2, 2].map(|ahead| (syndrome::ACK, ahead));
    assert_eq!(answers(&frames).0, expected);
}

#[test]
fn responder_1_a_duplicate_read_is_answered_from_its_own_request() {
    let read = |ahead, at: u64, length| {
        frame_of(opcode::RC_READ_REQUEST, ahead, true, &reth(DATA + at, handle(), length))
    };
    // Three packets; then the last two of them; then three from the second on, which were never asked for.
    let frames = [read(0, 0, 600), read(1, 256, 344), read(1, 256, 600)];
    let (found, codes) = answers(&frames);
    let [first, middle, last] =
        [opcode::RC_READ_RESPONSE_FIRST, opcode::RC_READ_RESPONSE_MIDDLE, opcode::RC_READ_RESPONSE_LAST];
    assert_eq!(codes, [first, middle, last, first, last]);
    assert_eq!(found.iter().map(|(_, ahead)| *ahead).collect::<Vec<_>>(), [0, 1, 2, 1, 2]);
}

#[test]
fn requester_3_a_read_that_was_asked_for_again_takes_the_original_s_opcodes() {
    // Linux answers so. A asks for 1000 bytes; nobody answers but the test.
    let respond = |codes: [u8; 3], bench: &mut Bench| {
        for (n, code) in (1..).zip(codes) {
            let words = Bench::template(B, A);
            let mut template = [0; 64];
            for (bytes, word) in template.chunks_exact_mut(8).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
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

#[test]
fn wire_a_request_asks_for_an_acknowledgement_in_its_last_and_every_16th_packet() {
    let mut bench = pair(Level::reliable());
    bench.receive(B, &Descriptor::of(DATA, 40 * 256));
    bench.send(A, &Descriptor::of(DATA, 40 * 256));
    bench.settle();
    assert_eq!(bench.counter(1, counter::ACKS_SENT), 3);
    assert_eq!(bench.counter(0, counter::ACKS_RECEIVED), 3);
}
