//! What a program runs on: link, root complexes, weather. The model may be run on others, which changes nothing but time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Link;
use viaduct_sim::model::Choices;
use viaduct_sim::network;
use viaduct_sim::root_complex::{Limits, Options, Split};

use crate::weather::Rates;

/// Conditions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Seed of the root complexes and of the weather.
    pub seed: u64,
    /// The links.
    pub link: Link,
    /// Cycles of a read of host memory.
    pub round_trip: u64,
    /// Encoded 128 << n.
    pub max_payload: u8,
    /// Encoded 128 << n.
    pub max_read: u8,
    /// Bytes.
    pub rcb: usize,
    /// Tags of 8 bits.
    pub extended_tag: bool,
    /// How reads are cut.
    pub split: Split,
    /// Cycles by which completions are late.
    pub reorder: u64,
    /// Of 1000 cycles.
    pub stall: u32,
    /// Of 1000 cycles.
    pub gap: u32,
    /// Credits.
    pub credits: Limits,
    /// Faults on the wire.
    pub rates: Rates,
}

impl Conditions {
    /// Random ones. Half of the root complexes have no moods, so that not every walk is slow.
    pub fn random(random: &mut ChaCha8Rng, rates: Rates) -> Self {
        let plain = Options::default();
        let mut made = Self {
            seed: random.random(),
            link: Link { latency: random.random_range(8..64), rate: random.random_range(2..=8) },
            round_trip: random.random_range(8..40),
            max_payload: plain.max_payload,
            max_read: plain.max_read,
            rcb: plain.rcb,
            extended_tag: true,
            split: Split::Largest,
            reorder: 0,
            stall: 0,
            gap: 0,
            credits: Limits::default(),
            rates,
        };
        if random.random() {
            made.round_trip = random.random_range(4..120);
            made.max_payload = random.random_range(0..=2);
            made.max_read = random.random_range(0..=5);
            made.rcb = if random.random() { 64 } else { 128 };
            made.extended_tag = random.random();
            made.split = [Split::Largest, Split::Boundary, Split::Random][random.random_range(0..3)];
            made.reorder = [0, 40, 300][random.random_range(0..3)];
            made.stall = [0, 100, 400][random.random_range(0..3)];
            made.gap = [0, 100, 400][random.random_range(0..3)];
            if random.random() {
                // The least that the specification allows for a payload of 512 bytes, and a little more.
                made.credits = Limits {
                    posted: Some(random.random_range(1..8)),
                    posted_data: Some(random.random_range(32..80)),
                    nonposted: Some(random.random_range(1..8)),
                    completion: Some(random.random_range(1..8)),
                    completion_data: Some(random.random_range(32..80)),
                };
            }
        }
        made
    }

    /// The network's options.
    pub fn options(&self) -> network::Options {
        let bus = Options {
            round_trip: self.round_trip,
            max_payload: self.max_payload,
            max_read: self.max_read,
            rcb: self.rcb,
            extended_tag: self.extended_tag,
            split: self.split,
            reorder: self.reorder,
            stall: self.stall,
            gap: self.gap,
            credits: self.credits,
            seed: self.seed,
            ..Options::default()
        };
        network::Options { link: self.link, bus, never_skip: false }
    }
}

/// One of the ways in which a model can go through a program: what is left to chance there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// What the model does of what the specification leaves open.
    pub choices: [Choices; 2],
    /// Latency of the links, if not the program's.
    pub latency: Option<u64>,
    /// How many frames more or less than the program says a pause lasts, from this seed; 0: as it says.
    pub jitter: u64,
}

impl Schedule {
    /// As the program says.
    pub fn plain() -> Self {
        Self { choices: [Choices::default(); 2], latency: None, jitter: 0 }
    }

    /// The one of this number; 0 is the plain one.
    pub fn number(number: u64) -> Self {
        if number == 0 {
            return Self::plain();
        }
        let mut random = ChaCha8Rng::seed_from_u64(number);
        let choices = [0, 1].map(|_| Choices {
            packet_cycles: [4, 16, 100, 600][random.random_range(0..4)],
            send_cycles: [0, 100, 500, 3000][random.random_range(0..4)],
            ..Choices::default()
        });
        Self { choices, latency: Some([12, 40, 200, 1000][random.random_range(0..4)]), jitter: number }
    }

    /// The conditions with it.
    pub fn apply(&self, conditions: &Conditions) -> Conditions {
        let mut conditions = *conditions;
        conditions.link.latency = self.latency.unwrap_or(conditions.link.latency);
        conditions
    }
}
