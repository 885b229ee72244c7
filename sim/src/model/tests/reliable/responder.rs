//! The responder: packets that come twice, too early or out of place, and what it executes.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::counter;
use viaduct_spec::wire::{opcode, syndrome};

use super::by_hand::{answers, frame_of, reth};
use super::{pair, A, B, WRITE};
use crate::model::tests::bench::{handle, Descriptor, Level, DATA, SENT};

/// Rule RSP-1.
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

/// Rule WIRE-1.
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

/// Rule RSP-2.
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

/// Rule RSP-8.
#[test]
fn responder_8_the_last_nak_is_repeated() {
    let wrong = frame_of(opcode::RC_SEND_LAST, 0, true, &[1; 4]);
    let later = frame_of(opcode::RC_SEND_ONLY, 7, true, &[1; 4]);
    assert_eq!(answers(&[wrong.clone(), later, wrong]).0, [(syndrome::NAK_INVALID, 0); 3]);
}

/// Rules RSP-1 and RSP-7.
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

/// Rule RSP-1.
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
