//! The two forms of a descriptor on a work queue: the [`Descriptor`](crate::Descriptor), which owns its memory, and the
//! [`RawDescriptor`], which lies in memory of the program's and was written by it, as C programs have it.

use std::{
    fmt,
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

use viaduct_driver::{barrier, queues::Direction};
use viaduct_spec::{
    descriptor::{control, control_segment, status, ALIGNMENT, CONTROL_SEGMENT_BYTES},
    doorbell,
    handle::memory_handle,
};

use crate::{
    registered::{Found, Registration},
    status::Status,
};

/// What a work queue needs of a descriptor on it.
pub trait OnQueue: fmt::Debug + Send {
    /// Whether the NIC is done with it. What it wrote before is visible when this is true.
    fn is_complete(&self) -> bool;
    /// Completes it in the NIC's place: flushed. For a NIC that can no longer write to it.
    fn flush(&self, direction: Direction);
    /// Its token, at ring position 0.
    fn token(&self) -> u64;
    /// [`OnQueue::token`], from one that says nothing of its length.
    fn shortened(&self, token: u64) -> u64;
    /// It is about to be posted: its status becomes 0, or what stands for a status that the program has left there.
    fn prepare(&mut self);
    /// [`OnQueue::prepare`], unless that has to write to memory of the program's: then it has done nothing.
    fn try_prepare(&mut self) -> bool {
        self.prepare();
        true
    }
    /// Whether the NIC is done with it; if so, what the NIC wrote is kept, and it may come off the queue.
    fn finish(&mut self) -> bool;
    /// Whether it was taken off unexecuted.
    fn is_flushed(&self) -> bool;
    /// It is about to be posted once more, as it was.
    fn renew(&mut self);
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
    /// The control segment at `start`, an address that is a multiple of 64.
    ///
    /// # Safety
    /// Memory is there that may be written. It is used only while the memory stays mapped, and nobody makes references into it.
    pub(crate) unsafe fn at(start: NonNull<u8>) -> Self {
        Self(start.cast())
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

    /// Its token in `region`, at ring position 0, which says nothing of its length.
    #[inline]
    pub(crate) fn token(self, region: u32, base: usize) -> u64 {
        let index = memory_handle::INDEX.get(&[region.into()]);
        let base = base & !(ALIGNMENT - 1);
        let offset = (self.start().as_ptr() as usize - base) / ALIGNMENT;
        doorbell::encode(index as u16, offset as u64, 0)
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
        let word = self.word(3).load(Ordering::Acquire);
        barrier::from_device();
        is_final(status_of(word))
    }

    /// Half a word, from this bit of the control segment on.
    ///
    /// # Safety
    /// No thread writes to the word meanwhile: atomics of two sizes are none to each other. The NIC may, which is no thread.
    #[inline]
    unsafe fn half(self, bit: usize) -> u32 {
        assert!(bit % 32 == 0 && bit / 8 < CONTROL_SEGMENT_BYTES, "no half of a word");
        // To Miri the NIC is a thread.
        if cfg!(miri) {
            return (self.word(bit / 64).load(Ordering::Acquire) >> (bit % 64)) as u32;
        }
        // SAFETY: inside the control segment, and aligned; and the caller's promise.
        unsafe { self.0.byte_add(bit / 8).cast::<AtomicU32>().as_ref() }.load(Ordering::Acquire)
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
    /// The word of Length and Status: that it was posted with, and from [`OnQueue::finish`] on that it completed with.
    word: u64,
}

impl RawDescriptor {
    /// The descriptor with this control segment, in memory of this registration.
    pub(crate) fn new(segment: Segment, registration: Registration) -> Self {
        Self { segment, registration, word: 0 }
    }

    /// The descriptor at `start` of the region with this handle, if that is the one that was found, and a descriptor may lie there; and its token,
    /// at ring position 0, which says nothing of its length.
    ///
    /// # Safety
    /// As [`crate::Vi::post_at`]; what was found is of the table of the VI's NIC.
    #[inline(always)]
    pub(crate) unsafe fn of(found: &Found, handle: u32, start: *mut u8) -> Option<(Self, u64)> {
        // SAFETY: the caller's promise.
        let (registration, token) = unsafe { found.at(handle, start.addr()) }?;
        // SAFETY: there is no room at address 0.
        let segment = Segment(unsafe { NonNull::new_unchecked(start) }.cast());
        Some((Self { segment, registration, word: 0 }, token))
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

/// The token of a descriptor with so many segments beside the control segment, from one that says nothing of its length.
#[inline]
pub(crate) fn shortened(token: u64, segments: u16) -> u64 {
    // Fewer bytes of a descriptor with one segment have to cross the bus.
    if segments <= 1 {
        doorbell::short(token)
    } else {
        token
    }
}

/// Whether the NIC is done with a descriptor of this status.
#[inline]
fn is_final(status: u32) -> bool {
    status & (status::DONE | status::ERROR_MASK) != 0
}

/// The status in the word of Length and Status.
#[inline]
fn status_of(word: u64) -> u32 {
    control_segment::STATUS.get(&[0, 0, 0, word]) as u32
}

impl OnQueue for RawDescriptor {
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
    fn token(&self) -> u64 {
        // SAFETY: as in `is_live`.
        self.shortened(unsafe { self.registration.token(self.address().addr().get()) })
    }

    #[inline]
    fn shortened(&self, token: u64) -> u64 {
        const { assert!(control_segment::SEG_COUNT.width == 16, "it is less than half a word") };
        // SAFETY: it is about to be posted, so nobody writes to it: `Vi::post_at`.
        shortened(token, unsafe { self.segment.half(control_segment::SEG_COUNT.lo) } as u16)
    }

    #[inline]
    fn try_prepare(&mut self) -> bool {
        // SAFETY: as above.
        if unsafe { self.segment.half(control_segment::STATUS.lo) } != 0 {
            return false;
        }
        self.word = self.segment.word(3).load(Ordering::Relaxed);
        true
    }

    fn prepare(&mut self) {
        if !self.try_prepare() {
            self.word = mark(self.segment);
        }
    }

    #[inline]
    fn finish(&mut self) -> bool {
        if !self.is_live() {
            // Nobody knows.
            self.word = control_segment::STATUS.of((status::DONE | status::PROTECTION_ERROR) as u64);
            return true;
        }
        // SAFETY: it is posted, so only the NIC writes to it: `Vi::post_at`.
        if !is_final(unsafe { self.segment.half(control_segment::STATUS.lo) }) {
            return false;
        }
        barrier::from_device();
        // Length and Status are one aligned 8-byte word, and the NIC writes it at once: whoever has seen half of it sees all of it now.
        self.word = self.segment.word(3).load(Ordering::Relaxed);
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
fn mark(segment: Segment) -> u64 {
    let mut words = segment.load();
    control_segment::STATUS.put(&mut words, (status::RESERVED & status::RESERVED.wrapping_neg()).into());
    segment.word(3).store(words[3], Ordering::Relaxed);
    words[3]
}
