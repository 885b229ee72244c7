//! Linux answers: our NIC posts what its client had posted.

use std::collections::BTreeMap;

use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::{seal, Reading, BTH};
use viaduct_tests::guests::{assert_linux, sender};
use viaduct_tests::raw::{Completion, Descriptor};

use super::case::{closed, CASES};
use super::part::reth;
use super::play::{Message, Play};
use super::stage::Stage;
use super::LATE;

/// The packets that a frame of the client's stands for: a read's request, for all of its answer.
fn covers(play: &Play, frame: &Reading, psn: u32) -> bool {
    let place = play.place(frame.psn);
    let behind = match frame.opcode {
        opcode::RC_READ_REQUEST => {
            let (_, _, bytes) = reth(&frame.body);
            place + (bytes.div_ceil(play.case.mtu as usize) as u32).max(1)
        }
        _ => place + 1,
    };
    (place..behind).contains(&play.place(psn))
}

/// Our NIC posts Linux's messages, and gets Linux's answers; what it sent.
fn answer(play: &Play) -> Vec<Vec<u8>> {
    let mut stage = Stage::new(play, 0);
    let name = play.case.name;
    let answers: Vec<(usize, Reading)> = play
        .frames
        .iter()
        .map(|frame| Reading::of(frame))
        .enumerate()
        .filter(|(_, reading)| sender(reading) == 1)
        .collect();
    let times = |frames: &[Reading], psn| frames.iter().filter(|frame| covers(play, frame, psn)).count();
    let client_before = |n: usize| -> Vec<Reading> {
        let before = play.frames[..n].iter().map(|frame| Reading::of(frame));
        before.filter(|reading| sender(reading) == 0).collect()
    };
    let pipelined = name == "rc_pipelined";
    let mut answers = answers.iter().enumerate().peekable();
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut free = 0;
    for (number, message) in play.messages.iter().enumerate() {
        // Data from the start of the memory, answers behind it.
        let length = message.remote.map_or(message.data.len(), |(_, _, bytes)| bytes);
        let [client, _] = &mut stage.hosts;
        client.memory.write(free, &message.data);
        let mut descriptor = Descriptor::of(client, free, length);
        if let Some((address, key, _)) = message.remote {
            descriptor = descriptor.write_to(address, key);
            descriptor.control = message.operation;
        }
        descriptor = message.immediate.into_iter().fold(descriptor, Descriptor::immediate);
        places.push((stage.vi.send(client, &descriptor), free));
        free += length.next_multiple_of(64);
        if pipelined && number + 1 < play.messages.len() {
            continue;
        }
        // The answers, each when what it answers is out as often as it was.
        let last = play.place(message.psn) + message.packets - 1;
        while let Some((index, (n, reading))) =
            answers.next_if(|(_, (_, reading))| play.place(reading.psn) <= last)
        {
            let needed = times(&client_before(*n), reading.psn).max(1);
            let limit =
                stage.world.now() + if play.case.terms.not_ready.is_some() { 12_000_000 } else { LATE };
            let mut read = usize::MAX;
            let mut sent = 0;
            while sent < needed && stage.world.now() < limit {
                if stage.tape.bytes() == read {
                    stage.world.run(500);
                    continue;
                }
                read = stage.tape.bytes();
                let frames: Vec<Reading> = stage.frames(0).iter().map(|frame| Reading::of(frame)).collect();
                sent = times(&frames, reading.psn);
            }
            if !play.case.lost.contains(&index) {
                stage.world.inject(0, &play.frames[*n]);
                stage.world.run(200);
            }
        }
        let done = number + 1 == play.messages.len();
        let expected = play.case.refused.filter(|_| done).unwrap_or(0);
        let range = if pipelined { 0..=number } else { number..=number };
        for (message, (place, at)) in
            play.messages.iter().zip(&places).skip(*range.start()).take(range.count())
        {
            let completion = stage.world.complete(&stage.hosts[0], *place);
            let (operation, bytes) = match message.operation {
                control::OP_RDMAREAD => (status::OP_RDMA_READ, read_by_linux(play, message)),
                control::OP_RDMAWRITE => (status::OP_RDMA_WRITE, message.data.clone()),
                _ => (status::OP_SEND, message.data.clone()),
            };
            let length = if expected == 0 { bytes.len() as u32 } else { 0 };
            let wanted = Completion {
                status: status::DONE | operation | expected,
                length,
                immediate: message.immediate.unwrap_or(0),
            };
            assert_eq!(completion, wanted, "{name}: message {:#x}", message.psn);
            if expected == 0 {
                assert!(stage.hosts[0].memory.read(*at, bytes.len()) == bytes, "{name}: {:#x}", message.psn);
            }
        }
    }
    stage.world.settle();
    let state = if play.case.refused.is_some() { ViState::Error } else { ViState::Connected };
    assert_eq!(stage.vi.state(), state, "{name}");
    stage.world.check();
    stage.frames(0)
}

