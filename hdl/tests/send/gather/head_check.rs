//! The form of descriptors' first 64 bytes: whatever their words say, what is found in them is what is there.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::SendHead;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{HeadCheck, HeadFindings};
use viaduct_spec::descriptor::{control, control_segment, MAX_SEGMENTS};
use viaduct_verilate::Bench;

use crate::port;

/// A descriptor that may be good, or wrong in a bit or two.
fn words(rng: &mut ChaCha8Rng) -> [u64; 8] {
    let operation = *[control::OP_SENDRECV, control::OP_RDMAWRITE, control::OP_RDMAREAD].choose(rng).unwrap();
    let flags = operation | *[0, control::IMMEDIATE, control::QFENCE].choose(rng).unwrap();
    let count = *[0, 1, 1, 2, 2, 3, MAX_SEGMENTS as u64].choose(rng).unwrap();
    let length = rng.random_range(0..1 << 32);
    let mut words =
        [rng.random(), count << 32 | u64::from(flags) << 48 | rng.random_range(0..1 << 32), 0, 0, 0, 0, 0, 0];
    control_segment::IMMEDIATE.put(&mut words, rng.random_range(0..1 << 32));
    control_segment::LENGTH.put(&mut words, length);
    for segment in 0..2 {
        words[4 + 2 * segment] = rng.random();
        let bytes: u64 =
            if segment == 0 && operation != control::OP_SENDRECV { 0 } else { rng.random_range(0..1 << 32) };
        words[5 + 2 * segment] = bytes << 32 | rng.random_range(0..1 << 32);
    }
    for _ in 0..rng.random_range(0..3) {
        words[rng.random_range(1..8)] ^= 1 << rng.random_range(0..64);
    }
    words
}

/// What must be found in a descriptor of which so many words lie in its region.
fn findings(words: &[u64; 8], held: u64) -> port::Fields {
    let (count, flags) = (words[1] >> 32 & 0xffff, (words[1] >> 48) as u16);
    let operation = flags & control::OP_MASK;
    let rdma = operation != control::OP_SENDRECV;
    let needed = [4, 6, 8][count.min(2) as usize];
    let known = [control::OP_SENDRECV, control::OP_RDMAWRITE, control::OP_RDMAREAD].contains(&operation);
    let malformed = count > MAX_SEGMENTS as u64
        || flags & control::RESERVED > 0
        || !known
        || rdma && count == 0
        || words[2] as u32 != 0
        || words[3] >> 32 != 0
        || rdma && words[5] >> 32 != 0
        || held < needed;
    let first = if count > 0 && !rdma { words[5] >> 32 } else { 0 };
    let second = if count > 1 { words[7] >> 32 } else { 0 };
    port::fields(&[
        ("request.operation", (operation & 3).into()),
        ("request.fence", (flags & control::QFENCE > 0).into()),
        ("request.segments", count & 0xff),
        ("request.has_immediate", (flags & control::IMMEDIATE > 0).into()),
        ("length", words[3] & 0xffff_ffff),
        ("sum", first + second),
        ("malformed", malformed.into()),
    ])
}

/// Rule WQ-2: the form of the control segment and of the first two segments.
#[test]
fn what_is_found_is_what_the_words_say() {
    let mut bench = Bench::new("head_check", &verilog(HeadCheck::default()));
    let mut rng = crate::random(&bench);
    let (mut good, mut bad) = (0, 0);
    // What must be found in each slot that is full.
    let mut slots: [Option<port::Fields>; 8] = Default::default();
    for round in 0..4000 {
        let slot = round % 8;
        let words = words(&mut rng);
        let held = *[4, 5, 6, 7, 8, 8, 8, 8, 8, 8, rng.random_range(0..4)].choose(&mut rng).unwrap();
        let with_last = rng.random::<bool>();
        bench.set("written", slot as u64);
        for (number, word) in words.iter().enumerate() {
            bench.set("word_valid", 1);
            bench.set("word", *word);
            bench.set("number", number as u64);
            if number == 7 && with_last {
                port::set::<SendHead>(&mut bench, "head", &[("words", held)]);
                bench.set("head_valid", 1);
            }
            bench.tick();
            bench.set("word_valid", 0);
            bench.set("word", rng.random());
            if rng.random_ratio(1, 8) && number < 7 {
                bench.tick();
            }
        }
        if !with_last {
            port::set::<SendHead>(&mut bench, "head", &[("words", held)]);
            bench.set("head_valid", 1);
            bench.tick();
        }
        bench.set("head_valid", 0);
        port::set::<SendHead>(&mut bench, "head", &[("words", rng.random_range(0..9))]);
        // The next descriptor's first word may come at once.
        bench.set("written", (slot as u64 + 1) % 8);
        bench.set("word_valid", rng.random::<bool>().into());
        bench.set("number", 0);
        bench.tick();
        bench.set("word_valid", 0);
        let expected = findings(&words, held);
        if expected["malformed"] == 0 {
            good += 1;
        } else {
            bad += 1;
        }
        slots[slot] = Some(expected);
        for (at_hand, expected) in slots.iter().enumerate() {
            bench.set("at_hand", at_hand as u64);
            bench.eval();
            if let Some(expected) = expected {
                assert_eq!(
                    &port::get::<HeadFindings>(&bench, "found"),
                    expected,
                    "slot {at_hand}, round {round}"
                );
            }
        }
    }
    assert!(good > 500 && bad > 500, "{good} good ones and {bad} bad ones");
}
