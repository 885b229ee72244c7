//! Bundles as bits, packets as double words.

use viaduct_spec::layout::Field;
use viaduct_verilate::Bench;

/// Bits put together, least significant first, as RustHDL lays out a bundle's fields.
#[derive(Default)]
pub struct Bits {
    words: Vec<u32>,
    len: usize,
}

impl Bits {
    pub fn put(mut self, value: u64, width: usize) -> Self {
        assert!(width == 64 || value >> width == 0, "{value:#x} in {width} bits");
        let wide = u128::from(value) << (self.len % 32);
        let (first, end) = (self.len / 32, self.len + width);
        self.words.resize(end.div_ceil(32), 0);
        for (n, word) in self.words[first..].iter_mut().enumerate() {
            *word |= (wide >> (32 * n)) as u32;
        }
        self.len = end;
        self
    }

    pub fn set(self, bench: &mut Bench, port: &str) {
        bench.set_wide(port, &self.words);
    }
}

/// A bundle taken apart again.
pub struct Taken {
    words: Vec<u32>,
    at: usize,
}

impl Taken {
    pub fn from(bench: &Bench, port: &str) -> Self {
        Self { words: bench.get_wide(port), at: 0 }
    }

    pub fn take(&mut self, width: usize) -> u64 {
        let first = self.at / 32;
        let wide = (0..3).fold(0, |wide, n| {
            wide | u128::from(self.words.get(first + n).copied().unwrap_or(0)) << (32 * n)
        });
        let value = (wide >> (self.at % 32)) as u64;
        self.at += width;
        if width == 64 {
            value
        } else {
            value & ((1 << width) - 1)
        }
    }

    pub fn flag(&mut self) -> bool {
        self.take(1) == 1
    }
}

/// One beat of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    pub data: u64,
    pub keep: u64,
    pub last: bool,
}

impl Beat {
    pub fn set(&self, bench: &mut Bench, port: &str) {
        Bits::default().put(self.data, 64).put(self.keep, 2).put(self.last.into(), 1).set(bench, port);
    }

    pub fn get(bench: &Bench, port: &str) -> Self {
        let mut bits = Taken::from(bench, port);
        Self { data: bits.take(64), keep: bits.take(2), last: bits.flag() }
    }
}

/// The beats of a packet.
pub fn beats(packet: &[u32]) -> Vec<Beat> {
    let count = packet.len().div_ceil(2);
    packet
        .chunks(2)
        .enumerate()
        .map(|(n, pair)| Beat {
            data: u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32,
            keep: if pair.len() == 2 { 3 } else { 1 },
            last: n + 1 == count,
        })
        .collect()
}

/// Puts beats together to packets.
#[derive(Default)]
pub struct Collector {
    packet: Vec<u32>,
}

impl Collector {
    /// A beat more; the packet if it was the last.
    pub fn push(&mut self, beat: Beat) -> Option<Vec<u32>> {
        assert!(beat.keep == 3 || (beat.keep == 1 && beat.last), "{beat:?}");
        self.packet.push(beat.data as u32);
        if beat.keep == 3 {
            self.packet.push((beat.data >> 32) as u32);
        }
        beat.last.then(|| std::mem::take(&mut self.packet))
    }

    pub fn is_empty(&self) -> bool {
        self.packet.is_empty()
    }
}

/// A header double word from its fields.
pub fn header(fields: &[(Field, u64)]) -> u32 {
    let mut row = [0];
    for (field, value) in fields {
        field.put(&mut row, *value);
    }
    row[0] as u32
}

/// A field of a header double word.
pub fn field(field: Field, word: u32) -> u64 {
    field.get(&[word.into()])
}

/// The byte of host memory at an address, when it holds nothing in particular.
pub fn memory(address: u64) -> u8 {
    let mixed = address.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8 ^ address as u8
}
