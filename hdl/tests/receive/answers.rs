//! Reads of many VIs at a time, answers that fit and answers that do not: every one is told in its cycle, as the model has it.

use std::collections::BTreeMap;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{Answer, Commit, ReadSent};
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::{ReadPlaced, ReadTarget, Reads, Told};
use viaduct_spec::profile::{REGIONS, VIS, VI_LOG2};
use viaduct_spec::tables::table;
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use super::outstanding::{Job, Outstanding, Packet, Read, Word};
use crate::bundle::Bundle;

/// Cycles from a read that leaves, or an answer, to when the next may be looked at, or to `told_valid`.
pub const LEAVES: u64 = 4;
pub const TOLD: u64 = 6;

pub struct World {
    pub bench: Bench,
    random: ChaCha8Rng,
    pub vis: BTreeMap<u64, (Outstanding, u64)>,
}

impl World {
    pub fn new() -> Self {
        let bench = Bench::new("reads", &verilog(Reads::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        Self { bench, random, vis: BTreeMap::new() }
    }

    /// VIs that differ in one bit of their numbers each, all forgotten, with an MTU each.
    pub fn begin(&mut self) {
        let base = self.random.random_range(0..VIS as u64);
        let numbers: Vec<u64> =
            std::iter::once(base).chain((0..VI_LOG2).map(|bit| base ^ 1 << bit)).collect();
        self.vis.clear();
        for vi in numbers {
            self.forget(vi);
            let mtu = self.random.random_range(0..5);
            self.vis.insert(vi, (Outstanding::default(), mtu));
        }
    }

    /// The block does nothing.
    #[track_caller]
    pub fn rests(&mut self) {
        self.bench.eval();
        let outputs = ["busy", "told_valid", "sent_ready", "commit_ready"];
        assert_eq!(outputs.map(|port| self.bench.get(port)), [0; 4], "{outputs:?}");
    }

    /// Ticks through cycles in which something is under way and nothing is said.
    #[track_caller]
    fn works(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.bench.tick();
            self.bench.eval();
            let outputs = ["busy", "told_valid", "sent_ready", "commit_ready"];
            assert_eq!(outputs.map(|port| self.bench.get(port)), [1, 0, 0, 0], "{outputs:?}");
        }
    }

    /// A RECEIVE row is committed.
    pub fn forget(&mut self, vi: u64) {
        self.rests();
        Bundle::of::<Commit>("commit")
            .set(&mut self.bench, &[("target", table::RECEIVE.into()), ("row", vi)]);
        self.bench.set("commit_valid", 1);
        self.bench.eval();
        assert_eq!(self.bench.get("commit_ready"), 1);
        self.bench.tick();
        self.bench.set("commit_valid", 0);
        self.bench.eval();
        assert_eq!(self.bench.get("busy"), 1);
        self.bench.tick();
        if let Some((vi, _)) = self.vis.get_mut(&vi) {
            *vi = Outstanding::default();
        }
    }

    /// Bytes of a read: none, around a packet's ends, or so many that each bit of what is left counts.
    fn length(&mut self, mtu: u64) -> u64 {
        match self.random.random_range(0..6) {
            0 => 0,
            1 => self.random.random_range(1..=mtu),
            2 => mtu * self.random.random_range(1..4) + self.random.random_range(0..3) - 1,
            3 => self.random.random_range(1..4 * mtu),
            4 => self.random.random_range(1 << 13..1 << 32),
            _ => (1 << self.random.random_range(13..32)) + self.random.random_range(0..2 * mtu),
        }
    }

    /// A read leaves: a new one, or one that has left before, answered or not.
    fn leave(&mut self, vi: u64) {
        let (outstanding, mtu) = &self.vis[&vi];
        let (fresh, room) = (outstanding.fresh(), outstanding.has_room());
        let (oldest, waiting) = (outstanding.reads().front().cloned(), outstanding.reads().len());
        let any = self.random.random_range(0..3).min(waiting.saturating_sub(1));
        let left = self.vis[&vi].0.reads().get(any).cloned();
        let mtu = 256 << mtu;
        let again = self.random.random_range(if room { 0..5 } else { 0..2 });
        let read = match (again, left) {
            // From its beginning, as if it had been on its way for long, or from what is missing.
            (0, Some(left)) if any == 0 && self.random.random() => {
                Read { psn: self.vis[&vi].0.next().map_or(left.psn, |(psn, _)| psn), ..left }
            }
            (0, Some(left)) => left,
            (1, _) => {
                let before = self.random.random_range(1..=3);
                let first = oldest.map_or(fresh, |oldest| oldest.number);
                Read { number: (first + 8 - before) % 8, ..Read::default() }
            }
            _ if !room => return,
            _ => Read {
                number: fresh,
                region: self.random.random_range(0..REGIONS as u64),
                offset: self.random.random_range(0..1 << 34),
                segments: self.random.random_range(0..1 << 8),
                length: self.length(mtu),
                psn: match self.random.random_ratio(1, 4) {
                    true => (1 << 24) - self.random.random_range(1..4),
                    false => self.random.random_range(0..1 << 24),
                },
            },
        };
        let fields = [
            ("vi", vi),
            ("number", read.number),
            ("psn", read.psn),
            ("length", read.length),
            ("region", read.region),
            ("offset", read.offset),
            ("segments", read.segments),
        ];
        self.rests();
        Bundle::of::<ReadSent>("sent").set(&mut self.bench, &fields);
        self.bench.set("sent_valid", 1);
        let mut taken = 0;
        for _ in 1..LEAVES {
            self.bench.tick();
            if taken == 1 {
                self.bench.set("sent_valid", 0);
            }
            self.bench.eval();
            let outputs = ["busy", "told_valid", "commit_ready"].map(|port| self.bench.get(port));
            assert_eq!(outputs, [1, 0, 0]);
            taken += self.bench.get("sent_ready");
        }
        assert_eq!(taken, 1);
        self.bench.tick();
        self.vis.get_mut(&vi).unwrap().0.leave(&read);
    }

    /// An answer: mostly the one that is expected, or that one with one thing wrong.
    fn packet(&mut self, vi: u64) -> Packet {
        let (outstanding, mtu) = &self.vis[&vi];
        let mtu = 256 << mtu;
        let (psn, left) = outstanding.next().unwrap_or((self.random.random_range(0..1 << 24), 0));
        let (is_last, ack) = (left <= mtu, u64::from(syndrome::ACK));
        let mut packet = Packet {
            response: true,
            first: !outstanding.started(),
            last: is_last,
            psn,
            length: left.min(mtu),
            syndrome: ack,
        };
        let bits = self.random.random_range(1..23);
        let span = self.random.random_range(0..1 << bits);
        let naks =
            [syndrome::NAK_SEQUENCE, syndrome::NAK_INVALID, syndrome::NAK_ACCESS, syndrome::NAK_OPERATIONAL];
        match self.random.random_range(0..10) {
            0 => packet.first = !packet.first,
            1 => packet.last = !packet.last,
            2 => packet.length ^= 1 << self.random.random_range(0..13),
            3 => packet.length = packet.length.saturating_sub(1),
            4 => packet.psn = (psn + (1 << 24) - span) % (1 << 24),
            5 => packet.psn = (psn + span) % (1 << 24),
            6 => {
                packet.response = false;
                packet.syndrome = match self.random.random_range(0..4) {
                    0 => self.random.random_range(0..0x40),
                    1 => self.random.random_range(0x60..0x80),
                    2 => ack,
                    _ => naks.choose(&mut self.random).copied().unwrap().into(),
                };
                let back = self.random.random::<bool>();
                packet.psn = (psn + if back { (1 << 24) - span } else { span }) % (1 << 24);
            }
            7 => packet.syndrome = self.random.random_range(0..0x80),
            8 => {
                // Class 2 is reserved: it is no answer, and says nothing of what is missing.
                (packet.response, packet.syndrome) = (false, self.random.random_range(0x40..0x60));
            }
            _ => {}
        }
        packet
    }

    fn answer(&mut self, vi: u64) {
        let packet = self.packet(vi);
        let mtu = self.vis[&vi].1;
        let fields = [
            ("vi", vi),
            ("mtu", mtu),
            ("response", packet.response.into()),
            ("first", packet.first.into()),
            ("last", packet.last.into()),
            ("psn", packet.psn),
            ("length", packet.length),
            ("syndrome", packet.syndrome),
        ];
        self.rests();
        Bundle::of::<Answer>("answer").set(&mut self.bench, &fields);
        self.bench.set("answer_valid", 1);
        self.works(TOLD - 1);
        self.bench.tick();
        self.bench.eval();
        assert_eq!((self.bench.get("busy"), self.bench.get("told_valid")), (1, 1));
        let expected = self.vis.get_mut(&vi).unwrap().0.judge(&packet, 256 << mtu);
        assert_eq!(self.told(vi), expected, "VI {vi}, MTU {mtu}: {packet:?} of {:?}", self.vis[&vi].0);
        let job = expected.as_ref().and_then(|word| word.job.clone());
        if let Some(job) = job {
            self.place(vi, &packet, &job);
        } else {
            self.bench.tick();
            self.bench.set("answer_valid", 0);
            if let Some(word) = expected {
                // Nothing to place, or to be noted as asked for.
                if word.moves {
                    self.vis.get_mut(&vi).unwrap().0.advance(0, 1, 0);
                }
                self.settles();
            }
        }
    }

    /// What was told; the fields of a word that does not count say nothing.
    fn told(&self, vi: u64) -> Option<Word> {
        let bundle = Bundle::of::<Told>("told");
        let get = |name: &str| bundle.get(&self.bench, &format!("word.{name}"));
        let kept = bundle.get(&self.bench, "keep") == 1;
        kept.then(|| {
            assert_eq!(get("vi"), vi);
            let job = (bundle.get(&self.bench, "data") == 1).then(|| self.job());
            let moves = get("frame") == 2 && get("syndrome") == u64::from(syndrome::ACK);
            Word { psn: get("psn"), syndrome: get("syndrome"), frame: get("frame"), job, moves }
        })
    }

    fn job(&self) -> Job {
        let bundle = Bundle::of::<ReadTarget>("target");
        let get = |name| bundle.get(&self.bench, name);
        Job {
            region: get("region"),
            offset: get("offset"),
            segments: get("segments"),
            index: get("index"),
            position: get("position"),
            fresh: get("fresh") == 1,
        }
    }

    /// The payload is placed, or cannot be; until then `job` stands.
    fn place(&mut self, vi: u64, packet: &Packet, job: &Job) {
        for _ in 0..self.random.random_range(0..4) {
            self.works(1);
            assert_eq!(&self.job(), job);
        }
        self.works(1);
        assert_eq!(&self.job(), job);
        let ok = self.random.random_ratio(5, 6);
        let (index, position) = (self.random.random_range(0..1 << 8), self.random.random_range(0..1 << 32));
        self.bench.set("done_valid", 1);
        let done = [("ok", ok.into()), ("index", index), ("position", position)];
        Bundle::of::<ReadPlaced>("done").set(&mut self.bench, &done);
        self.bench.tick();
        self.bench.set("done_valid", 0);
        self.bench.set("answer_valid", 0);
        self.settles();
        if ok {
            self.vis.get_mut(&vi).unwrap().0.advance(packet.length, index, position);
        }
    }

    /// At most a cycle more.
    fn settles(&mut self) {
        self.bench.eval();
        assert_eq!(self.bench.get("told_valid"), 0);
        if self.bench.get("busy") == 1 {
            self.bench.tick();
        }
    }
}

#[test]
fn every_answer_is_told_as_what_it_is() {
    let mut world = World::new();
    for _ in 0..12 {
        world.begin();
        let vis: Vec<u64> = world.vis.keys().copied().collect();
        for _ in 0..2000 {
            let vi = *vis.choose(&mut world.random).unwrap();
            match world.random.random_range(0..100) {
                0 => world.forget(vi),
                1..30 => world.leave(vi),
                30..33 => world.rests(),
                _ => world.answer(vi),
            }
        }
    }
}
