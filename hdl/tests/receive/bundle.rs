//! Bundles as bits: fields in the order of `hdl/src/bus.rs`, the first in the low bits.

/// Builds a port's value field by field.
#[derive(Default, Clone, PartialEq, Debug)]
pub struct Pack {
    words: Vec<u32>,
    bits: usize,
}

impl Pack {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next field.
    pub fn put(mut self, value: u64, width: usize) -> Self {
        assert!(width == 64 || value >> width == 0, "{value:#x} in {width} bits");
        for bit in 0..width {
            if self.bits % 32 == 0 {
                self.words.push(0);
            }
            let last = self.words.len() - 1;
            self.words[last] |= ((value >> bit & 1) as u32) << (self.bits % 32);
            self.bits += 1;
        }
        self
    }

    /// The words, least significant first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// Takes a port's value apart field by field.
pub struct Unpack {
    words: Vec<u32>,
    bit: usize,
}

impl Unpack {
    /// From a port's words.
    pub fn new(words: Vec<u32>) -> Self {
        Self { words, bit: 0 }
    }

    /// The next field.
    pub fn take(&mut self, width: usize) -> u64 {
        let value = (0..width).fold(0, |value, n| {
            let at = self.bit + n;
            value | u64::from(self.words[at / 32] >> (at % 32) & 1) << n
        });
        self.bit += width;
        value
    }

    /// The next field, one bit.
    pub fn flag(&mut self) -> bool {
        self.take(1) == 1
    }
}

/// Eight bytes of a frame, as `FrameBeat`.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    pub data: u64,
    pub count: u64,
    pub last: bool,
    pub bad: bool,
}

impl Beat {
    pub fn pack(&self) -> Pack {
        Pack::new().put(self.data, 64).put(self.count, 4).put(self.last.into(), 1).put(self.bad.into(), 1)
    }

    pub fn unpack(words: Vec<u32>) -> Self {
        let mut bits = Unpack::new(words);
        Self { data: bits.take(64), count: bits.take(4), last: bits.flag(), bad: bits.flag() }
    }
}

/// A frame as beats. Lanes behind its end hold rubbish.
pub fn beats(frame: &[u8], bad: bool) -> Vec<Beat> {
    let chunks = frame.len().div_ceil(8);
    (0..chunks)
        .map(|n| {
            let bytes = &frame[n * 8..frame.len().min(n * 8 + 8)];
            let mut data = [0xa5u8; 8];
            data[..bytes.len()].copy_from_slice(bytes);
            let last = n + 1 == chunks;
            Beat { data: u64::from_le_bytes(data), count: bytes.len() as u64, last, bad: bad && last }
        })
        .collect()
}

/// What the parser says of a frame, as `FrameInfo`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Info {
    pub opcode: u64,
    pub queue_pair: u64,
    pub psn: u64,
    pub ack_request: bool,
    pub extension: u64,
    pub source_ip: u64,
    pub extended: bool,
    pub reth: bool,
    pub address: u64,
    pub rkey: u64,
    pub size: u64,
    pub length: u64,
    pub start: u64,
    pub end: u64,
}

impl Info {
    pub fn pack(&self) -> Pack {
        Pack::new()
            .put(self.opcode, 8)
            .put(self.queue_pair, 24)
            .put(self.psn, 24)
            .put(self.ack_request.into(), 1)
            .put(self.extension, 32)
            .put(self.source_ip, 32)
            .put(self.extended.into(), 1)
            .put(self.reth.into(), 1)
            .put(self.address, 64)
            .put(self.rkey, 32)
            .put(self.size, 32)
            .put(self.length, 13)
            .put(self.start, 11)
            .put(self.end, 11)
    }

    pub fn unpack(words: Vec<u32>) -> Self {
        let mut bits = Unpack::new(words);
        Self {
            opcode: bits.take(8),
            queue_pair: bits.take(24),
            psn: bits.take(24),
            ack_request: bits.flag(),
            extension: bits.take(32),
            source_ip: bits.take(32),
            extended: bits.flag(),
            reth: bits.flag(),
            address: bits.take(64),
            rkey: bits.take(32),
            size: bits.take(32),
            length: bits.take(13),
            start: bits.take(11),
            end: bits.take(11),
        }
    }
}
