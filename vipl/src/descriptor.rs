//! Descriptors: what is posted, and what comes back.

use std::{fmt, sync::Arc};

use viaduct_driver::queues::Direction;
use viaduct_spec::descriptor::{
    address_segment, control, control_segment, data_segment, status, CONTROL_SEGMENT_BYTES, MAX_SEGMENTS,
    SEGMENT_BYTES,
};

use crate::{
    cq::Member,
    form::{sealed, shortened, Segment, Words},
    vi::ViQueues,
    Error, Region,
};

bitflags::bitflags! {
    /// The status word of a completed descriptor, without the operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Status: u32 {
        /// The descriptor is complete.
        const DONE = status::DONE;
        /// The descriptor is malformed.
        const FORMAT_ERROR = status::FORMAT_ERROR;
        /// A local data segment failed its handle, range or tag check.
        const PROTECTION_ERROR = status::PROTECTION_ERROR;
        /// Send: Length is not the sum of the segments, or above MaxTransferSize. Receive: the message is longer than the buffers.
        const LENGTH_ERROR = status::LENGTH_ERROR;
        /// Only part of the message arrived (Unreliable Delivery).
        const PARTIAL_ERROR = status::PARTIAL_ERROR;
        /// Taken off the queue without being executed.
        const DESC_FLUSHED_ERROR = status::DESC_FLUSHED_ERROR;
        /// The transport failed while the descriptor was executed; delivery is not known.
        const TRANSPORT_ERROR = status::TRANSPORT_ERROR;
        /// The remote side refused an RDMA access.
        const RDMA_PROT_ERROR = status::RDMA_PROT_ERROR;
        /// The remote receive descriptor was in error or missing.
        const REMOTE_DESC_ERROR = status::REMOTE_DESC_ERROR;
        /// ImmediateData is valid.
        const IMMEDIATE = status::IMMEDIATE;
    }
}

impl Status {
    /// Whether any error bit is set.
    pub fn is_error(self) -> bool {
        self.bits() & status::ERROR_MASK != 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bitflags::parser::to_writer(self, f)
    }
}

/// What a completed descriptor did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Send.
    Send,
    /// Receive.
    Receive,
    /// RDMA write.
    RdmaWrite,
    /// A peer's RDMA write with immediate data.
    RemoteRdmaWrite,
    /// RDMA read.
    RdmaRead,
}

/// A descriptor in registered memory that is not posted: to be posted, or completed. It can be
/// posted again and again.
#[derive(Debug)]
pub struct Descriptor {
    region: Region,
    segment: Segment,
    segments: u16,
    control: u16,
    immediate: u32,
    /// Bytes in all segments.
    total: u32,
    /// The regions of its segments: they stay as long as the descriptor.
    _data: Vec<Region>,
    completion: Completion,
}

/// A place in a peer's memory: what the two programs tell each other before an RDMA operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// The peer's virtual address of its first byte.
    pub address: u64,
    /// The handle of the peer's region.
    pub handle: u32,
}

/// What the NIC wrote.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Completion {
    status: u32,
    length: u32,
    immediate: u32,
}

/// A descriptor in the making: segments and immediate data are checked as they are added.
#[derive(Debug, Default)]
pub struct DescriptorBuilder {
    segments: Vec<[u64; 2]>,
    data: Vec<Region>,
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
        let bytes = u32::try_from(length).map_err(|_| Error::Length)?;
        self.total = self.total.checked_add(bytes).ok_or(Error::Length)?;
        let mut words = [0; 2];
        data_segment::ADDRESS.put(&mut words, place.as_ptr() as u64);
        data_segment::HANDLE.put(&mut words, region.handle().into());
        data_segment::LENGTH.put(&mut words, bytes.into());
        self.segments.push(words);
        self.data.push(region.clone());
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
        // SAFETY: the descriptor keeps a clone of the region, hence the memory, into which nobody makes references.
        let segment = unsafe { Segment::new(region, start) }?;
        let words: Vec<u8> = self.segments.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        region.write(offset + CONTROL_SEGMENT_BYTES, &words)?;
        let flags = if self.immediate.is_some() { control::IMMEDIATE } else { 0 };
        Ok(Descriptor {
            region: region.clone(),
            segment,
            // At most MAX_SEGMENTS.
            segments: self.segments.len() as u16,
            control: self.control | flags,
            immediate: self.immediate.unwrap_or(0),
            total: self.total,
            _data: self.data,
            completion: Completion::default(),
        })
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

