//! What a program runs on: link, root complexes, weather. The model may be run on others, which changes nothing but time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Link;
use viaduct_sim::model::{Choices, Mutant};
use viaduct_sim::network;
use viaduct_sim::root_complex::{self, Options};
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

use crate::weather::Rates;

/// Conditions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Seed of the root complexes and of the weather.
    pub seed: u64,
    /// The links.
    pub link: Link,
    /// The root complexes.
    pub bus: root_complex::Conditions,
    /// Faults on the wire.
    pub rates: Rates,
}

impl Conditions {
    /// Random ones. Half of the root complexes are kind, so that not every walk is slow.
    pub fn random(random: &mut ChaCha8Rng, rates: Rates) -> Self {
        let mut made = Self {
            seed: random.random(),
            link: Link::random(random),
            bus: root_complex::Conditions {
                round_trip: random.random_range(8..40),
                ..root_complex::Conditions::default()
            },
            rates,
        };
        if random.random() {
            made.bus = root_complex::Conditions::random(random);
        }
        made
    }

    /// The network's options.
    pub fn options(&self) -> network::Options {
        let bus = Options { conditions: self.bus, seed: self.seed, ..Options::default() };
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
