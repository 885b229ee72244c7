//! A packet at the core's edge.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A TLP as double words (headers as numbers, data little-endian), and the BAR it hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tlp {
    pub words: Vec<u32>,
    pub bar: u64,
}

impl Tlp {
    /// A read, a write or a completion, of random contents.
    pub fn random(random: &mut ChaCha8Rng) -> Self {
        let long = random.random_bool(0.3);
        let payload = [1, 2, 3, 8, 64][random.random_range(0..5)];
        let first = match random.random_range(0..3) {
            0 => u32::from(long) << 29 | random.random_range(1..4),
            1 => 1 << 30 | u32::from(long) << 29 | payload,
            _ => 0x4A00_0000 | payload,
        };
        let length = Self::length(first);
        let words = (1..length).map(|_| random.random());
        Self { words: [first].into_iter().chain(words).collect(), bar: random.random_range(0..2) * 2 }
    }

    fn header(first: u32) -> usize {
        3 + (first >> 29 & 1) as usize
    }

    fn length(first: u32) -> usize {
        Self::header(first) + if first >> 30 & 1 == 1 { (first & 0x3FF) as usize } else { 0 }
    }

    pub fn is_read(&self) -> bool {
        self.words[0] >> 24 & 0x5F == 0
    }

    /// `viaduct_spec::tlp::class`.
    pub fn class(&self) -> u64 {
        match self.words[0] >> 24 & 0x1F {
            0 if self.is_read() => 1,
            0 => 0,
            _ => 2,
        }
    }

    /// Headers and units of data.
    pub fn cost(&self) -> u64 {
        ((self.words.len() - Self::header(self.words[0])) as u64).div_ceil(4)
    }

    /// Its bytes in the order of the wire.
    pub fn wire(&self) -> Vec<u8> {
        let header = Self::header(self.words[0]);
        let bytes = |(index, word): (usize, &u32)| match index < header {
            true => word.to_be_bytes(),
            false => word.to_le_bytes(),
        };
        self.words.iter().enumerate().flat_map(bytes).collect()
    }

    pub fn of_wire(bytes: &[u8], bar: u64) -> Self {
        let header = 3 + usize::from(bytes[0] >> 5 & 1);
        let words = bytes.chunks(4).enumerate().map(|(index, chunk)| {
            let chunk = chunk.try_into().expect("whole double words");
            if index < header {
                u32::from_be_bytes(chunk)
            } else {
                u32::from_le_bytes(chunk)
            }
        });
        Self { words: words.collect(), bar }
    }
}
