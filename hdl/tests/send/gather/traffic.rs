//! Descriptors through gather, and everything that comes out compared.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{client, Access, Packet, PayloadWord, ReadBeat, SendHead, Whole};

use super::descriptor::{Descriptor, Made};
use super::expected::{Announced, Expectation};
use super::memory::Memory;
use super::{Context, Setup};
use crate::port::{self, Fields};

fn compare(got: &Fields, expected: &Fields, what: &str) {
    for (name, value) in expected {
        assert_eq!(got[name], *value, "{what}: field {name}; expected {expected:x?}, got {got:x?}");
    }
}

/// Sends `messages` descriptors through and checks every access, packet and payload word. Returns the cycles taken.
pub fn run(
    setup: &mut Setup,
    messages: usize,
    wrong: bool,
    eager: bool,
    mut make: impl FnMut(&mut ChaCha8Rng, &[Context], bool) -> Made,
) -> u64 {
    let Setup { bench, rng, contexts, replies, transmit_takes_after } = setup;
    let mut expected = Expectation::default();
    let mut memory = Memory { beats: VecDeque::new() };
    let mut descriptors: VecDeque<Descriptor> = VecDeque::new();
    for _ in 0..messages {
        let made = make(rng, contexts, wrong);
        expected.of(&made, &contexts[made.0.head["vi"] as usize]);
        descriptors.push_back(made.0);
    }
    let Expectation { mut accesses, mut packets } = expected;
    let (mut room, mut word) = (8, 0);
    let mut reading: Option<(Announced, Vec<u8>)> = None;
    let start = bench.cycles();
    let mut quiet = 0;
    while !(packets.is_empty()
        && reading.is_none()
        && accesses.is_empty()
        && descriptors.is_empty()
        && replies.is_empty())
    {
        let now = bench.cycles();
        // Descriptors in.
        bench.set("word_valid", 0);
        bench.set("head_valid", 0);
        if let Some(next) = descriptors.front() {
            if room > 0 && (eager || rng.random_bool(0.7)) {
                if word < 8 {
                    bench.set("word_valid", 1);
                    bench
                        .set("word", next.words.get(word).copied().filter(|_| word < next.held).unwrap_or(0));
                    word += 1;
                }
                if word == 8 && (eager || rng.random()) {
                    port::set_all::<SendHead>(bench, "head", &next.head);
                    bench.set("head_valid", 1);
                    descriptors.pop_front();
                    word = 0;
                    room -= 1;
                }
            }
        }
        replies.offer(bench, eager || rng.random_bool(0.1));
        // Answers, mixed with those of others.
        bench.set("beat_valid", 0);
        match memory.beats.front() {
            Some(beat) if beat.at <= now && (eager || rng.random_bool(0.8)) => {
                port::set::<ReadBeat>(bench, "beat", &beat.fields);
                bench.set("beat_valid", 1);
                memory.beats.pop_front();
            }
            _ => {
                let other = *[client::FETCH, client::SCATTER, client::COMPLETE].choose(rng).unwrap();
                let noise =
                    [("client", other), ("data", rng.random()), ("count", 8), ("user", 2), ("last", 1)];
                port::set::<ReadBeat>(bench, "beat", &noise);
                bench.set("beat_valid", rng.random_bool(0.3).into());
            }
        }
        bench.set("access_ready", (eager || rng.random_bool(0.6)).into());
        let transmit_takes = now - start >= *transmit_takes_after;
        let wants_packet = transmit_takes && reading.is_none() && (eager || rng.random_bool(0.3));
        bench.set("packet_ready", 0);
        bench.set("whole_ready", 0);
        bench.set("payload_ready", 0);
        bench.eval();
        // A packet is taken together with its whole token, as transmit does.
        if wants_packet && bench.get("packet_valid") == 1 {
            let got = port::get::<Packet>(bench, "packet");
            let has_payload = got["send"] == 1 && got["length"] > 0;
            if !has_payload || bench.get("whole_valid") == 1 {
                let due = if got["reply"] == 1 { &mut replies.packets } else { &mut packets };
                let expected = due.pop_front().expect("a packet nobody expects");
                compare(&got, &expected.fields, "packet");
                bench.set("packet_ready", 1);
                quiet = 0;
                if has_payload {
                    bench.set("whole_ready", 1);
                    let whole = port::get::<Whole>(bench, "whole");
                    assert_eq!(whole["refused"] == 1, expected.refused);
                    assert_eq!(whole["failed"] == 1, expected.failed);
                    reading = Some((expected, vec![]));
                }
            }
        } else if let Some((expected, bytes)) = &mut reading {
            if bench.get("payload_valid") == 1 && (eager || rng.random_bool(0.8)) {
                bench.set("payload_ready", 1);
                let word = port::get::<PayloadWord>(bench, "payload");
                bytes.extend(word["data"].to_le_bytes());
                quiet = 0;
                let bad = expected.refused || expected.failed;
                let whole = bytes.len() >= expected.payload.len();
                if word["last"] == 1 {
                    assert!(bad || whole, "a packet ends early");
                    if !bad {
                        expected.payload.resize(bytes.len(), 0);
                        assert_eq!(*bytes, expected.payload);
                    }
                    reading = None;
                } else {
                    assert!(!whole, "a packet does not end");
                }
            }
        }
        bench.eval();
        if bench.get("access_valid") == 1 && bench.get("access_ready") == 1 {
            let got = port::get::<Access>(bench, "access");
            let due = if got["remote"] == 0 { &mut accesses } else { &mut replies.accesses };
            let expected = due.pop_front().expect("an access nobody expects");
            compare(&got, &expected.fields, "access");
            let late = if eager { 100 } else { rng.random_range(5..300) };
            let at = memory.beats.back().map_or(0, |beat| beat.at).max(now + late);
            memory.answer(&expected, &got, at, rng);
            quiet = 0;
        }
        if bench.get("head_taken") == 1 {
            room += 1;
        }
        replies.made(bench);
        bench.tick();
        quiet += 1;
        assert!(quiet < 5000, "gather stands still");
    }
    let cycles = bench.cycles() - start;
    for port in ["word_valid", "head_valid", "beat_valid", "reply_valid"] {
        bench.set(port, 0);
    }
    for _ in 0..8 {
        bench.tick();
        assert_eq!(bench.get("packet_valid") | bench.get("payload_valid") | bench.get("whole_valid"), 0);
    }
    assert_eq!(bench.get("busy"), 0, "room was not given back");
    cycles
}
