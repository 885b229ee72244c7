//! A completion that is offered to the writer, of any kind.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::wire::syndrome;

use super::{ERRORS, REFUSED_REGION};

#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub vi: u64,
    pub write: bool,
    pub region: u64,
    pub offset: u64,
    pub length: u64,
    pub status: u64,
    pub immediate: Option<u64>,
    pub psn: Option<u64>,
    pub ends: bool,
}

impl Item {
    pub fn random(random: &mut ChaCha8Rng) -> Self {
        let write = random.random_bool(0.8);
        Self {
            vi: random.random_range(0..64),
            write,
            // A descriptor that is written has ended, and one that could not be read.
            ends: write || random.random_bool(0.3),
            region: if random.random_bool(0.1) { REFUSED_REGION } else { random.random_range(1..200) },
            offset: random.random_range(0..1 << 34),
            length: random.random::<u32>().into(),
            // Of the error bits none or one.
            status: random.random_range(0..1 << 20) & !ERRORS | (1 << random.random_range(0..16)) & ERRORS,
            immediate: random.random_bool(0.3).then(|| random.random::<u32>().into()),
            psn: random.random_bool(0.5).then(|| random.random_range(0..1 << 24)),
        }
    }

    pub fn fields(&self, receive: bool) -> [(&'static str, u64); 14] {
        [
            ("vi", self.vi),
            ("receive", receive.into()),
            ("ends", self.ends.into()),
            ("write", self.write.into()),
            ("region", self.region),
            ("offset", self.offset),
            ("length", self.length),
            ("status", self.status),
            ("has_immediate", self.immediate.is_some().into()),
            ("immediate", self.immediate.unwrap_or(0)),
            ("acknowledge", self.psn.is_some().into()),
            ("psn", self.psn.unwrap_or(0)),
            ("msn", self.psn.unwrap_or(0) ^ 1),
            ("syndrome", syndrome::ACK.into()),
        ]
    }
}
