//! The two forms of a descriptor on a work queue: the [`Descriptor`](crate::Descriptor), which owns its memory, and the
//! [`RawDescriptor`], which lies in memory of the program's and was written by it, as C programs have it.

use std::{
    fmt,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use viaduct_driver::{agent::vis::Direction, barrier};
use viaduct_spec::{
    descriptor::{control, control_segment, status, ALIGNMENT, CONTROL_SEGMENT_BYTES},
    doorbell,
    handle::memory_handle,
};

use crate::{
    registered::{Registered, Registration},
    Error, Region, Status,
};

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
        /// Whether the NIC is done with it; if so, what the NIC wrote is kept, and it may come off the queue.
        fn finish(&mut self) -> bool;
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
    #[inline]
    pub(crate) fn start(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// A word of the control segment.
    #[inline]
    fn word(&self, word: usize) -> &AtomicU64 {
        assert!(word < CONTROL_SEGMENT_BYTES / 8, "it has four");
        // SAFETY: inside the control segment, aligned to 64 bytes, and mapped while this is used: `new`.
        unsafe { self.0.add(word).as_ref() }
    }

    /// Its token in `region`, at ring position `position`.
    #[inline]
    pub(crate) fn token(self, region: u32, base: usize, position: u16) -> u64 {
        let index = memory_handle::INDEX.get(&[region.into()]);
        let base = base & !(ALIGNMENT - 1);
        let offset = (self.start().as_ptr() as usize - base) / ALIGNMENT;
        self.shortened(doorbell::encode(index as u16, offset as u64, position))
    }

    /// Its token, from one that says nothing of its length.
    #[inline]
    fn shortened(self, token: u64) -> u64 {
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
    #[inline]
    pub(crate) fn is_complete(self) -> bool {
        self.completed().is_some()
    }

    /// The word of Length and Status, if the NIC is done with it. What it wrote before is visible then.
    #[inline]
    pub(crate) fn completed(self) -> Option<u64> {
        // Length and Status are one aligned 8-byte word, and the NIC writes it at once.
        let word = self.word(3).load(Ordering::Acquire);
        barrier::from_device();
        (status_of(word) & (status::DONE | status::ERROR_MASK) != 0).then_some(word)
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
    /// Of its memory, while it is posted; it may end before the descriptor is complete: then the memory may be gone, and is not touched; nor
    /// will the NIC.
    registration: Registration,
    /// The word of Length and Status: that it was posted with, and from [`sealed::Form::finish`] on that it completed with.
    word: u64,
}

impl RawDescriptor {
    /// The descriptor at `start`, whose control segment must lie in `region`.
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
        Ok(Self { segment, registration: region.registration(), word: 0 })
    }

    /// The descriptor at `start` of the region with this handle; None if there is none, or it is none for a descriptor there.
    ///
    /// # Safety
    /// As [`crate::Vi::post_at`].
    #[inline]
    pub(crate) unsafe fn find(all: &Registered, handle: u32, start: NonNull<u8>) -> Option<Self> {
        let address = start.addr().get();
        let registration = all.find(handle, address)?;
        (address % ALIGNMENT == 0).then(|| Self { segment: Segment(start.cast()), registration, word: 0 })
    }

    /// Where it lies.
    #[inline]
    pub fn address(&self) -> NonNull<u8> {
        self.segment.start()
    }

    /// How it completed; empty before. Of one whose region has been deregistered nobody knows: a protection error.
    pub fn status(&self) -> Status {
        Status::from_bits_truncate(status_of(self.word))
    }

    /// Whether it completed in error.
    #[inline]
    pub(crate) fn is_error(&self) -> bool {
        status_of(self.word) & status::ERROR_MASK != 0
    }

    /// Its memory is registered. Only of one that is posted: its VI keeps the NIC.
    #[inline]
    fn is_live(&self) -> bool {
        // SAFETY: it is posted, or about to be: the VI has the NIC, and the NIC the table.
        unsafe { self.registration.is_live() }
    }
}

/// The status in the word of Length and Status.
#[inline]
fn status_of(word: u64) -> u32 {
    control_segment::STATUS.get(&[0, 0, 0, word]) as u32
}

impl sealed::Form for RawDescriptor {
    #[inline]
    fn is_complete(&self) -> bool {
        !self.is_live() || self.segment.is_complete()
    }

    fn flush(&self, direction: Direction) {
        if self.is_live() {
            self.segment.flush(direction);
        }
    }

    #[inline]
    fn token(&self, position: u16) -> u64 {
        let token = self.registration.token(self.address().addr().get());
        self.segment.shortened(token | doorbell::token::POSITION.of(position.into()))
    }

    #[inline]
    fn prepare(&mut self) {
        self.word = self.segment.word(3).load(Ordering::Relaxed);
        if status_of(self.word) != 0 {
            self.word = mark(self.segment, self.word);
        }
    }

    #[inline]
    fn finish(&mut self) -> bool {
        self.word = match self.is_live() {
            true => match self.segment.completed() {
                Some(word) => word,
                None => return false,
            },
            // Nobody knows.
            false => control_segment::STATUS.of((status::DONE | status::PROTECTION_ERROR) as u64),
        };
        true
    }

    fn is_flushed(&self) -> bool {
        self.is_live() && self.segment.status() & status::DESC_FLUSHED_ERROR != 0
    }

    fn renew(&mut self) {
        // Of memory that is gone the NIC says so.
        if self.is_live() {
            self.segment.word(3).store(self.word, Ordering::Relaxed);
        }
    }
}

/// A status that is not 0 is a format error, which the NIC finds. Until it says so the descriptor must not look complete: another bit stands for
/// those that were there, in the word of Length and Status, which this answers.
#[cold]
#[inline(never)]
fn mark(segment: Segment, word: u64) -> u64 {
    let mut words = [0, 0, 0, word];
    control_segment::STATUS.put(&mut words, (status::RESERVED & status::RESERVED.wrapping_neg()).into());
    segment.word(3).store(words[3], Ordering::Relaxed);
    words[3]
}
