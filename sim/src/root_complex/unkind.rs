//! What an unkind root complex does within the specification: posted writes pass reads, reads are torn between two completions, the
//! credits of a class stay away, and what system software has set changes under way.
//!
//! What changes with time follows from the cycle and the seed alone, so that cycles which are skipped change nothing.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::tlp::{class, completion_status};

use super::read::Cutter;
use super::requests::Arrival;
use super::{Kind, RootComplex, HOST_ID};
use crate::clock::Cycle;
use crate::nic::NicIn;
use crate::tlp::{Completion, Request, Tlp};

/// Cycles of which credits are withheld in some, or not.
const SPELL: u64 = 8192;

/// A completion that has not looked at memory yet.
#[derive(Debug)]
pub struct Piece {
    request: Request,
    /// As it will be, but for its data.
    completion: Completion,
    /// Where its data is.
    address: u64,
    last: bool,
}

/// What the specification lets system software set, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Read completion boundary in bytes.
    pub rcb: usize,
    /// Bus Master is taken away, whatever the driver says.
    pub master_off: bool,
    /// Which of the changes it is.
    number: u64,
}

impl Settings {
    /// After power-up.
    pub fn new(rcb: usize) -> Self {
        Self { rcb, master_off: false, number: 0 }
    }
}

/// What is random in a stretch of time, whatever was before.
fn stretch(seed: u64, purpose: u64, number: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed ^ purpose << 56 ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

impl RootComplex {
    /// A read of memory has come: it takes its place behind what is there, or later.
    pub(super) fn arrive_read(&mut self, now: Cycle, request: Request) {
        match self.jitter(self.options.conditions.passed) {
            0 => self.arrivals.push_back(Arrival::Read(request)),
            later => {
                self.order += 1;
                self.passed.insert((now + later, self.order), request);
            }
        }
    }

    /// What is due of the reads and completions that took their time.
    pub(super) fn serve_late(&mut self, now: Cycle) {
        while let Some(entry) = self.passed.first_entry().filter(|entry| entry.key().0 <= now) {
            self.arrivals.push_back(Arrival::Read(entry.remove()));
        }
        while let Some(entry) = self.pieces.first_entry().filter(|entry| entry.key().0 <= now) {
            let piece = entry.remove();
            self.serve_piece(now, piece);
        }
    }

    /// Answers a read piece by piece, each with what is in memory then.
    pub(super) fn tear(&mut self, now: Cycle, request: &Request) {
        let cutter = self.cutter();
        let blank = vec![0; request.length * 4];
        let completions = cutter.cut(request, &blank, HOST_ID, &mut self.random);
        let (mut when, mut address, count) = (now, request.address, completions.len());
        for (n, completion) in completions.into_iter().enumerate() {
            when += self.jitter(self.options.conditions.torn);
            let length = completion.data.len() as u64 * 4;
            self.order += 1;
            let piece = Piece { request: *request, completion, address, last: n + 1 == count };
            self.pieces.insert((when, self.order), piece);
            address += length;
        }
    }

    fn serve_piece(&mut self, now: Cycle, piece: Piece) {
        let Piece { request, mut completion, address, last } = piece;
        let (lead, count) = request.bytes();
        let asked = request.address + lead as u64;
        // Only the bytes that are asked for.
        let from = address.max(asked);
        let to = (address + completion.data.len() as u64 * 4).min(asked + count as u64);
        let mut bytes = vec![0; completion.data.len() * 4];
        let part = &mut bytes[(from - address) as usize..(to - address) as usize];
        let packet = match self.memory.read(from, part) {
            Ok(()) => {
                let words = bytes.chunks_exact(4).map(|dw| u32::from_le_bytes([dw[0], dw[1], dw[2], dw[3]]));
                completion.data = words.collect();
                Tlp::Completion(completion)
            }
            Err(error) => {
                self.counters.unsupported += 1;
                tracing::warn!(%error, "a read of the NIC's reached no memory");
                Tlp::refusal(&request, completion_status::UNSUPPORTED, HOST_ID)
            }
        };
        let refused = matches!(&packet, Tlp::Completion(completion) if !completion.is_success());
        if refused {
            // It ends the read.
            self.pieces.retain(|_, other| other.request.tag != request.tag);
        }
        let frees = (last || refused).then_some(request.tag);
        self.send(self.back(now), packet.encode(), 0, Kind::Completion { frees });
    }

    /// How completions are cut now.
    pub(super) fn cutter(&self) -> Cutter {
        Cutter {
            rcb: self.settings.rcb,
            max_payload: 128 << self.config.max_payload(),
            split: self.options.conditions.split,
        }
    }

    /// Lets the time base jump, as if so many ticks had passed in which nothing else happened.
    pub fn pass_ticks(&mut self, ticks: u32) {
        let base = &mut self.options.conditions.time_base;
        *base = base.wrapping_add(ticks);
    }

    /// Withholds the credits of these classes, by their numbers, until it is said otherwise.
    pub fn withhold(&mut self, classes: [bool; 3]) {
        self.held_back = classes;
    }

    /// Takes away the credits that are withheld in this cycle.
    pub(super) fn drive_withheld(&self, now: Cycle, input: &mut NicIn) {
        let mut classes = self.held_back;
        let longest = self.options.conditions.withheld;
        if longest != 0 {
            let spell = SPELL.max(2 * longest);
            let mut random = stretch(self.options.seed, 1, now / spell);
            let class = random.random_range(0..classes.len());
            let begin = random.random_range(0..spell - longest);
            let end = begin + random.random_range(0..=longest);
            classes[class] |= (begin..end).contains(&(now % spell));
        }
        if classes[usize::from(class::POSTED)] {
            (input.credit_ph, input.credit_pd) = (0, 0);
        }
        if classes[usize::from(class::NON_POSTED)] {
            input.credit_nph = 0;
        }
        if classes[usize::from(class::COMPLETION)] {
            (input.credit_ch, input.credit_cd) = (0, 0);
        }
    }

    /// System software changes its mind.
    pub(super) fn change_settings(&mut self, now: Cycle) {
        let conditions = self.options.conditions;
        if conditions.changes == 0 {
            return;
        }
        let number = now / conditions.changes;
        if number != self.settings.number {
            let mut random = stretch(self.options.seed, 2, number);
            let largest = conditions.max_payload.max(1);
            let rcb = if random.random() { 64 } else { 128 };
            self.set_sizes(random.random_range(0..=largest), random.random_range(0..=5));
            self.config.set_extended_tag(random.random());
            self.settings = Settings { rcb, master_off: random.random_ratio(1, 4), number };
        }
        // It comes back within the same time.
        let back = now % conditions.changes > conditions.changes / 4;
        self.settings.master_off &= !back;
    }

    /// Sets Max_Payload_Size and Max_Read_Request_Size, encoded 128 << n, as system software may at any time. What the NIC has cut by then
    /// may still come.
    pub fn set_sizes(&mut self, max_payload: u8, max_read: u8) {
        let before = self.config.sizes();
        self.config.set_sizes(max_payload, max_read);
        self.rules.resized(&before, &self.config.sizes());
    }
}
