//! What a program runs on: link, root complexes, weather. The model may be run on others, which changes nothing but time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Link;
use viaduct_sim::model::{Choices, Mutant};
use viaduct_sim::network;
use viaduct_sim::root_complex::{Limits, Options, Split};
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

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

/// One of the ways in which models can go through a program: what is left to chance there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schedule {
    /// Latency of the links, if not the program's.
    pub latency: Option<u64>,
    /// The turn of each stretch of the program, from one rest to the next; the last one stands for all that follow.
    pub turns: Vec<u64>,
    /// A rule that the models break.
    pub mutant: Option<Mutant>,
}

/// What is left to chance in a stretch.
#[derive(Debug)]
pub struct Turn {
    /// What each model does of what the specification leaves open.
    pub choices: [Choices; 2],
    /// How much longer or shorter the hosts' pauses are; `None`: as the program says.
    pub jitter: Option<ChaCha8Rng>,
    /// The hosts are slow, too: NICs may do much from one post to the next.
    pub slow: bool,
}

/// Latencies of schedules.
pub const LATENCIES: [Option<u64>; 4] = [None, Some(12), Some(200), Some(1000)];

impl Schedule {
    /// The one of this number; 0 is as the program says.
    pub fn number(number: u64) -> Self {
        let latency = LATENCIES[number as usize % LATENCIES.len()];
        Self { latency, turns: vec![number], mutant: None }
    }

    /// The conditions with it.
    pub fn apply(&self, conditions: &Conditions) -> Conditions {
        let mut conditions = *conditions;
        conditions.link.latency = self.latency.unwrap_or(conditions.link.latency);
        conditions
    }

    /// What is left to chance in stretch `number`.
    pub fn turn(&self, number: usize) -> Turn {
        let usual = Choices { mutant: self.mutant, ..Choices::default() };
        match self.turns.get(number).or(self.turns.last()).copied().unwrap_or(0) {
            0 => Turn { choices: [usual; 2], jitter: None, slow: false },
            seed => {
                let mut random = ChaCha8Rng::seed_from_u64(seed ^ (number as u64) << 32);
                let choices = [0, 1].map(|_| Choices {
                    packet_cycles: [4, 16, 100, 600][random.random_range(0..4)],
                    loopback_cycles: [0, 30, 300, 3000][random.random_range(0..4)],
                    send_cycles: [0, 100, 500, 3000][random.random_range(0..4)],
                    send_ahead: [SEND_WINDOW, SEND_WINDOW, 2, 1][random.random_range(0..4)],
                    receive_cycles: [0, 0, 200, 2000][random.random_range(0..4)],
                    complete_cycles: [0, 0, 60, 300][random.random_range(0..4)],
                    receive_ahead: [RECEIVE_AHEAD, RECEIVE_AHEAD, RECEIVE_AHEAD, 1]
                        [random.random_range(0..4)],
                    ..usual
                });
                let slow = random.random();
                Turn { choices, jitter: Some(random), slow }
            }
        }
    }
}
