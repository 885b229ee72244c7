//! Completions of the host: good ones, bad ones, and those of nobody.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_spec::tlp::{completion_dw1, completion_dw2, completion_status, dw0, kind};

use super::command::Fate;
use super::host::Host;
use crate::beat::{beats, field, header, memory};

/// The NIC's place on the bus.
pub const REQUESTER: u64 = 0x2A18;

/// A completion on its way.
pub struct Answer {
    pub packet: Vec<u32>,
    pub tag: u64,
}

impl Host {
    /// The completions of a request, cut anywhere that is allowed.
    pub fn answer(&mut self, tag: u64, address: u64, length: u64, fate: Fate) {
        let end = address + length;
        let rcb = if self.rng.random() { 64 } else { 128 };
        let mut parts = Vec::new();
        let mut at = address;
        while at < end {
            let mut stop = end;
            if self.rng.random_bool(0.6) {
                let boundary = at / rcb * rcb + rcb * self.rng.random_range(1..4);
                stop = end.min(boundary);
            }
            parts.push((at, stop));
            at = stop;
        }
        let stops = match fate {
            Fate::Missing => self.rng.random_range(0..parts.len()),
            Fate::Unsupported => self.rng.random_range(0..=parts.len() - 1),
            _ => parts.len(),
        };
        let bad = self.rng.random_range(0..parts.len());
        for (n, &(from, to)) in parts[..stops].iter().enumerate() {
            let mut packet = completion(tag, from, to, end);
            if n == bad && fate == Fate::Poisoned {
                packet[0] |= 1 << dw0::POISONED.lo;
            }
            if n == bad && fate == Fate::Short {
                let keep = self.rng.random_range(3..packet.len());
                packet.truncate(keep);
            }
            if fate != Fate::Short && self.rng.random_bool(0.02) {
                // A digest.
                packet.push(self.rng.random());
            }
            self.answers.push(Answer { packet, tag });
        }
        if fate == Fate::Unsupported {
            let status =
                if self.rng.random() { completion_status::UNSUPPORTED } else { completion_status::ABORT };
            let mut packet = completion(tag, parts[stops].0, parts[stops].0, end);
            packet[0] = header(&[(dw0::KIND, kind::COMPLETION.into())]);
            packet[1] |= u32::from(status) << completion_dw1::STATUS.lo;
            self.answers.push(Answer { packet, tag });
        }
    }

    /// A completion that nobody must take for good.
    pub fn bogus(&mut self) -> Option<Vec<u32>> {
        let whole = self.answers.choose(&mut self.rng);
        let mut packet = match whole {
            // Nearly right: of the answer that is next for its tag, or not.
            Some(answer) if self.rng.random_bool(0.8) => answer.packet.clone(),
            _ => {
                let from = self.rng.random_range(0..0x1000);
                let to = from + self.rng.random_range(1..=256);
                completion(self.rng.random_range(0..16), from, to, to + self.rng.random_range(0..4096))
            }
        };
        if field(dw0::KIND, packet[0]) != u64::from(kind::COMPLETION_DATA) {
            return None;
        }
        // Whoever takes it for good shows it.
        packet[3..].fill_with(|| self.rng.random());
        match self.rng.random_range(0..6) {
            0 => packet[2] ^= 1 << self.rng.random_range(16..32),
            1 => packet[2] ^= 1 << self.rng.random_range(12..16),
            2 => packet[2] ^= 1 << self.rng.random_range(0..7),
            3 => packet[1] ^= 1 << self.rng.random_range(0..12),
            // More than is missing.
            4 => {
                let words = missing(&packet) + self.rng.random_range(1..40);
                packet[0] = packet[0] & !0x3FF | (words as u32 & 0x3FF);
                packet.resize(3 + words as usize, 0xDEAD_BEEF);
            }
            // A length of 1024 double words.
            _ => {
                packet[0] &= !0x3FF;
                packet.resize(3 + 1024, 0xDEAD_BEEF);
            }
        }
        Some(packet)
    }

    /// Whether a completion is what the slot waits for: the bogus must not be right by chance.
    pub fn matches(&self, packet: &[u32]) -> bool {
        let tag = field(completion_dw2::TAG, packet[2]);
        let length = field(dw0::LENGTH, packet[0]);
        self.answers.iter().find(|a| a.tag == tag).is_some_and(|a| {
            a.packet[1] & 0xFFF == packet[1] & 0xFFF
                && a.packet[2] == packet[2]
                && (1..=missing(packet)).contains(&length)
        })
    }

    /// What comes next: an answer of any tag, or nonsense.
    pub fn choose_completion(&mut self) {
        if self.bogus > 0.0 && self.rng.random_bool(self.bogus) {
            if let Some(packet) = self.bogus() {
                if !self.matches(&packet) {
                    self.unexpected += 1;
                    self.delivering = beats(&packet).into();
                    return;
                }
            }
        }
        if self.answers.is_empty() {
            return;
        }
        let tag = self.answers.choose(&mut self.rng).map(|a| a.tag).unwrap();
        let first = self.answers.iter().position(|a| a.tag == tag).unwrap();
        let answer = self.answers.remove(first);
        self.delivering = beats(&answer.packet).into();
    }
}

/// Double words missing when this completion comes.
fn missing(packet: &[u32]) -> u64 {
    let lane = field(completion_dw2::LOWER_ADDRESS, packet[2]) % 4;
    (field(completion_dw1::BYTE_COUNT, packet[1]) + lane).div_ceil(4)
}

/// A completion with the bytes `from..to` of a read that ends at `end`.
pub fn completion(tag: u64, from: u64, to: u64, end: u64) -> Vec<u32> {
    let words = to.div_ceil(4) - from / 4;
    let mut packet = vec![
        header(&[(dw0::KIND, kind::COMPLETION_DATA.into()), (dw0::LENGTH, words & 0x3FF)]),
        header(&[(completion_dw1::BYTE_COUNT, (end - from) & 0xFFF), (completion_dw1::COMPLETER, 0x0100)]),
        header(&[
            (completion_dw2::LOWER_ADDRESS, from & 0x7F),
            (completion_dw2::TAG, tag),
            (completion_dw2::REQUESTER, REQUESTER),
        ]),
    ];
    for word in from / 4..from / 4 + words {
        packet.push(u32::from_le_bytes([0, 1, 2, 3].map(|b| memory(word * 4 + b))));
    }
    packet
}
