//! The payload queue: what is granted of each frame goes to the write engine, byte for byte and in order, and each frame's place comes
//! back when its last granted byte has left the store.

mod frame_store;
mod mover;

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::WriteBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::PayloadQueue;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
use crate::shown::Info;
use crate::store::payload;
use frame_store::FrameStore;

/// A frame whose delivery has begun.
struct Delivered {
    place: u64,
    /// Bytes of all frames that are granted when it is released; none before.
    granted: Option<usize>,
}

/// How eager each side is, of a hundred cycles.
#[derive(Clone, Copy)]
struct Pace {
    steps: u32,
    store: u32,
    writes: u32,
    largest: usize,
}

struct World {
    bench: Bench,
    random: ChaCha8Rng,
    store: FrameStore,
    /// The frame in delivery, and the bytes of its payload that are not granted yet.
    hand: Option<(Info, usize)>,
    /// The payload's start came in the cycle before: no grant comes now.
    begins: bool,
    /// Frames that are not given back, in their order.
    delivered: VecDeque<Delivered>,
    /// All bytes that are granted, and how many of them have gone.
    granted: Vec<u8>,
    gone: usize,
    next_place: u64,
}

impl World {
    fn new() -> Self {
        let mut bench = Bench::new("payload", &verilog(PayloadQueue::default()));
        let mut random = ChaCha8Rng::seed_from_u64(bench.seed());
        bench.tick();
        let store = FrameStore::new(&mut random);
        Self {
            bench,
            random,
            store,
            hand: None,
            begins: false,
            delivered: VecDeque::new(),
            granted: Vec::new(),
            gone: 0,
            next_place: 0,
        }
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.random.random_ratio(percent, 100)
    }

    /// The frame whose delivery begins.
    fn frame(&mut self, largest: usize) -> Info {
        let raw = self.random.random_ratio(1, 4);
        self.next_place += 1;
        Info {
            length: self.random.random_range(0..=largest as u64),
            raw,
            tagged: self.random.random(),
            extended: !raw && self.random.random(),
            reth: !raw && self.random.random(),
            start: self.random.random_range(0..2048),
            place: self.next_place % 16,
            ..Info::default()
        }
    }

    /// The steps of a frame: its payload moves, or not; grants; it is released.
    fn give(&mut self, pace: Pace) {
        for port in ["held_payload_start", "held_release", "grant_valid"] {
            self.bench.set(port, 0);
        }
        let room = self.bench.get("room") == 1;
        let begins = std::mem::take(&mut self.begins);
        if !self.happens(pace.steps) {
            return;
        }
        let Some((info, left)) = self.hand.take() else {
            if room {
                let info = self.frame(pace.largest);
                info.set(&mut self.bench, "held_frame");
                self.delivered.push_back(Delivered { place: info.place, granted: None });
                let moves = self.random.random_ratio(5, 6);
                self.bench.set("held_payload_start", moves.into());
                self.begins = moves;
                let left = if moves { info.length as usize } else { 0 };
                self.hand = Some((info, left));
            }
            return;
        };
        if left == 0 || self.random.random_ratio(1, 20) {
            self.bench.set("held_release", 1);
            self.delivered.back_mut().unwrap().granted = Some(self.granted.len());
            return;
        }
        let most = if self.random.random() { left } else { left.min(9) };
        let bytes = self.random.random_range(1..=most);
        let grants = room && !begins;
        if grants {
            self.bench.set("grant_valid", 1);
            self.bench.set("grant", bytes as u64);
            // A frame's byte 0 lies in lane 2.
            let from = info.start as usize * 8 + 2 + payload(&info) + info.length as usize - left;
            self.granted.extend((from..from + bytes).map(|at| self.store.byte(at)));
        }
        self.hand = Some((info, if grants { left - bytes } else { left }));
    }

    /// Bytes that wait for the write engine, which takes them in this cycle or not.
    fn waiting(&self, writes: bool) -> usize {
        let waits = !writes && self.bench.get("write_valid") == 1;
        if waits {
            Bundle::of::<WriteBeat>("write").get(&self.bench, "count") as usize
        } else {
            0
        }
    }

    /// One cycle.
    fn step(&mut self, pace: Pace) {
        self.bench.eval();
        assert!(self.gone == self.granted.len() || self.bench.get("busy") == 1, "bytes are forgotten");
        self.give(pace);
        let shows = self.happens(pace.store);
        self.store.offer(&mut self.bench, shows);
        let (writes, frees) = (self.happens(pace.writes), self.random.random_ratio(2, 3));
        self.bench.set("write_ready", writes.into());
        self.bench.set("free_ready", frees.into());
        self.bench.eval();
        if writes && self.bench.get("write_valid") == 1 {
            let beat = Bundle::of::<WriteBeat>("write");
            let get = |name| beat.get(&self.bench, name);
            let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
            assert!(count >= 1 && start + count <= 8, "lanes {start}+{count}");
            for byte in &data[start as usize..][..count as usize] {
                assert_eq!(self.granted.get(self.gone), Some(byte), "byte {} of all", self.gone);
                self.gone += 1;
            }
        }
        if self.bench.get("free_valid") == 1 {
            let oldest = self.delivered.front().expect("no frame is in delivery");
            assert_eq!(self.bench.get("free"), oldest.place);
            let granted = oldest.granted.expect("the frame is not released yet");
            let left = self.gone + self.waiting(writes);
            assert!(left >= granted, "{left} of {granted} bytes have left the store");
            if frees {
                self.delivered.pop_front();
            }
        }
        self.store.note(&self.bench, shows);
        self.bench.tick();
    }
}

#[test]
fn what_is_granted_goes_in_order_and_frames_come_back() {
    let mut world = World::new();
    for round in 0..90 {
        let pace = Pace {
            steps: [100, 30, 5][round % 3],
            store: [100, 60][round / 3 % 2],
            writes: [100, 70, 10][round / 6 % 3],
            largest: [10, 100, 4096][round / 2 % 3],
        };
        for _ in 0..1500 {
            world.step(pace);
        }
        // The frame in delivery ends; then all goes.
        let ends = Pace { steps: 100, store: 100, writes: 100, largest: 0 };
        let mut patience = 60_000;
        while world.hand.is_some() {
            world.step(ends);
        }
        let rests = Pace { steps: 0, ..ends };
        while !world.delivered.is_empty() || world.bench.get("busy") == 1 {
            world.step(rests);
            patience -= 1;
            assert!(patience > 0, "{} frames do not come back", world.delivered.len());
        }
        assert_eq!(world.gone, world.granted.len(), "round {round}");
    }
}
