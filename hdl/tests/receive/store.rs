//! Store: frames in, rolled back or kept; payload out, byte for byte.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::WriteBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::{Fate, PayloadPlace, Store};
use viaduct_verilate::Bench;

use super::shown::{decide, Info};
use crate::bundle::Bundle;

/// A frame that is kept, and what is to be seen of it.
#[derive(Clone)]
struct Kept {
    info: Info,
    payload: Vec<u8>,
}

/// Where the payload begins.
pub fn payload(info: &Info) -> usize {
    if info.raw {
        return 0;
    }
    54 + 4 * usize::from(info.extended) + 4 * usize::from(info.tagged) + 16 * usize::from(info.reth)
}

/// Has the payload of a frame shown. A frame's byte 0 lies in lane 2.
pub fn show_payload(bench: &mut Bench, info: &Info) {
    let (begin, words) = (payload(info) as u64 + 2, 2048);
    let fields = [("word", (info.start + begin / 8) % words), ("lane", begin % 8), ("length", info.length)];
    Bundle::of::<PayloadPlace>("place").set(bench, &fields);
    bench.set("place_valid", 1);
}

/// Gives a frame's place back.
pub fn free(bench: &mut Bench, place: u64) {
    bench.set("free", place);
    bench.set("free_valid", 1);
}

pub struct Rig {
    pub bench: Bench,
    random: ChaCha8Rng,
    kept: VecDeque<Kept>,
    serial: u64,
}

