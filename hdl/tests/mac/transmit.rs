//! The way out: preamble, padding, FCS, gap, and what is spoiled.

use rand::Rng;
use viaduct_hdl::mac::{counter, LONGEST};

use super::frames::{length, padded, random};
use super::world::{World, NOMINAL};

#[test]
fn frames_of_every_length_go_padded_and_summed_at_the_line_s_rate() {
    let mut world = World::new("transmit lengths", [NOMINAL; 3]);
    let mut expected = Vec::new();
    for bytes in (1..=76).chain([1514, 1518, 4178, LONGEST as usize, 9000]) {
        let frame = random(&mut world.random, bytes);
        world.give(&frame, false);
        expected.push(padded(&frame));
    }
    world.drain();
    assert_eq!(world.sent.len(), expected.len());
    for (n, (sent, frame)) in world.sent.iter().zip(&expected).enumerate() {
        assert!(sent.good && !sent.error && sent.frame == *frame, "frame {n} of {} bytes", frame.len());
        // Back to back: the gap is the standard's, and no byte time more.
        assert!(n == 0 || sent.gap == 12, "a gap of {}", sent.gap);
    }
    assert_eq!(world.counter(counter::SENT), expected.len() as u64);
    assert_eq!(world.counter(counter::SPOILED), 0);
}

#[test]
fn any_drift_between_core_and_line_is_bridged() {
    for (core, tx) in [(800u64, -800i64), (0, 800), (24_000_000, 0)] {
        let mut world =
            World::new("transmit drift", [NOMINAL + core, NOMINAL.wrapping_add_signed(tx), NOMINAL]);
        let mut expected = Vec::new();
        for n in 0..30 {
            let bytes = if n % 8 == 7 { LONGEST as usize } else { length(&mut world.random, 1518) };
            let frame = random(&mut world.random, bytes);
            world.give(&frame, false);
            expected.push(frame);
        }
        world.drain();
        assert!(world.sent.iter().all(|sent| sent.good && !sent.error && sent.gap >= 12));
        assert!(world.sent.iter().map(|sent| &sent.frame).eq(&expected), "core {core}, transmit {tx}");
    }
}

#[test]
fn random_frames_with_pauses_between_beats() {
    let mut world = World::new("transmit random", [NOMINAL, NOMINAL + 800, NOMINAL]);
    // A beat every other cycle or so: far more than the line takes.
    world.rate = 50;
    let mut expected = Vec::new();
    for _ in 0..200 {
        let bytes = length(&mut world.random, 2000);
        let frame = random(&mut world.random, bytes);
        world.give(&frame, false);
        expected.push(frame);
        if world.random.random_ratio(1, 4) {
            world.drain();
        }
    }
    world.drain();
    assert!(world.sent.iter().all(|sent| sent.good && sent.gap >= 12));
    assert!(world.sent.iter().map(|sent| &sent.frame).eq(&expected));
}

#[test]
fn a_frame_that_the_core_calls_bad_arrives_damaged() {
    let mut world = World::new("transmit bad", [NOMINAL; 3]);
    let frame = random(&mut world.random, 100);
    for bad in [false, true, false] {
        world.give(&frame, bad);
    }
    world.drain();
    let good: Vec<_> = world.sent.iter().map(|sent| (sent.good, sent.error)).collect();
    assert_eq!(good, [(true, false), (false, true), (true, false)]);
    assert!(world.sent.iter().all(|sent| sent.frame == frame));
    assert_eq!([counter::SENT, counter::SPOILED].map(|row| world.counter(row)), [2, 1]);
}

#[test]
fn a_core_that_is_too_slow_spoils_one_frame_and_no_other() {
    let mut world = World::new("transmit starved", [NOMINAL; 3]);
    let frame = random(&mut world.random, 400);
    for stop in [8, 64, 80, 160] {
        world.sent.clear();
        world.give(&frame, false);
        let rest = world.beats.split_off(stop / 8);
        world.run(600 * NOMINAL);
        world.beats.extend(rest);
        world.give(&frame, false);
        world.drain();
        assert_eq!(world.sent.len(), 2);
        assert!(!world.sent[0].good && world.sent[0].error);
        assert!(world.sent[0].frame.len() >= stop && frame.starts_with(&world.sent[0].frame));
        assert!(world.sent[1].good && world.sent[1].frame == frame, "the next one is whole");
    }
    assert_eq!([counter::SENT, counter::SPOILED].map(|row| world.counter(row)), [4, 4]);
}

#[test]
fn what_is_sent_can_be_received() {
    // The PHY turns the line round: our own frames come back by another clock.
    let mut world = World::new("loopback", [NOMINAL, NOMINAL + 800, NOMINAL - 800]);
    let mut expected = Vec::new();
    for _ in 0..60 {
        let bytes = length(&mut world.random, LONGEST as usize);
        let frame = random(&mut world.random, bytes);
        world.give(&frame, false);
        expected.push((frame, true));
    }
    let mut turned = 0;
    while turned < expected.len() {
        world.run(200 * NOMINAL);
        while let Some(sent) = world.sent.get(turned) {
            let bytes = sent.wire.clone();
            world.put(&bytes, 12);
            turned += 1;
        }
    }
    world.drain();
    assert!(world.received == expected, "{} frames", world.received.len());
}
