//! Pause: a peer that holds its frames when it is asked to loses none.

use rand::Rng;

use super::{beats, Beat, Rig};

/// Beats of the largest frame: 4224 bytes.
const LARGEST: usize = 528;

/// Beats that pass on the wire between two frames: FCS, gap and preamble.
const GAP: usize = 3;

/// Words in use in the store above which it may take no more.
const STORE: usize = 2040;

/// Places for frames in the store.
const PLACES: usize = 16;

/// A peer that sends at full rate. It hears of a pause when a largest frame of ours has left, and goes on to the end of its own.
#[derive(Default)]
struct Peer {
    gap: usize,
    heard: usize,
}

impl Peer {
    /// The beat of this cycle: the rest of its frame, or a new one's if there is no pause.
    fn next(&mut self, rig: &mut Rig, lengths: [usize; 2]) -> Option<Beat> {
        self.heard = if rig.bench.get("pause") == 1 { self.heard + 1 } else { 0 };
        if rig.mac.is_empty() && self.heard <= LARGEST {
            let length = rig.random.random_range(lengths[0]..=lengths[1]);
            rig.mac.extend(beats(&vec![1; length], false));
            self.gap = GAP;
        }
        match self.gap {
            0 => rig.mac.pop_front(),
            _ => {
                self.gap -= 1;
                None
            }
        }
    }
}

/// The store behind: what it holds, and what has left it.
#[derive(Default)]
struct Store {
    frames: Vec<usize>,
    coming: usize,
}

impl Store {
    fn words(&self) -> usize {
        self.frames.iter().sum::<usize>() + self.coming
    }

    fn take(&mut self, last: bool) {
        self.coming += 1;
        if last {
            self.frames.push(std::mem::take(&mut self.coming));
        }
    }

    fn level(&self) -> u64 {
        match PLACES - self.frames.len() < 8 {
            true => 2048,
            false => self.words() as u64,
        }
    }

    fn has_room(&self) -> bool {
        self.words() < STORE && self.frames.len() < PLACES
    }
}

/// A run of a peer beside loopback frames, with lengths of both. The store gives back a frame each so many cycles, and for long stretches
/// none. Returns the frames of each side.
fn run(seed: u64, lengths: [[usize; 2]; 2], each: u32) -> [usize; 2] {
    let mut rig = Rig::new();
    rig.random = rand::SeedableRng::seed_from_u64(rig.bench.seed() ^ seed);
    let (mut peer, mut store) = (Peer::default(), Store::default());
    let (mut stuck, mut sides) = (0, [0, 0]);
    for _ in 0..60_000 {
        if rig.loopback.is_empty() {
            let length = rig.random.random_range(lengths[1][0]..=lengths[1][1]);
            rig.loopback.extend(beats(&vec![2; length], false));
        }
        let given = peer.next(&mut rig, lengths[0]);
        let (level, room) = (store.level(), store.has_room());
        rig.bench.set("store_level", level);
        let before = rig.out.len();
        let left = rig.cycle(given, true, room);
        if left {
            store.take(rig.out.len() > before);
        }
        if stuck > 0 {
            stuck -= 1;
        } else if rig.random.random_ratio(1, 8000) {
            stuck = 4000;
        } else if !store.frames.is_empty() && rig.random.random_ratio(1, each) {
            store.frames.remove(0);
        }
        for (frame, bad) in rig.out.drain(..) {
            assert!(!bad, "a frame was cut");
            sides[usize::from(frame[0] - 1)] += 1;
        }
        assert_eq!(rig.overflows, 0, "{lengths:?}, {each}: lost behind {sides:?} frames of MAC and loopback");
    }
    sides
}

#[test]
fn a_peer_that_holds_loses_nothing_beside_loopback_frames() {
    let (large, small, any) = ([4174, 4174], [60, 64], [60, 4174]);
    for (n, lengths) in
        [[large, large], [small, large], [large, small], [small, small], [any, any]].iter().enumerate()
    {
        // A store that never fills but when it is stuck, and one that is slower than the wire.
        for each in [1, 200] {
            let sides = run(n as u64, *lengths, each);
            // Both sides go on.
            assert!(sides.iter().all(|frames| *frames > 1), "{lengths:?}, {each}: {sides:?}");
        }
    }
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
    assert!(!at(0) && !at(1470) && at(1471) && at(2048) && !at(1470));
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
    assert!(given + more <= 1023 + 577, "pause after {given} beats");
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
