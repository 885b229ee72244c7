//! Descriptors: what is posted, and what comes back.

use std::{
    fmt,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use viaduct_spec::{
    descriptor::{
        address_segment, control, control_segment, data_segment, status, ALIGNMENT, CONTROL_SEGMENT_BYTES,
        MAX_SEGMENTS, SEGMENT_BYTES,
    },
    doorbell,
    handle::memory_handle,
};

use crate::{Error, Region};

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
    /// Its 64-byte aligned place.
    place: Place,
    segments: u16,
    control: u16,
    immediate: u32,
    /// Bytes in all segments.
    total: u32,
    /// The regions of its segments: they stay as long as the descriptor.
    _data: Vec<Region>,
    completion: Completion,
}

/// The first 32 bytes of a descriptor in memory.
#[derive(Debug, Clone, Copy)]
struct Place(NonNull<AtomicU64>);

// SAFETY: it is inside a region, which may be used from any thread, and only ever accessed as atomics.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

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
        if start.as_ptr() as usize % ALIGNMENT != 0 {
            return Err(Error::Alignment(start.as_ptr() as usize));
        }
        if region.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let place = Place(start.cast());
        for (word, value) in (CONTROL_SEGMENT_BYTES / 8..).zip(self.segments.iter().flatten()) {
            place.word(word).store(*value, Ordering::Relaxed);
        }
        let flags = if self.immediate.is_some() { control::IMMEDIATE } else { 0 };
        Ok(Descriptor {
            region: region.clone(),
            place,
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

impl Place {
    /// A word of the descriptor. Private to this file, which keeps `word` inside what was checked.
    fn word(&self, word: usize) -> &AtomicU64 {
        // SAFETY: `build` has checked that the descriptor lies in its region, aligned to 64 bytes,
        // and the descriptor's clone of the region keeps the memory.
        unsafe { self.0.add(word).as_ref() }
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
        self.place.0.as_ptr() as usize
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

    /// Writes the control segment as it has to be when posted: status 0.
    pub(crate) fn prepare(&mut self) {
        self.completion = Completion::default();
        let mut words = [0; CONTROL_SEGMENT_BYTES / 8];
        control_segment::SEG_COUNT.put(&mut words, self.segments.into());
        control_segment::CONTROL.put(&mut words, self.control.into());
        control_segment::IMMEDIATE.put(&mut words, self.immediate.into());
        control_segment::LENGTH.put(&mut words, self.total.into());
        for (word, value) in words.into_iter().enumerate() {
            self.place.word(word).store(value, Ordering::Relaxed);
        }
    }

    /// Its token at ring position `position`.
    pub(crate) fn token(&self, position: u16) -> u64 {
        let index = memory_handle::INDEX.get(&[self.region.handle().into()]);
        let base = self.region.address() & !(ALIGNMENT - 1);
        doorbell::encode(index as u16, ((self.address() - base) / ALIGNMENT) as u64, position)
    }

    /// Whether the NIC is done with it. What it wrote before is visible when this is true.
    pub(crate) fn is_complete(&self) -> bool {
        // Length and Status are one aligned 8-byte word, and the NIC writes it at once.
        let word = [0, 0, 0, self.place.word(3).load(Ordering::Acquire)];
        control_segment::STATUS.get(&word) as u32 & (status::DONE | status::ERROR_MASK) != 0
    }

    /// Takes over what the NIC wrote. To be called when it is complete.
    pub(crate) fn finish(&mut self) {
        let words: [u64; 4] = std::array::from_fn(|word| self.place.word(word).load(Ordering::Acquire));
        self.completion = Completion {
            status: control_segment::STATUS.get(&words) as u32,
            length: control_segment::LENGTH.get(&words) as u32,
            immediate: control_segment::IMMEDIATE.get(&words) as u32,
        };
    }

    /// Completes it in the NIC's place: flushed. For a NIC that can no longer write to it.
    pub(crate) fn flush(&mut self) {
        let mut words = [0; 4];
        control_segment::STATUS.put(&mut words, (status::DONE | status::DESC_FLUSHED_ERROR).into());
        self.place.word(3).store(words[3], Ordering::Release);
    }
}
