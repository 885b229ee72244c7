//! What a program runs on: link, root complexes, faults on the wire. The model may be run on others, which changes nothing but time.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Link;
use viaduct_sim::model::{Choices, Mutant};
use viaduct_sim::network;
use viaduct_sim::root_complex::{self, Options};
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

use crate::fault_injection::Rates;

/// Conditions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Seed of the root complexes and of the faults on the wire.
    pub seed: u64,
    /// The links.
    pub link: Link,
    /// The root complexes.
    pub bus: root_complex::Conditions,
    /// Faults on the wire.
    pub rates: Rates,
}

impl Conditions {
    /// Random ones; the links have no storms. Half of the root complexes are kind, so that not every walk is slow.
    pub fn random(random: &mut ChaCha8Rng, rates: Rates) -> Self {
        let mut made = Self {
            seed: random.random(),
            link: Link::random_calm(random),
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

    /// The same with unkind root complexes. Their conditions are drawn from the seed that the program has for its faults.
    pub fn unkind(self) -> Self {
        let bus = root_complex::Conditions::random(&mut ChaCha8Rng::seed_from_u64(self.seed));
        Self { bus, ..self }
    }

    /// Whether the root complexes do more than to answer late.
    pub fn is_unkind(&self) -> bool {
        let kind = root_complex::Conditions { round_trip: self.bus.round_trip, ..Default::default() };
        self.bus != kind
    }

    /// The network's options.
    pub fn options(&self) -> network::Options {
        let bus = Options { conditions: self.bus, seed: self.seed, ..Options::default() };
        network::Options { link: self.link, bus, ..network::Options::default() }
    }
}

/// What the models of a walk make of what the specification leaves open: usual choices, or others.
pub fn choices(seed: u64, mutant: Option<Mutant>) -> [Choices; 2] {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x5EED << 32);
    [0, 1].map(|_| Choices {
        packet_cycles: [4, 16, 16, 100][random.random_range(0..4)],
        loopback_cycles: [0, 30, 300][random.random_range(0..3)],
        send_cycles: [0, 100, 500][random.random_range(0..3)],
        send_ahead: [SEND_WINDOW, SEND_WINDOW, 2, 1][random.random_range(0..4)],
        receive_cycles: [0, 0, 200][random.random_range(0..3)],
        complete_cycles: [0, 0, 60, 300][random.random_range(0..4)],
        receive_ahead: [RECEIVE_AHEAD, RECEIVE_AHEAD, 1][random.random_range(0..3)],
        mutant,
        ..Choices::default()
    })
}
