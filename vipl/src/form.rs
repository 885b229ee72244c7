//! The two forms of a descriptor on a work queue: the [`Descriptor`](crate::Descriptor), which owns its memory, and the
//! [`RawDescriptor`], which lies in memory of the program's and was written by it, as C programs have it.

use std::{
    fmt,
    ptr::NonNull,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        Arc,
    },
};

use viaduct_driver::{agent::vis::Direction, barrier};
use viaduct_spec::{
    descriptor::{control, control_segment, status, ALIGNMENT, CONTROL_SEGMENT_BYTES},
    doorbell,
    handle::memory_handle,
};

use crate::{Error, Region, Status};

/// What a work queue needs of a descriptor. Nobody else implements it.
pub trait Form: sealed::Form {}

impl<D: sealed::Form> Form for D {}

pub(crate) mod sealed {
    use super::{fmt, Direction};

    pub trait Form: fmt::Debug + Send {
        /// Whether the NIC is done with it. What it wrote before is visible when this is true.
        fn is_complete(&self) -> bool;
        /// Completes it in the NIC's place: flushed. For a NIC that can no longer write to it.
        fn flush(&self, direction: Direction);
        /// Its token at ring position `position`.
        fn token(&self, position: u16) -> u64;
        /// It is about to be posted: status 0.
        fn prepare(&mut self);
        /// It is complete, and off the queue.
        fn finish(&mut self);
        /// Whether it was taken off unexecuted.
        fn is_flushed(&self) -> bool;
        /// It is about to be posted once more, as it was.
        fn renew(&mut self);
    }
}

/// The control segment of a descriptor in memory: its first 32 bytes, at a multiple of 64.
#[derive(Debug, Clone, Copy)]
pub struct Segment(NonNull<AtomicU64>);

// SAFETY: whoever made it keeps its memory, and it is only ever accessed as atomics.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// The words of a control segment.
pub(crate) type Words = [u64; CONTROL_SEGMENT_BYTES / 8];

impl Segment {
    /// The control segment at `start`, of a descriptor of `bytes` bytes which lie in `region`.
    ///
    /// # Safety
    /// It is used only while the memory stays mapped, and nobody makes references into it.
    pub(crate) unsafe fn new(region: &Region, start: NonNull<u8>) -> Result<Self, Error> {
        if start.as_ptr() as usize % ALIGNMENT != 0 {
            return Err(Error::Alignment(start.as_ptr() as usize));
        }
        if region.is_read_only() {
            return Err(Error::ReadOnly);
        }
        Ok(Self(start.cast()))
    }

