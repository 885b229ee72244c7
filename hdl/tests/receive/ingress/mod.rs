//! Ingress: nothing lost that found room, nothing half kept, loopback between frames, tags gone.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::{export::verilog, receive::Ingress};
use viaduct_verilate::Bench;

use super::shown::{beats, Beat};

mod pause;
mod room;

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
        let given = if mac { self.mac.pop_front() } else { None };
        self.cycle(given, loopback, ready)
    }

    /// One cycle with this beat of the MAC's, loopback frames offered or not, and the way out open or not; whether a beat left.
    fn cycle(&mut self, given: Option<Beat>, loopback: bool, ready: bool) -> bool {
        let bench = &mut self.bench;
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

    /// The same at full rate.
    fn drain_all(&mut self) {
        self.rates = [100, 100, 100];
        self.drain();
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
    while !rig.mac.is_empty() || !rig.loopback.is_empty() {
        rig.rates[0] = if rig.bench.get("pause") == 1 { 0 } else { 100 };
        rig.step();
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

/// Rule FRAME-1.
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