    /// Where it lies in its region, in bytes from the region's start.
    pub fn offset(&self) -> usize {
        self.address() - self.region.address()
    }

    /// Its virtual address.
    pub fn address(&self) -> usize {
        self.segment.start().as_ptr() as usize
    }

    /// The region that it lies in.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// How it completed; empty before.
    pub fn status(&self) -> Status {
        Status::from_bits_truncate(self.completion.status)
    }

    /// What it did; None when the NIC names an operation that does not exist.
    pub fn operation(&self) -> Option<Operation> {
        match self.completion.status & status::OP_MASK {
            status::OP_SEND => Some(Operation::Send),
            status::OP_RECEIVE => Some(Operation::Receive),
            status::OP_RDMA_WRITE => Some(Operation::RdmaWrite),
            status::OP_REMOTE_RDMA_WRITE => Some(Operation::RemoteRdmaWrite),
            status::OP_RDMA_READ => Some(Operation::RdmaRead),
            _ => None,
        }
    }

    /// An error of the descriptor's is one of the call's.
    pub(crate) fn judged(self) -> Result<Self, Error> {
        if self.status().is_error() {
            return Err(Error::Descriptor(Box::new(self)));
        }
        Ok(self)
    }

    /// Bytes transferred.
    pub fn length(&self) -> usize {
        self.completion.length as usize
    }

    /// The immediate data that came with the message, if any.
    pub fn immediate(&self) -> Option<u32> {
        self.status().contains(Status::IMMEDIATE).then_some(self.completion.immediate)
    }

    /// Sends other immediate data when it is posted next.
    pub fn set_immediate(&mut self, data: Option<u32>) {
        self.immediate = data.unwrap_or(0);
        let flag = if data.is_some() { control::IMMEDIATE } else { 0 };
        self.control = self.control & !control::IMMEDIATE | flag;
    }
}

impl sealed::Form for Descriptor {
    fn is_complete(&self) -> bool {
        self.segment.is_complete()
    }

    fn flush(&self, direction: Direction) {
        self.segment.flush(direction);
    }

    fn token(&self) -> u64 {
        self.shortened(self.segment.token(self.region.handle(), self.region.address()))
    }

    fn shortened(&self, token: u64) -> u64 {
        shortened(token, self.segments)
    }

    fn prepare(&mut self) {
        self.completion = Completion::default();
        let mut words: Words = [0; 4];
        control_segment::SEG_COUNT.put(&mut words, self.segments.into());
        control_segment::CONTROL.put(&mut words, self.control.into());
        control_segment::IMMEDIATE.put(&mut words, self.immediate.into());
        control_segment::LENGTH.put(&mut words, self.total.into());
        self.segment.store(words);
    }

    fn is_flushed(&self) -> bool {
        self.segment.status() & status::DESC_FLUSHED_ERROR != 0
    }

    fn renew(&mut self) {
        self.prepare();
    }

    fn member(queues: Arc<ViQueues<Self>>) -> Member {
        Member::Owned(queues)
    }

    fn of_member(member: &Member) -> Option<&Arc<ViQueues<Self>>> {
        match member {
            Member::Owned(queues) => Some(queues),
            Member::Raw(_) => None,
        }
    }

    fn finish(&mut self) -> bool {
        if !self.segment.is_complete() {
            return false;
        }
        let words = self.segment.load();
        self.completion = Completion {
            status: control_segment::STATUS.get(&words) as u32,
            length: control_segment::LENGTH.get(&words) as u32,
            immediate: control_segment::IMMEDIATE.get(&words) as u32,
        };
        true
    }
}
