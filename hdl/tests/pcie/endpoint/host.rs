//! The root complex above the root port: its memory, and a book of what was sent and has yet to come.

use std::collections::{BTreeMap, VecDeque};

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_link::tlp::{Class, Tlp};

use super::core::target;
use crate::packet::Tlp as Packet;

/// Tags from here on are those of configuration requests.
pub const CONFIGURATION: u8 = 0x80;

/// What the host's memory holds.
pub fn data_at(address: u64) -> u32 {
    (address as u32 ^ (address >> 32) as u32).wrapping_mul(0x9E37_79B1) ^ 0x5A5A_1234
}

/// Requester and tag, as a completion's third double word has them.
pub fn requester(word: u32) -> (u16, u8) {
    ((word >> 16) as u16, (word >> 8) as u8)
}

/// See the module's description.
#[derive(Default)]
pub struct Host {
    /// What the core has yet to hear, by class.
    down: [VecDeque<Packet>; 3],
    /// What the root port has yet to hear of the core's.
    up: VecDeque<Tlp>,
    /// What was sent so far, to tell who may pass whom.
    sent: u64,
    order: [VecDeque<u64>; 3],
    /// Reads of the core's memory that are not answered, by tag.
    pub reads: BTreeMap<u8, u32>,
    /// Completions to send.
    pub completions: VecDeque<Tlp>,
    /// What the endpoint itself has sent.
    pub answers: VecDeque<Tlp>,
    /// What the last load has read.
    pub last: Vec<u32>,
    /// Packets that came: at the core, and at the root port.
    pub came: [u64; 2],
}

impl Host {
    /// This goes to the core.
    pub fn expects(&mut self, tlp: &Tlp, bar: u64) {
        let class = Class::of(tlp[0]).index();
        self.down[class].push_back(Packet { words: tlp.clone(), bar });
        self.sent += 1;
        self.order[class].push_back(self.sent);
    }

    /// The core has heard this: once, whole, in its class's order, and no posted one was passed.
    pub fn heard_by_core(&mut self, packet: &Packet) {
        self.came[0] += 1;
        let class = Class::of(packet.words[0]).index();
        assert_eq!(
            self.down[class].pop_front().as_ref(),
            Some(packet),
            "packet {} to the core",
            self.came[0]
        );
        let number = self.order[class].pop_front().unwrap_or(0);
        let posted = self.order[0].front().copied().unwrap_or(u64::MAX);
        assert!(number < posted, "packet {} to the core has passed a store", self.came[0]);
    }

    /// The core sends this.
    pub fn sent_by_core(&mut self, packet: Packet) {
        self.up.push_back(packet.words);
    }

    /// The root port has heard this.
    pub fn hear(&mut self, tlp: Tlp, most: u32, random: &mut ChaCha8Rng) {
        let (kind, tag) = (tlp[0] >> 24, requester(tlp[2]).1);
        if kind == 0x35 || (matches!(kind, 0x0A | 0x4A) && tag >= CONFIGURATION) {
            self.answers.push_back(tlp);
            return;
        }
        self.came[1] += 1;
        assert_eq!(self.up.pop_front().as_ref(), Some(&tlp), "packet {} from the core", self.came[1]);
        match Class::of(tlp[0]) {
            Class::Posted => {}
            Class::NonPosted => self.answer(&tlp, most, random),
            Class::Completion => {
                assert_eq!(self.reads.remove(&tag), Some(tlp[0] & 0x3FF), "a completion of {tag:#x}");
                self.last = tlp[3..].to_vec();
            }
        }
    }

    /// Answers a read of the host's memory, cut where it may be.
    fn answer(&mut self, tlp: &Tlp, most: u32, random: &mut ChaCha8Rng) {
        let (_, start) = target(tlp);
        let end = start + 4 * u64::from(tlp[0] & 0x3FF);
        let mut address = start;
        while address < end {
            // Up to a boundary of 64 bytes, or the end.
            let pieces = random.random_range(1..=u64::from(most) / 16);
            let mut next = ((address / 64 + pieces) * 64).min(end);
            if next - address > 4 * u64::from(most) {
                next = (address / 64 + 1) * 64;
            }
            let words = (next - address) as u32 / 4;
            let mut completion = vec![
                0x4A00_0000 | words,
                0x0001_0000 | (end - address) as u32,
                tlp[1] & 0xFFFF_FF00 | address as u32 & 0x7F,
            ];
            completion.extend((0..u64::from(words)).map(|at| data_at(address + 4 * at)));
            self.completions.push_back(completion);
            address = next;
        }
    }

    /// The link is down at both ends: nothing of before comes.
    pub fn forget(&mut self) {
        *self = Self { came: self.came, ..Self::default() };
    }

    /// Nothing has yet to come.
    pub fn is_empty(&self) -> bool {
        self.down.iter().all(VecDeque::is_empty)
            && self.up.is_empty()
            && self.reads.is_empty()
            && self.completions.is_empty()
    }
}
