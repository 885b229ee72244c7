//! What happens at the edges of the NICs: pause storms on the links, and resets of a NIC while everything moves.
//!
//! It is drawn from a generator of its own. So seeds that found something before there was such a thing still make the programs that they made.

use std::ops::RangeInclusive;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Link;

use crate::operation::Reset;

/// Seeds without storms and without resets of this kind: those of the corpus that were found before.
const BEFORE: RangeInclusive<u64> = 301..=17_999_999;

/// See the module's description.
pub(super) struct Edge(Option<ChaCha8Rng>);

impl Edge {
    /// Of a program of this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self((!BEFORE.contains(&seed)).then(|| ChaCha8Rng::seed_from_u64(!seed)))
    }

    /// Cycles of a storm on the links; 0 is none.
    pub(super) fn storms(&mut self) -> u64 {
        self.0.as_mut().map_or(0, |random| Link::random(random).storms)
    }

    /// How a NIC is reset.
    pub(super) fn reset(&mut self) -> Reset {
        let Some(random) = &mut self.0 else { return Reset::Agent };
        match random.random_range(0..3) {
            0 => Reset::Agent,
            1 => Reset::Function,
            _ => Reset::Link(random.random_range(1..300)),
        }
    }

    /// One round in eight ends with the reset of a NIC.
    pub(super) fn reset_under_load(&mut self) -> Option<usize> {
        let random = self.0.as_mut()?;
        (random.random_range(0..8) == 0).then(|| random.random_range(0..2))
    }
}
