//! Linux asks: its requests come to our NIC.

use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::control;
use viaduct_spec::wire::{opcode, syndrome, HEADER_BYTES as HEADERS};
use viaduct_tests::frame::{seal, Reading, BTH};
use viaduct_tests::guests::{assert_linux, sender};

use super::case::{closed, CASES};
use super::play::{Message, Play};
use super::stage::Stage;
use super::{BUFFER, BYTES};

/// Linux's requests to our NIC, one after the other; our answers.
fn ask(play: &Play) -> Vec<Vec<u8>> {
    let mut stage = Stage::new(play, 1);
    let takes = |message: &&Message| message.operation == control::OP_SENDRECV || message.immediate.is_some();
    let receives = play.messages.iter().filter(takes).count();
    let server = &stage.hosts[1];
    let bytes: Vec<u8> = (0..BYTES).map(|n| if n < 64 { 0 } else { 0xA0 + (n % 16) as u8 }).collect();
    server.memory.write(BUFFER, &bytes);
    let attributes = MemoryAttributes { tag: server.tag, rdma_write: true, rdma_read: true };
    let region = server.register_as(BUFFER, BYTES, attributes);
    // A receiver that was not ready becomes so after its last NAK.
    let is_rnr = |frame: &Vec<u8>| {
        let reading = Reading::of(frame);
        reading.opcode == opcode::RC_ACKNOWLEDGE && reading.body[0] >> 5 == syndrome::RNR_NAK >> 5
    };
    let ready = play.frames.iter().rposition(is_rnr).map_or(0, |last| last + 1);
    for (n, frame) in play.frames.iter().enumerate() {
        if n == ready {
            (0..receives).for_each(|_| stage.receive(play.case.room));
            stage.world.arrived(1);
        }
        if sender(&Reading::of(frame)) == 0 {
            stage.world.inject(1, &play.at_home(frame, &region));
            stage.world.settle();
        }
    }
    stage.world.check();
    stage.frames(1)
}

#[test]
fn linux_asks_and_our_answers_are_those_of_linux() {
    for case in CASES.into_iter().chain([closed()]) {
        let play = Play::of(case);
        let name = play.case.name;
        let (mut ours, theirs) = (ask(&play), Play::of_sender(&play.frames, 1));
        if play.case.refused.is_some() && play.case.terms.not_ready.is_none() {
            // Ours repeats what it said last; Linux is silent.
            let repeated = ours.split_off(theirs.len());
            let last = Reading::of(ours.last().expect("a refusal"));
            assert!(repeated.iter().all(|frame| Reading::of(frame) == last), "{name}");
        }
        println!("{name}: {} answers", ours.len());
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (n, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            let mut theirs = theirs.to_vec();
            if theirs[BTH] == opcode::RC_ACKNOWLEDGE && theirs[HEADERS] == syndrome::NAK_OPERATIONAL {
                assert_eq!(name, "rc_nak_invalid_toolong");
                theirs[HEADERS] = syndrome::NAK_INVALID;
                seal(&mut theirs);
            }
            if (name, n) == ("rc_drop_read_resp_last", 5) {
                assert_eq!(theirs[BTH], opcode::RC_READ_RESPONSE_LAST);
                theirs[BTH] = opcode::RC_READ_RESPONSE_ONLY;
                seal(&mut theirs);
            }
            assert_linux(ours, &theirs, &format!("{name}: answer {n}"));
        }
    }
}
