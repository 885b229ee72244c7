//! Descriptors in the making.

use std::sync::Arc;

use viaduct_spec::descriptor::{
    address_segment, control, data_segment, CONTROL_SEGMENT_BYTES, MAX_SEGMENTS, SEGMENT_BYTES,
};

use crate::{
    descriptor::{Memory, Remote},
    Descriptor, Error, Region,
};

/// A descriptor in the making: segments and immediate data are checked as they are added.
#[derive(Debug, Default)]
pub struct DescriptorBuilder {
    segments: Vec<[u64; 2]>,
    data: Vec<Arc<dyn Memory>>,
    immediate: Option<u32>,
    total: u32,
    /// `viaduct_spec::descriptor::control`, without IMMEDIATE.
    control: u16,
}

impl DescriptorBuilder {
    fn remote(place: Remote, control: u16) -> Self {
        let mut words = [0; 2];
        address_segment::ADDRESS.put(&mut words, place.address);
        address_segment::HANDLE.put(&mut words, place.handle.into());
        Self { segments: vec![words], control, ..Self::default() }
    }

    /// Begins only when every RDMA read posted to this VI before is complete.
    pub fn fence(mut self) -> Self {
        self.control |= control::QFENCE;
        self
    }

    /// Adds `length` bytes at `offset` of a region: data to send, or room to receive in.
    pub fn segment(mut self, region: &Region, offset: usize, length: usize) -> Result<Self, Error> {
        let place = region.place(offset, length)?;
        if self.segments.len() >= MAX_SEGMENTS.into() {
            return Err(Error::Segments);
        }
        let total = u64::from(self.total) + length as u64;
        self.total = u32::try_from(total).map_err(|_| Error::Length(total))?;
        let mut words = [0; 2];
        data_segment::ADDRESS.put(&mut words, place.as_ptr() as u64);
        data_segment::HANDLE.put(&mut words, region.handle().into());
        data_segment::LENGTH.put(&mut words, length as u64);
        self.segments.push(words);
        self.data.push(region.memory());
        Ok(self)
    }

    /// Sends 32 bits beside the data.
    pub fn immediate(mut self, data: u32) -> Self {
        self.immediate = Some(data);
        self
    }

    /// Bytes that a descriptor with these segments takes in memory.
    pub fn bytes(&self) -> usize {
        CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * self.segments.len()
    }

    /// Writes the descriptor to `offset` of `region`, at an address that is a multiple of 64. Its
    /// memory belongs to it from now on.
    pub fn build(self, region: &Region, offset: usize) -> Result<Descriptor, Error> {
        let start = region.place(offset, self.bytes())?;
        // SAFETY: the descriptor keeps the memory, into which nobody makes references.
        let segment = unsafe { region.segment(start) }?;
        let words: Vec<u8> = self.segments.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        region.write(offset + CONTROL_SEGMENT_BYTES, &words)?;
        let flags = if self.immediate.is_some() { control::IMMEDIATE } else { 0 };
        // At most MAX_SEGMENTS.
        let (segments, control) = (self.segments.len() as u16, self.control | flags);
        let immediate = self.immediate.unwrap_or(0);
        Ok(Descriptor::of(region.memory(), segment, (segments, self.total, self.data), control, immediate))
    }
}

impl Descriptor {
    /// A descriptor without segments, to be built. Send and receive descriptors are made alike;
    /// where it is posted makes the difference.
    #[expect(clippy::new_ret_no_self, reason = "a descriptor begins as its builder")]
    pub fn new() -> DescriptorBuilder {
        DescriptorBuilder::default()
    }

    /// An RDMA write: what its segments hold goes to `place` in the peer's memory, from there on. With immediate data it
    /// also takes a receive of the peer's, whose segments it leaves alone.
    pub fn rdma_write(place: Remote) -> DescriptorBuilder {
        DescriptorBuilder::remote(place, control::OP_RDMAWRITE)
    }

    /// An RDMA read: the peer's memory from `place` on comes into its segments.
    pub fn rdma_read(place: Remote) -> DescriptorBuilder {
        DescriptorBuilder::remote(place, control::OP_RDMAREAD)
    }
}
