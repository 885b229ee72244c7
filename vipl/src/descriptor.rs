//! Descriptors: what is posted, and what comes back.

use std::{fmt, sync::Arc};

use viaduct_driver::queues::Direction;
use viaduct_spec::descriptor::{control, control_segment, status};

use crate::{
    form::{shortened, OnQueue, Segment, Words},
    registered::Registered,
    status::Status,
};

/// Registered memory, as descriptors keep it: it stays registered as long as somebody has it.
pub(crate) trait Memory: fmt::Debug + Send + Sync {
    /// Its handle.
    fn handle(&self) -> u32;
    /// Virtual address of its first byte.
    fn address(&self) -> usize;
    /// The table that it is in: that of its NIC.
    fn table(&self) -> &Registered;
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
    /// That it lies in.
    memory: Arc<dyn Memory>,
    segment: Segment,
    segments: u16,
    control: u16,
    immediate: u32,
    /// Bytes in all segments.
    total: u32,
    /// That of its segments: it stays as long as the descriptor.
    _data: Vec<Arc<dyn Memory>>,
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

impl Descriptor {
    /// One whose control segment lies in `memory`, with so many segments, of so many bytes in all, in `data`.
    pub(crate) fn of(
        memory: Arc<dyn Memory>,
        segment: Segment,
        (segments, total, data): (u16, u32, Vec<Arc<dyn Memory>>),
        control: u16,
        immediate: u32,
    ) -> Self {
        let completion = Completion::default();
        Self { memory, segment, segments, control, immediate, total, _data: data, completion }
    }

    /// Where it lies in its region, in bytes from the region's start.
    pub fn offset(&self) -> usize {
        self.address() - self.memory.address()
    }

    /// Its virtual address.
    pub fn address(&self) -> usize {
        self.segment.start().as_ptr() as usize
    }

    /// The memory that it lies in.
    pub(crate) fn memory(&self) -> &dyn Memory {
        &*self.memory
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
}

impl OnQueue for Descriptor {
    fn is_complete(&self) -> bool {
        self.segment.is_complete()
    }

    fn flush(&self, direction: Direction) {
        self.segment.flush(direction);
    }

    fn token(&self) -> u64 {
        self.shortened(self.segment.token(self.memory.handle(), self.memory.address()))
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
