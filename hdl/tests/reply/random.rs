//! Requests of many VIs, new and again, answers of every size: each packet as the model has it.

use std::collections::{BTreeMap, VecDeque};

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{Admission, Commit};
use viaduct_spec::profile::{READ_DEPTH, VIS, VI_LOG2};
use viaduct_spec::tables::{receive, table};

use crate::bundle::Bundle;
use crate::requests::{Piece, Read, World};

const PSNS: u64 = 1 << 24;
/// Most packets of an answer.
const MOST: u64 = 1 << 20;

/// A request in its slot.
#[derive(Clone, Debug)]
struct Slot {
    start: u64,
    end: u64,
    next: Read,
    first: bool,
    pending: bool,
}

impl Slot {
    /// PSNs lie within its own.
    fn covers(&self, psn: u64, end: u64) -> bool {
        let span = distance(self.start, self.end);
        distance(self.start, psn) < span && distance(self.start, end) <= span
    }
}

/// A VI.
#[derive(Clone, Debug, Default)]
struct Peer {
    mtu: u64,
    depth: usize,
    /// The newest last.
    slots: VecDeque<Slot>,
    psn: u64,
}

fn packets(length: u64, mtu: u64) -> u64 {
    length.div_ceil(mtu).max(1)
}

/// From one PSN on to another.
fn distance(from: u64, to: u64) -> u64 {
    (to + PSNS - from) % PSNS
}

impl Peer {
    fn waits(&self) -> usize {
        self.slots.iter().filter(|slot| slot.pending).count()
    }

    /// Packets of the answer, if the request is kept.
    fn ask(&mut self, read: Read) -> Option<u64> {
        let packets = packets(read.length, self.mtu);
        let end = (read.psn + packets) % PSNS;
        if !read.again {
            if self.waits() >= self.depth {
                return None;
            }
            if self.slots.len() == READ_DEPTH {
                self.slots.pop_front();
            }
            self.psn = end;
            self.slots.push_back(Slot { start: read.psn, end, next: read, first: true, pending: true });
            return Some(packets);
        }
        let found = self.slots.iter().position(|slot| slot.covers(read.psn, end))?;
        let slot = &mut self.slots[found];
        *slot = Slot { start: slot.start, end, next: read, first: true, pending: true };
        // What waits behind it comes again too.
        self.slots.iter_mut().skip(found + 1).for_each(|slot| slot.pending = false);
        Some(packets)
    }

    /// The next packet.
    fn give(&mut self) -> Option<Piece> {
        let slot = self.slots.iter_mut().find(|slot| slot.pending)?;
        let read = &mut slot.next;
        let length = read.length.min(self.mtu);
        let last = read.length <= self.mtu;
        let piece = Piece {
            vi: read.vi,
            address: read.address,
            rkey: read.rkey,
            span: read.length,
            length,
            first: slot.first,
            last,
            psn: read.psn,
            msn: read.msn,
        };
        read.address = read.address.wrapping_add(length);
        read.length -= length;
        read.psn = (read.psn + 1) % PSNS;
        (slot.first, slot.pending) = (false, !last);
        Some(piece)
    }
}

struct Random {
    world: World,
    random: ChaCha8Rng,
    peers: BTreeMap<u64, Peer>,
    /// A packet is on show.
    shown: bool,
    /// VIs of those that were given out and have not gone.
    out: VecDeque<u64>,
}

impl Random {
    fn new() -> Self {
        let world = World::new();
        let random = ChaCha8Rng::seed_from_u64(world.dut.seed());
        let mut this = Self { world, random, peers: BTreeMap::new(), shown: false, out: VecDeque::new() };
        (0..VIS as u64).for_each(|vi| this.open(vi, 0));
        this
    }

    /// VIs that differ in one bit of their numbers each.
    fn begin(&mut self) {
        let before: Vec<u64> = self.peers.keys().copied().collect();
        before.into_iter().for_each(|vi| self.open(vi, 0));
        self.peers.clear();
        let base = self.random.random_range(0..VIS as u64);
        self.open(base, 4);
        (0..VI_LOG2).for_each(|bit| self.open(base ^ 1 << bit, 4));
    }

    fn tick(&mut self) {
        self.world.dut.eval();
        if self.world.dut.get("reply_valid") == 1 {
            let piece = self.world.shown();
            if !self.shown {
                let expected = self.peers.get_mut(&piece.vi).and_then(Peer::give);
                assert_eq!(Some(piece), expected, "{:?}", self.peers.get(&piece.vi));
                self.out.push_back(piece.vi);
                self.shown = true;
            }
        } else {
            assert!(!self.shown, "a packet is taken back");
        }
        if self.world.dut.get("free_valid") == 1 {
            let vi = self.world.dut.get("free");
            self.world.freed.push(vi);
        }
        self.world.dut.tick();
    }

    /// Takes the packet on show.
    fn take(&mut self) {
        for _ in 0..60 {
            if self.shown {
                self.world.dut.set("reply_ready", 1);
                self.tick();
                self.world.dut.set("reply_ready", 0);
                self.shown = false;
                return;
            }
            self.tick();
        }
        let waiting: usize = self.peers.values().map(Peer::waits).sum();
        assert!(waiting == 0 || self.out.len() > 8, "{waiting} requests wait");
    }

    /// The oldest packet has left.
    fn gone(&mut self) {
        if self.out.len() > usize::from(self.shown) {
            self.world.dut.set("gone", 1);
            self.tick();
            self.world.dut.set("gone", 0);
            self.out.pop_front();
        }
    }

