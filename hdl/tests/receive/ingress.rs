//! Ingress: nothing lost that found room, nothing half kept, loopback between frames, tags gone.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::{export::verilog, receive::Ingress};
use viaduct_verilate::Bench;

use super::shown::{beats, Beat};

struct Rig {
    bench: Bench,
    random: ChaCha8Rng,
    mac: VecDeque<Beat>,
    loopback: VecDeque<Beat>,
    out: Vec<(Vec<u8>, bool)>,
    partial: Vec<u8>,
    /// The words beside the frames, and where each frame's ended.
    words: VecDeque<u8>,
    tagged: Vec<bool>,
    frames: usize,
    overflows: usize,
    /// Highest `level` of the store that is told, and chances in percent: MAC, loopback, way out.
    rates: [u32; 3],
}

impl Rig {
    fn new() -> Self {
        let mut bench = Bench::new("ingress", &verilog(Ingress::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        bench.set("enabled", 1);
        let (mac, loopback) = (VecDeque::new(), VecDeque::new());
        let (out, partial) = (Vec::new(), Vec::new());
        let (words, tagged) = (VecDeque::new(), Vec::new());
        Self {
            bench,
            random,
            mac,
            loopback,
            out,
            partial,
            words,
            tagged,
            frames: 0,
            overflows: 0,
            rates: [60, 60, 80],
        }
    }

    /// One cycle; whether a beat left.
    fn step(&mut self) -> bool {
        let [mac, loopback, ready] = self.rates.map(|rate| self.random.random_ratio(rate, 100));
        let bench = &mut self.bench;
        let given = if mac { self.mac.pop_front() } else { None };
        bench.set("rx_valid", given.is_some().into());
        if let Some(beat) = given {
            beat.set(bench, "rx");
        }
        let offered = loopback && !self.loopback.is_empty();
        bench.set("loopback_valid", offered.into());
        if let Some(beat) = self.loopback.front() {
            beat.set(bench, "loopback");
        }
        bench.set("frame_ready", ready.into());
        bench.eval();
        if offered && bench.get("loopback_ready") == 1 {
            self.loopback.pop_front();
        }
        let left = ready && bench.get("frame_valid") == 1;
        if left {
            let beat = Beat::get(bench, "frame");
            assert!((1..=8).contains(&beat.count) && (beat.count == 8 || beat.last), "{beat:?}");
            assert!(beat.last || !beat.bad);
            self.partial.extend(&beat.data.to_le_bytes()[..beat.count as usize]);
            if beat.last {
                self.tagged.push(bench.get("frame_tagged") == 1);
                self.out.push((std::mem::take(&mut self.partial), beat.bad));
            }
        }
        if bench.get("word_valid") == 1 {
            self.words.extend(bench.get("word").to_le_bytes());
        }
        self.frames += bench.get("count_frame") as usize;
        self.overflows += bench.get("count_overflow") as usize;
        bench.tick();
        left
    }

    /// Runs until nothing is left, and a while longer.
    fn drain(&mut self) {
        let mut idle = 0;
        while idle < 20 {
            let left = self.step();
            let empty = self.mac.is_empty() && self.loopback.is_empty();
            idle = if left || !empty { 0 } else { idle + 1 };
        }
    }

    fn frame(&mut self, length: usize) -> Vec<u8> {
        let mut frame: Vec<u8> = (0..length).map(|_| self.random.random()).collect();
        if length > 14 {
            // Not a tag by chance.
            frame[12] = 0x08;
        }
        frame
    }
}

/// What a frame looks like behind the block.
fn untagged(frame: &[u8]) -> Vec<u8> {
    if frame.len() > 16 && frame[12..14] == [0x81, 0] {
        return [&frame[..12], &frame[16..]].concat();
    }
    frame.to_vec()
}

#[test]
fn frames_of_both_sides_come_whole_and_in_order() {
    let mut rig = Rig::new();
    let (mut mac, mut loopback) = (Vec::new(), Vec::new());
    for n in 0..400 {
        let length =
            if n % 10 == 0 { rig.random.random_range(1..1600) } else { rig.random.random_range(1..120) };
        let mut frame = rig.frame(length);
        if length > 17 && rig.random.random_ratio(1, 2) {
            frame[12..14].copy_from_slice(&[0x81, 0]);
        }
        let bad = rig.random.random_ratio(1, 10);
        if n % 3 == 0 {
            rig.loopback.extend(beats(&frame, bad));
            loopback.push((frame, bad));
        } else {
            rig.mac.extend(beats(&frame, bad));
            mac.push((frame, bad));
        }
    }
    // The MAC is slower than the way out, so that nothing overflows.
    rig.rates = [30, 50, 95];
    rig.drain();
    assert_eq!(rig.overflows, 0);
    assert_eq!(rig.frames, 400);
    let (mut mac, mut loopback) = (mac.into_iter().peekable(), loopback.into_iter().peekable());
    for (found, tagged) in std::mem::take(&mut rig.out).into_iter().zip(&rig.tagged) {
        let shown = |(frame, bad): &(Vec<u8>, bool)| (untagged(frame), *bad) == found;
        let next = if mac.peek().is_some_and(shown) { mac.next() } else { loopback.next() };
        let (frame, bad) = next.expect("a frame of one side");
        assert_eq!((untagged(&frame), bad), found, "neither side's next frame");
        assert_eq!(frame.len() != found.0.len(), *tagged);
        // Beside it, as it came.
        let words: Vec<u8> = rig.words.drain(..frame.len().next_multiple_of(8)).collect();
        assert_eq!(words[..frame.len()], frame);
    }
    assert!(rig.words.is_empty());
    assert!(mac.next().is_none() && loopback.next().is_none());
}

#[test]
fn both_sides_take_turns() {
    let mut rig = Rig::new();
    rig.rates = [100, 100, 100];
    for n in 0..40u8 {
        rig.mac.extend(beats(&[n; 64], false));
        rig.loopback.extend(beats(&[n | 0x80; 64], false));
    }
    rig.drain();
    let sides: Vec<bool> = rig.out.iter().map(|(frame, _)| frame[0] & 0x80 != 0).collect();
    assert_eq!(sides.len(), 80);
    assert!(sides[2..76].windows(3).all(|w| w.contains(&true) && w.contains(&false)), "{sides:?}");
}

#[test]
fn full_rate_without_a_gap() {
    let mut rig = Rig::new();
    rig.rates = [100, 100, 100];
    for _ in 0..30 {
        let mut frame = rig.frame(68);
        frame[12..14].copy_from_slice(&[0x81, 0]);
        rig.mac.extend(beats(&frame, false));
    }
    let mut cycles = 0;
    while rig.out.len() < 30 {
        rig.step();
        cycles += 1;
        assert!(cycles < 30 * 9 + 20, "a pause between frames");
    }
    assert_eq!(rig.overflows, 0);
}

#[test]
fn what_finds_no_room_is_dropped_whole() {
    let mut rig = Rig::new();
    let mut sent = Vec::new();
    for n in 0..60u8 {
        let mut frame = vec![n; rig.random.random_range(60..1500)];
        frame[12] = 8;
        rig.mac.extend(beats(&frame, false));
        sent.push(frame);
    }
    // Nothing leaves at first.
    rig.rates = [100, 0, 0];
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.rates = [100, 0, 100];
    rig.drain();
    assert_eq!(rig.frames + rig.overflows, 60);
    assert!(rig.frames > 3 && rig.overflows > 10, "{} kept, {} dropped", rig.frames, rig.overflows);
    assert_eq!(rig.out.len(), rig.frames);
    let mut sent = sent.into_iter();
    for (frame, _) in &rig.out {
        assert!(sent.any(|s| s == *frame), "a frame that nobody sent, or out of order");
    }
    // Room again: the next one passes.
    let before = rig.frames;
    rig.mac.extend(beats(&vec![8; 500 * 8], false));
    rig.rates = [100, 0, 0];
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.rates = [0, 0, 100];
    rig.drain();
    assert_eq!(rig.frames - before, 1);
    assert_eq!(rig.out.last().unwrap().0.len(), 500 * 8);
}

#[test]
fn a_frame_that_has_begun_to_leave_is_cut_where_it_finds_no_room() {
    let mut rig = Rig::new();
    // Its first beats stand in the registers behind the queue.
    rig.rates = [100, 0, 0];
    rig.mac.extend(beats(&vec![1; 600 * 8], false));
    rig.mac.extend(beats(&[2; 64], false));
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.drain_all();
    rig.mac.extend(beats(&[3; 64], false));
    rig.drain();
    // The one behind it found no room, not even one beat.
    assert_eq!((rig.frames, rig.overflows), (2, 1));
    let cut = rig.out.remove(0);
    assert!(cut.1 && cut.0.len() > 511 * 8 && cut.0.len() < 520 * 8, "{}", cut.0.len());
    assert!(cut.0.iter().all(|byte| *byte == 1));
    assert_eq!(rig.out, [(vec![3; 64], false)]);
    // While it drains there is no end of it, and all of a longer one passes.
    rig.mac.extend(beats(&vec![4; 2000 * 8], false));
    rig.drain();
    assert_eq!(rig.out[1], (vec![4; 2000 * 8], false));
    assert_eq!((rig.frames, rig.overflows), (3, 1));
}

#[test]
fn a_full_queue_is_used_to_the_last_beat() {
    let mut rig = Rig::new();
    rig.rates = [100, 0, 0];
    // Three beats stand in the registers behind the queue.
    for length in [3, 255, 256, 1] {
        rig.mac.extend(beats(&vec![5; length * 8], false));
    }
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.drain_all();
    assert_eq!((rig.frames, rig.overflows), (3, 1));
}

#[test]
fn storms_of_frames_cut_or_dropped_leave_no_other_damaged() {
    let mut rig = Rig::new();
    let (mut sent, mut cut) = (Vec::new(), 0);
    for round in 0..60u8 {
        rig.drain_all();
        for n in 0..8 {
            // One that can be cut is longer than the queue, and has begun to leave.
            let length = if n == 0 && round % 2 == 0 { 16_000 } else { rig.random.random_range(60..4200) };
            let mut frame = vec![round; length];
            frame[..4].copy_from_slice(&u32::try_from(sent.len()).unwrap().to_le_bytes());
            rig.mac.extend(beats(&frame, false));
            rig.loopback.extend(beats(&frame, false));
            sent.push(frame);
        }
        let rates = &mut rig.random;
        rig.rates = [100, rates.random_range(0..50), [5, 30, 60][rates.random_range(0..3)]];
        while !rig.mac.is_empty() {
            rig.step();
        }
    }
    rig.drain_all();
    for (frame, bad) in &rig.out {
        let n = u32::from_le_bytes(frame[..4].try_into().unwrap()) as usize;
        assert_eq!(frame[..], sent[n][..frame.len()]);
        assert!(*bad || frame.len() == sent[n].len());
        cut += usize::from(*bad);
    }
    assert_eq!(rig.out.len(), rig.frames);
    assert_eq!(rig.frames + rig.overflows, 2 * sent.len());
    assert!(rig.overflows > 50 && cut > 5, "{} dropped, {cut} cut", rig.overflows);
}

impl Rig {
    fn drain_all(&mut self) {
        self.rates = [100, 100, 100];
        self.drain();
    }
}

#[test]
fn disabled_swallows_whole_frames() {
    let mut rig = Rig::new();
    rig.rates = [100, 100, 100];
    for n in 0..50u8 {
        rig.mac.extend(beats(&[n; 80], false));
        rig.loopback.extend(beats(&[n | 0x80; 80], false));
    }
    for n in 0..1500 {
        rig.bench.set("enabled", (n / 37 % 2 == 0).into());
        rig.step();
    }
    rig.drain();
    assert!(rig.mac.is_empty() && rig.loopback.is_empty());
    assert!(rig.out.len() > 20 && rig.out.len() < 90, "{}", rig.out.len());
    assert_eq!(rig.out.len(), rig.frames);
    assert!(rig.out.iter().all(|(frame, _)| frame.len() == 80 && frame.iter().all(|b| *b == frame[0])));
}

#[test]
fn pause_leaves_room_for_two_frames() {
    let mut rig = Rig::new();
    // The store's level at which pause comes with an empty queue; and here, beat by beat.
    let mut at = |store: u64| {
        rig.bench.set("store_level", store);
        rig.step();
        rig.step();
        rig.bench.get("pause") == 1
    };
    assert!(!at(0) && !at(1486) && at(1487) && at(2048) && !at(1486));
    rig.rates = [100, 0, 0];
    let mut given = 0;
    while rig.bench.get("pause") == 0 {
        rig.mac.extend(beats(&[1; 8], false));
        rig.step();
        given += 1;
        assert!(given < 50);
    }
    // Two frames of 4.2 KB more: what does not fit here finds room in the store, which has 48 words.
    let more = 2 * 4200 / 8;
    assert!(given + more <= 1023 + 48, "pause after {given} beats");
    // While it is high, no loopback frame starts. Enough beats that those in the registers behind the queue do not matter.
    for _ in 0..8 {
        rig.mac.extend(beats(&[1; 8], false));
        rig.step();
    }
    rig.loopback.extend(beats(&[2; 64], false));
    rig.rates = [0, 100, 0];
    for _ in 0..50 {
        rig.step();
    }
    // Two beats of it stand in the register in front.
    assert_eq!(rig.loopback.len(), 6);
    rig.bench.set("store_level", 0);
    rig.drain_all();
    assert!(rig.loopback.is_empty());
}