    /// Its address.
    pub(crate) fn start(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// A word of the control segment.
    fn word(&self, word: usize) -> &AtomicU64 {
        assert!(word < CONTROL_SEGMENT_BYTES / 8, "it has four");
        // SAFETY: inside the control segment, aligned to 64 bytes, and mapped while this is used: `new`.
        unsafe { self.0.add(word).as_ref() }
    }

    /// Its token in `region`, at ring position `position`.
    pub(crate) fn token(self, region: u32, base: usize, position: u16) -> u64 {
        let index = memory_handle::INDEX.get(&[region.into()]);
        let base = base & !(ALIGNMENT - 1);
        let offset = (self.start().as_ptr() as usize - base) / ALIGNMENT;
        let token = doorbell::encode(index as u16, offset as u64, position);
        // Fewer bytes of a descriptor with one segment have to cross the bus.
        let words = [0, self.word(1).load(Ordering::Relaxed), 0, 0];
        if control_segment::SEG_COUNT.get(&words) <= 1 {
            doorbell::short(token)
        } else {
            token
        }
    }

    pub(crate) fn store(self, words: Words) {
        for (word, value) in words.into_iter().enumerate() {
            self.word(word).store(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn load(self) -> Words {
        std::array::from_fn(|word| self.word(word).load(Ordering::Acquire))
    }

    /// Whether the NIC is done with it. What it wrote before is visible when this is true.
    pub(crate) fn is_complete(self) -> bool {
        // Length and Status are one aligned 8-byte word, and the NIC writes it at once.
        let word = [0, 0, 0, self.word(3).load(Ordering::Acquire)];
        barrier::from_device();
        control_segment::STATUS.get(&word) as u32 & (status::DONE | status::ERROR_MASK) != 0
    }

    /// What the NIC wrote last.
    pub(crate) fn status(self) -> u32 {
        control_segment::STATUS.get(&self.load()) as u32
    }

    /// Completes it in the NIC's place: flushed. For a NIC that can no longer write to it.
    pub(crate) fn flush(self, direction: Direction) {
        let operation = match direction {
            Direction::Receive => status::OP_RECEIVE,
            Direction::Send => match control_segment::CONTROL.get(&self.load()) as u16 & control::OP_MASK {
                control::OP_RDMAWRITE => status::OP_RDMA_WRITE,
                control::OP_RDMAREAD => status::OP_RDMA_READ,
                _ => status::OP_SEND,
            },
        };
        let mut words = [0; 4];
        let flushed = status::DONE | status::DESC_FLUSHED_ERROR | operation;
        control_segment::STATUS.put(&mut words, flushed.into());
        self.word(3).store(words[3], Ordering::Release);
    }
}

/// A descriptor in memory of the program's, which wrote it itself and looks into it itself.
#[derive(Debug)]
pub struct RawDescriptor {
    segment: Segment,
    /// Handle of its region, which may be deregistered before it is complete: then the NIC says so.
    region: u32,
    /// First byte of its region.
    base: usize,
    /// The region is registered. When it is not any more, its memory may be gone, and is not touched; nor will the NIC.
    live: Arc<AtomicBool>,
    /// The word of Length and Status that it was posted with.
    posted: u64,
}

impl RawDescriptor {
    /// The descriptor at `start`, whose first 64 bytes must lie in `region`.
    ///
    /// # Safety
    /// As [`crate::Vi::post_at`].
    pub(crate) unsafe fn new(region: &Region, start: NonNull<u8>) -> Result<Self, Error> {
        let address = start.as_ptr() as usize;
        // Two segments belong to every descriptor; only the control segment is touched here.
        let offset = address.checked_sub(region.address());
        let range = |offset| Error::Range { offset, length: CONTROL_SEGMENT_BYTES, region: region.length() };
        region.place(offset.ok_or_else(|| range(usize::MAX))?, CONTROL_SEGMENT_BYTES)?;
        // SAFETY: the caller's promise.
        let segment = unsafe { Segment::new(region, start) }?;
        let live = Arc::clone(region.live());
        Ok(Self { segment, region: region.handle(), base: region.address(), live, posted: 0 })
    }

    /// Where it lies.
    pub fn address(&self) -> NonNull<u8> {
        self.segment.start()
    }

    /// How it completed. Of one whose region has been deregistered nobody knows: a protection error.
    pub fn status(&self) -> Status {
        if !self.is_live() {
            return Status::DONE | Status::PROTECTION_ERROR;
        }
        Status::from_bits_truncate(self.segment.status())
    }

    fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }
}

impl sealed::Form for RawDescriptor {
    fn is_complete(&self) -> bool {
        !self.is_live() || self.segment.is_complete()
    }

    fn flush(&self, direction: Direction) {
        if self.is_live() {
            self.segment.flush(direction);
        }
    }

    fn token(&self, position: u16) -> u64 {
        self.segment.token(self.region, self.base, position)
    }

    fn prepare(&mut self) {
        let mut words = self.segment.load();
        self.posted = words[3];
        if control_segment::STATUS.get(&words) == 0 {
            return;
        }
        // A status that is not 0 is a format error, which the NIC finds. Until it says so the descriptor must not look
        // complete: another bit stands for those that were there.
        control_segment::STATUS.put(&mut words, (status::RESERVED & status::RESERVED.wrapping_neg()).into());
        self.segment.word(3).store(words[3], Ordering::Relaxed);
        self.posted = words[3];
    }

    fn finish(&mut self) {}

    fn is_flushed(&self) -> bool {
        self.is_live() && self.segment.status() & status::DESC_FLUSHED_ERROR != 0
    }

    fn renew(&mut self) {
        self.segment.word(3).store(self.posted, Ordering::Relaxed);
    }
}
