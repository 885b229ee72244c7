//! An entry of a completion queue that is offered to the writer.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::tables::cq_entry;

use super::REFUSED_REGION;

/// An entry that is offered.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub region: u64,
    pub tag: u64,
    pub address: u64,
    pub token: u64,
    pub vi: u64,
    pub receive: u64,
    pub phase: u64,
}

impl Entry {
    pub fn random(random: &mut ChaCha8Rng) -> Self {
        Self {
            region: if random.random_bool(0.1) { REFUSED_REGION } else { random.random_range(1..200) },
            tag: random.random_range(1..1 << 16),
            address: random.random_range(0..1 << 36) * 16,
            token: random.random(),
            vi: random.random_range(0..64),
            receive: random.random_range(0..2),
            phase: random.random_range(0..2),
        }
    }

    pub fn words(&self) -> [u64; 2] {
        let mut words = [self.token, 0];
        cq_entry::VI.put(&mut words, self.vi);
        cq_entry::RECEIVE.put(&mut words, self.receive);
        cq_entry::PHASE.put(&mut words, self.phase);
        words
    }
}