/// What Linux's server answered to a read.
fn read_by_linux(play: &Play, message: &Message) -> Vec<u8> {
    let (_, _, bytes) = message.remote.expect("a read");
    let first = play.place(message.psn);
    let mut parts: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for reading in play.frames.iter().map(|frame| Reading::of(frame)).filter(|reading| sender(reading) == 1) {
        let place = play.place(reading.psn);
        let header = match reading.opcode {
            opcode::RC_READ_RESPONSE_MIDDLE => 0,
            opcode::RC_READ_RESPONSE_FIRST..=opcode::RC_READ_RESPONSE_ONLY => 4,
            _ => continue,
        };
        if (first..first + message.packets).contains(&place) {
            parts.insert(place, reading.body[header..].to_vec());
        }
    }
    let data = parts.into_values().flatten().collect::<Vec<u8>>();
    assert!(data.len() == bytes || play.case.refused.is_some());
    data
}

/// The first request of each PSN, counted from the first one.
fn firsts<'a>(play: &Play, frames: impl Iterator<Item = &'a [u8]>) -> BTreeMap<u32, Vec<u8>> {
    let mut firsts = BTreeMap::new();
    for frame in frames {
        let mut frame = frame.to_vec();
        // Solicited events are not VIA's.
        frame[BTH + 1] &= 0x7F;
        seal(&mut frame);
        firsts.entry(play.place(Reading::of(&frame).psn)).or_insert(frame);
    }
    firsts
}

#[test]
fn linux_answers_and_our_requests_are_those_of_linux() {
    for case in CASES.into_iter().chain([closed()]) {
        let play = Play::of(case);
        let name = play.case.name;
        let (ours, theirs) = (answer(&play), Play::of_sender(&play.frames, 0));
        println!(
            "{name}: {} messages, {} requests, {} of Linux",
            play.messages.len(),
            ours.len(),
            theirs.len()
        );
        if !play.case.lossy {
            assert_eq!(ours.len(), theirs.len(), "{name}");
            for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                let mut theirs = theirs.to_vec();
                // Solicited events are not VIA's.
                theirs[BTH + 1] &= 0x7F;
                seal(&mut theirs);
                assert_linux(ours, &theirs, &format!("{name}: request {n}"));
            }
        }
        if play.case.lossy {
            // What was lost, and when, is not the same: so the same packet comes at other times, and how often. But each has the same bytes.
            let (ours, theirs) =
                (firsts(&play, ours.iter().map(|frame| &frame[..])), firsts(&play, theirs.iter().copied()));
            let places = |frames: &BTreeMap<u32, Vec<u8>>| frames.keys().copied().collect::<Vec<_>>();
            assert_eq!(places(&ours), places(&theirs), "{name}");
            for (place, ours) in &ours {
                assert_linux(ours, &theirs[place], &format!("{name}: packet {place}"));
            }
        }
        if name == "rc_drop_read_resp_last" {
            // The rest of the read, asked for as Linux did: its PSN, address and length.
            let again = theirs[1];
            let found = ours.iter().find(|frame| Reading::of(frame) == Reading::of(again));
            assert_linux(found.expect("the read is asked for again"), again, name);
        }
    }
}