impl Rig {
    pub fn new() -> Self {
        let mut bench = Bench::new("store", &verilog(Store::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        bench.tick();
        Self { bench, random, kept: VecDeque::new(), serial: 0 }
    }

    fn idle(&mut self) {
        for name in
            ["store_valid", "keep", "drop", "show_decided", "free_valid", "place_valid", "payload_ready"]
        {
            self.bench.set(name, 0);
        }
    }

    /// A frame's bytes, and what is known of it.
    pub fn frame(&mut self, length: usize) -> (Vec<u8>, Info) {
        self.serial += 1;
        let psn = self.serial & 0xff_ffff;
        let mut info = Info { opcode: 4, psn, length: length as u64, ..Info::default() };
        info.raw = length >= 14 && self.random.random_ratio(1, 4);
        info.tagged = self.random.random();
        (info.extended, info.reth) =
            if info.raw { (false, false) } else { (self.random.random(), self.random.random()) };
        let mut bytes = vec![0; (payload(&info) + length + 4).div_ceil(8) * 8];
        self.random.fill(&mut bytes[..]);
        (bytes, info)
    }

    /// Writes a frame; false if it ran into a full ring and was dropped.
    pub fn write(&mut self, length: usize, keep: bool) -> bool {
        let (bytes, info) = self.frame(length);
        self.idle();
        for word in bytes.chunks(8) {
            let mut patience = 0;
            while self.bench.get("store_ready") == 0 {
                patience += 1;
                if patience > 10 {
                    return self.finish(false, &bytes, &info);
                }
                self.bench.tick();
            }
            self.bench.set("store_valid", 1);
            self.bench.set("store", u64::from_le_bytes(word.try_into().unwrap()));
            self.bench.tick();
            self.bench.set("store_valid", 0);
        }
        self.finish(keep, &bytes, &info)
    }

    pub fn finish(&mut self, keep: bool, bytes: &[u8], info: &Info) -> bool {
        self.bench.set(if keep { "keep" } else { "drop" }, 1);
        info.set(&mut self.bench, "keep_info");
        self.bench.tick();
        self.idle();
        if keep {
            let from = payload(info);
            let payload = bytes[from..from + info.length as usize].to_vec();
            self.kept.push_back(Kept { info: info.clone(), payload });
        }
        keep
    }

    /// Reads the oldest frame's payload, up to `limit` bytes, and frees it.
    fn read(&mut self, limit: usize, calm: bool) {
        let kept = self.kept.pop_front().unwrap();
        for _ in 0..3 {
            self.bench.eval();
            if self.bench.get("show_valid") == 1 {
                break;
            }
            self.bench.tick();
        }
        assert_eq!(self.bench.get("show_valid"), 1);
        let mut info = Info::get(&self.bench, "show_info");
        decide(&mut self.bench, Some(Fate::Taken));
        self.bench.tick();
        decide(&mut self.bench, None);
        let place = info.place;
        show_payload(&mut self.bench, &info);
        (info.start, info.place) = (0, 0);
        assert_eq!(info, kept.info);
        self.bench.tick();
        self.bench.set("place_valid", 0);
        let mut bytes: Vec<u8> = Vec::new();
        let mut cycles = 0;
        while bytes.len() < kept.payload.len().min(limit) {
            let ready = calm || self.random.random_ratio(1, 2);
            self.bench.set("payload_ready", ready.into());
            self.bench.eval();
            if ready && self.bench.get("payload_valid") == 1 {
                let beat = Bundle::of::<WriteBeat>("payload");
                let get = |name| beat.get(&self.bench, name);
                let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
                assert!(count >= 1 && start + count <= 8);
                bytes.extend(&data[start as usize..(start + count) as usize]);
            }
            self.bench.tick();
            cycles += 1;
            assert!(!calm || cycles <= kept.payload.len() / 8 + 5, "slower than a beat a cycle");
            assert!(cycles < 10_000, "no payload");
        }
        assert_eq!(bytes[..], kept.payload[..bytes.len()]);
        self.idle();
        if bytes.len() == kept.payload.len() {
            self.bench.eval();
            assert_eq!(self.bench.get("payload_valid"), 0, "payload behind the payload");
        }
        free(&mut self.bench, place);
        self.bench.tick();
        self.idle();
    }
}

#[test]
fn every_length_and_start() {
    let mut rig = Rig::new();
    for length in (0..40).chain([1024, 4095, 4096]) {
        for _ in 0..2 {
            assert!(rig.write(length, true));
            rig.read(usize::MAX, length % 2 == 0);
        }
    }
}

#[test]
fn a_frame_rolled_back_leaves_no_trace() {
    let mut rig = Rig::new();
    for _ in 0..300 {
        let length = rig.random.random_range(0..1000);
        let keep = rig.random.random();
        rig.write(length, keep);
        while rig.kept.len() > 3 {
            rig.read(usize::MAX, true);
        }
    }
    while !rig.kept.is_empty() {
        rig.read(usize::MAX, false);
    }
    // A cycle for the mark, one for the place, and `level` is one cycle late.
    (0..2).for_each(|_| rig.bench.tick());
    rig.bench.eval();
    assert_eq!((rig.bench.get("show_valid"), rig.bench.get("level")), (0, 0));
}

#[test]
fn a_full_ring_stops_the_words() {
    let mut rig = Rig::new();
    let mut frames = 0;
    while rig.write(4100, true) {
        frames += 1;
        assert!(frames < 10, "never full");
    }
    // Three frames of 513 to 523 words fit, the fourth not quite.
    assert_eq!(frames, 3);
    assert!(rig.bench.get("level") >= 1539);
    // Each frame that leaves makes room.
    for _ in 0..frames {
        rig.read(usize::MAX, false);
        rig.bench.tick();
        assert!(rig.write(3000, true));
    }
}

#[test]
fn sixteen_small_frames_are_many() {
    let mut rig = Rig::new();
    let mut frames = 0;
    while rig.write(8, true) {
        frames += 1;
        let level = rig.bench.get("level");
        assert!(frames < 10 || level == 2048, "level {level} after {frames} frames");
        assert!(frames > 8 || level < 2048, "level {level} after {frames} frames");
        assert!(frames <= 16);
    }
    assert!(frames >= 12, "{frames}");
    while !rig.kept.is_empty() {
        rig.read(usize::MAX, true);
    }
}

#[test]
fn payload_may_be_left_behind() {
    let mut rig = Rig::new();
    for _ in 0..200 {
        let length = rig.random.random_range(1..300);
        rig.write(length, true);
        if rig.random.random_ratio(1, 3) {
            rig.write(length / 2, true);
        }
        while let Some(kept) = rig.kept.front() {
            let limit = rig.random.random_range(0..=kept.payload.len());
            rig.read(limit, false);
        }
    }
}

/// The first word of a frame comes with the decision about the one before.
#[test]
fn frames_back_to_back() {
    let mut rig = Rig::new();
    let mut last: Option<(Vec<u8>, Info, bool)> = None;
    for _ in 0..300 {
        let length = rig.random.random_range(0..600);
        let (bytes, info) = rig.frame(length);
        for (n, word) in bytes.chunks(8).enumerate() {
            rig.bench.set("store_valid", 1);
            rig.bench.set("store", u64::from_le_bytes(word.try_into().unwrap()));
            match last.take() {
                Some((bytes, info, keep)) if n == 0 => assert_eq!(rig.finish(keep, &bytes, &info), keep),
                _ => rig.bench.tick(),
            }
            rig.idle();
        }
        last = Some((bytes, info, rig.random.random()));
        while rig.kept.len() > 2 {
            rig.read(usize::MAX, true);
        }
    }
    while !rig.kept.is_empty() {
        rig.read(usize::MAX, false);
    }
}
