//! Descriptors, as tests say them and as they lie in memory.

use viaduct_spec::descriptor::{
    control, control_segment, data_segment, status, CONTROL_SEGMENT_BYTES, SEGMENT_BYTES,
};
use viaduct_spec::handle::memory_handle;

use super::layout::{DATA_REGION, KEY};

/// A descriptor to be posted.
#[derive(Debug, Clone, Default)]
pub struct Descriptor {
    control: u16,
    immediate: u32,
    length: Option<u32>,
    segments: Vec<(u64, u32, u32)>,
}

/// The handle of the data region.
pub fn handle() -> u32 {
    let mut word = [0];
    memory_handle::INDEX.put(&mut word, DATA_REGION.into());
    memory_handle::KEY.put(&mut word, KEY);
    word[0] as u32
}

impl Descriptor {
    /// A send or receive of no segments.
    pub fn new() -> Self {
        Self::default()
    }

    /// A send or receive of one segment.
    pub fn of(address: u64, length: u32) -> Self {
        Self::new().segment(address, length)
    }

    /// An RDMA write or read of one segment.
    pub fn rdma(operation: u16, remote: u64, address: u64, length: u32) -> Self {
        let target = Self { control: operation, segments: vec![(remote, handle(), 0)], ..Self::default() };
        target.segment(address, length)
    }

    /// One more segment.
    pub fn segment(mut self, address: u64, length: u32) -> Self {
        self.segments.push((address, handle(), length));
        self
    }

    /// With another handle in its segment of this number.
    pub fn handle(mut self, segment: usize, handle: u32) -> Self {
        self.segments[segment].1 = handle;
        self
    }

    /// With immediate data.
    pub fn immediate(mut self, data: u32) -> Self {
        self.control |= control::IMMEDIATE;
        self.immediate = data;
        self
    }

    /// With more control bits.
    pub fn flags(mut self, bits: u16) -> Self {
        self.control |= bits;
        self
    }

    /// With a Length that need not be right.
    pub fn length(mut self, length: u32) -> Self {
        self.length = Some(length);
        self
    }

    /// Its bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let rdma = usize::from(self.control & control::OP_MASK != 0);
        let sum: u32 = self.segments.iter().skip(rdma).map(|segment| segment.2).sum();
        let mut words = vec![0; (CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * self.segments.len()) / 8];
        control_segment::SEG_COUNT.put(&mut words, self.segments.len() as u64);
        control_segment::CONTROL.put(&mut words, self.control.into());
        control_segment::IMMEDIATE.put(&mut words, self.immediate.into());
        control_segment::LENGTH.put(&mut words, self.length.unwrap_or(sum).into());
        for (row, (address, handle, length)) in words[4..].chunks_exact_mut(2).zip(&self.segments) {
            data_segment::ADDRESS.put(row, *address);
            data_segment::HANDLE.put(row, (*handle).into());
            data_segment::LENGTH.put(row, (*length).into());
        }
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// What is written into a descriptor: Length, Status.
pub type Completion = (u32, u32);

/// Status of a whole send.
pub const SENT: u32 = status::DONE | status::OP_SEND;
/// Status of its receive.
pub const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;
