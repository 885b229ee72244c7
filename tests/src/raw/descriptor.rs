//! Descriptors, right or wrong.

use viaduct_spec::descriptor::{
    control, control_segment, data_segment, CONTROL_SEGMENT_BYTES, SEGMENT_BYTES,
};

use crate::world::Host;

/// A data segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Virtual address.
    pub address: u64,
    /// Memory handle.
    pub handle: u32,
    /// Bytes.
    pub length: u32,
}

/// A descriptor, as it will be written: right at first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Data segments.
    pub segments: Vec<Segment>,
    /// Control word.
    pub control: u16,
    /// Reserved word.
    pub reserved: u32,
    /// ImmediateData.
    pub immediate: u32,
    /// SegCount, if not the number of the segments.
    pub count: Option<u16>,
    /// Length, if not the sum of the segments.
    pub length: Option<u32>,
    /// Its token says SHORT: no more than one segment is read.
    pub short: bool,
}

impl Descriptor {
    /// Nothing to send, no room to receive in.
    pub fn new() -> Self {
        Self::default()
    }

    /// One segment at `offset` of a host's memory.
    pub fn of(host: &Host, offset: usize, length: usize) -> Self {
        Self::new().segment(host.memory.address(offset), host.region.handle, length)
    }

    /// One more segment.
    pub fn segment(mut self, address: u64, handle: u32, length: usize) -> Self {
        self.segments.push(Segment { address, handle, length: length as u32 });
        self
    }

    /// An RDMA write to there: before all other segments.
    pub fn write_to(mut self, address: u64, handle: u32) -> Self {
        self.control |= control::OP_RDMAWRITE;
        self.segments.insert(0, Segment { address, handle, length: 0 });
        self
    }

    /// An RDMA read from there: before all other segments.
    pub fn read_from(mut self, address: u64, handle: u32) -> Self {
        self.control |= control::OP_RDMAREAD;
        self.segments.insert(0, Segment { address, handle, length: 0 });
        self
    }

    /// With immediate data.
    pub fn immediate(mut self, data: u32) -> Self {
        self.control |= control::IMMEDIATE;
        self.immediate = data;
        self
    }

    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * self.segments.len()
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut words = vec![0; self.bytes() / 8];
        let sum = self.segments.iter().fold(0u32, |sum, segment| sum.wrapping_add(segment.length));
        let count = self.count.unwrap_or(self.segments.len() as u16);
        control_segment::SEG_COUNT.put(&mut words, count.into());
        control_segment::CONTROL.put(&mut words, self.control.into());
        control_segment::RESERVED.put(&mut words, self.reserved.into());
        control_segment::IMMEDIATE.put(&mut words, self.immediate.into());
        control_segment::LENGTH.put(&mut words, self.length.unwrap_or(sum).into());
        for (row, segment) in words[4..].chunks_exact_mut(2).zip(&self.segments) {
            data_segment::ADDRESS.put(row, segment.address);
            data_segment::HANDLE.put(row, segment.handle.into());
            data_segment::LENGTH.put(row, segment.length.into());
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}