    /// A RECEIVE row: a new connection, which waits until nothing is on its way.
    fn open(&mut self, vi: u64, depth: usize) {
        let (mtu, right) = (self.random.random_range(0..5), self.random.random_ratio(9, 10));
        let row = [
            ("target", table::RECEIVE.into()),
            ("row", vi),
            ("word0", mtu << receive::MTU.lo),
            (
                "word1",
                (depth as u64) << (receive::READ_DEPTH.lo - 64)
                    | u64::from(right) << (receive::RDMA_READ.lo - 64),
            ),
        ];
        Bundle::of::<Commit>("commit").set(&mut self.world.dut, &row);
        self.world.dut.set("commit_valid", 1);
        for cycle in 0.. {
            assert!(cycle < 2000, "a row is never taken");
            self.world.dut.eval();
            if self.world.dut.get("commit_ready") == 1 {
                assert!(self.out.is_empty(), "{:?} are on their way", self.out);
                break;
            }
            if self.shown {
                self.take();
            } else if self.out.is_empty() {
                self.tick();
            } else {
                self.gone();
            }
        }
        self.tick();
        self.world.dut.set("commit_valid", 0);
        let psn = PSNS - self.random.random_range(1..1 << 10);
        let depth = if right { depth.min(READ_DEPTH) } else { 0 };
        self.peers.insert(vi, Peer { mtu: 256 << mtu, depth, slots: VecDeque::new(), psn });
    }

    /// A request: the next one, one that was there, or something like it.
    fn request(&mut self, vi: u64) -> Read {
        let peer = &self.peers[&vi];
        let (random, mtu) = (&mut self.random, peer.mtu);
        let length = match random.random_range(0..8) {
            0 => 0,
            1 => (mtu * random.random_range(1..4) + 1).saturating_sub(random.random_range(0..3)),
            2 => (1 << random.random_range(8..28)) + random.random_range(0..300),
            3 => random.random_range(0..(MOST * mtu).min(1 << 32)),
            _ => random.random_range(1..3 * mtu),
        };
        let mut read = Read {
            vi,
            again: false,
            address: random.random(),
            rkey: random.random_range(0..1 << 32),
            length,
            psn: peer.psn,
            msn: random.random_range(0..PSNS),
        };
        let slots: Vec<&Slot> = peer.slots.iter().collect();
        // Who asks again for its oldest asks for those behind it, before it asks for anything new.
        let early = slots.len() == READ_DEPTH && slots[0].pending && peer.waits() < peer.depth;
        let again = early || random.random_ratio(1, 3);
        if let Some(slot) = slots.choose(random).filter(|_| again) {
            let span = distance(slot.start, slot.end);
            let skipped = random.random_range(0..span.min(4));
            let left = span - skipped;
            read.again = true;
            read.psn = (slot.start + skipped) % PSNS;
            read.length = match random.random_range(0..4) {
                0 => left * mtu,
                1 => random.random_range(0..=left * mtu),
                2 => left * mtu + 1,
                _ => read.length,
            };
            read.length = read.length.min((1 << 32) - 1);
            match random.random_range(0..12) {
                0 => read.psn = (slot.start + PSNS - random.random_range(1..3)) % PSNS,
                1 => read.psn = (slot.end + random.random_range(0..3)) % PSNS,
                2 => read.psn = (slot.start + PSNS - (1 << random.random_range(0..22))) % PSNS,
                _ => {}
            }
        }
        read
    }

    fn ask(&mut self, vi: u64) {
        let read = self.request(vi);
        self.world.request.set(&mut self.world.dut, &read.fields());
        self.world.dut.set("request_valid", 1);
        for cycle in 0.. {
            assert!(cycle < 300, "no answer");
            self.world.dut.eval();
            if self.world.dut.get("answer_valid") == 1 {
                break;
            }
            self.tick();
        }
        let get = |name| self.world.dut.get(name);
        let answer = Bundle::of::<Admission>("answer").all(&self.world.dut);
        let kept = (answer["ok"] == 1).then(|| answer["packets"]);
        let (denied, counted) = (answer["denied"] == 1, get("count_request") == 1);
        let peer = self.peers.get_mut(&vi).unwrap();
        let before = peer.clone();
        assert_eq!(kept, peer.ask(read), "{read:?} of {before:?}");
        assert_eq!((denied, counted), (peer.depth == 0, kept.is_some()));
        self.world.dut.set("request_valid", 0);
        self.tick();
    }

    /// Nothing comes: a VI is held as long as its answers are not out.
    fn rest(&mut self) {
        for _ in 0..60 {
            self.tick();
        }
        let vis: Vec<(u64, usize)> = self.peers.iter().map(|(vi, peer)| (*vi, peer.waits())).collect();
        for (vi, waits) in vis {
            let held = waits > 0 || self.out.contains(&vi);
            assert_eq!(self.world.held(vi), held, "VI {vi}");
        }
        let busy = !self.out.is_empty() || self.peers.values().any(|peer| peer.waits() > 0);
        assert_eq!(self.world.dut.get("busy"), u64::from(busy));
    }
}

#[test]
fn every_request_is_answered_as_it_asks() {
    let mut all = Random::new();
    for _ in 0..8 {
        all.begin();
        let vis: Vec<u64> = all.peers.keys().copied().collect();
        for _ in 0..700 {
            let vi = *vis.choose(&mut all.random).unwrap();
            match all.random.random_range(0..100) {
                0..2 => {
                    let depth = all.random.random_range(0..6);
                    all.open(vi, depth);
                }
                2..6 => all.rest(),
                6..30 => all.ask(vi),
                30..65 => all.take(),
                _ => all.gone(),
            }
        }
    }
}
