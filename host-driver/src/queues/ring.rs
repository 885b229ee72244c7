//! The token ring of a work queue.

use std::{
    ptr::NonNull,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc,
    },
};

use crate::memory::Mapping;

/// log2 of the most slots of a ring (VIP_NIC_ATTRIBUTES.MaxDescriptorsPerQueue).
pub const MAX_RING_LOG2: u32 = 10;
/// log2 of the fewest slots of a ring.
pub const MIN_RING_LOG2: u32 = 3;
/// Bytes that each ring has in an arena.
pub const RING_BYTES: usize = 8 << MAX_RING_LOG2;

/// Bytes of an arena that holds the rings of `vis` VIs.
pub fn arena_bytes(vis: u16) -> usize {
    usize::from(vis) * 2 * RING_BYTES
}

/// The token ring of a work queue, in an arena.
#[derive(Debug, Clone)]
pub struct Ring {
    /// It stays as long as the ring.
    _arena: Arc<Mapping>,
    /// In bytes from the arena's start.
    offset: usize,
    log2: u32,
    /// One less than there are slots.
    mask: u16,
    /// The first slot, in the arena.
    start: NonNull<AtomicU64>,
}

// SAFETY: the pointer leads into the arena, whose slots are atomics.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// The ring of 2^`log2` slots at `offset` of an arena; None if it does not lie in it.
    pub fn new(arena: &Arc<Mapping>, offset: usize, log2: u32) -> Option<Self> {
        let sound = (MIN_RING_LOG2..=MAX_RING_LOG2).contains(&log2) && offset % 64 == 0;
        let inside =
            offset.checked_add(8 << log2.min(MAX_RING_LOG2)).is_some_and(|end| end <= arena.length());
        (sound && inside).then(|| {
            // SAFETY: the ring lies inside the arena.
            let start = unsafe { arena.start().byte_add(offset) }.cast();
            Self { _arena: Arc::clone(arena), offset, log2, mask: ((1u32 << log2) - 1) as u16, start }
        })
    }

    /// Slots.
    #[inline]
    pub fn slots(&self) -> usize {
        1 << self.log2
    }

    /// log2 of the slots.
    pub fn log2(&self) -> u32 {
        self.log2
    }

    /// Bytes from the arena's start.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Writes the slot of ring position `position`.
    #[inline]
    pub fn store(&self, position: u16, token: u64) {
        self.slot((position & self.mask).into()).store(token, Ordering::Release);
    }

    /// The slot of ring position `position`.
    pub fn load(&self, position: u16) -> u64 {
        self.slot((position & self.mask).into()).load(Ordering::Acquire)
    }

    /// Empties every slot.
    pub fn clear(&self) {
        for slot in 0..self.slots() {
            self.slot(slot).store(0, Ordering::Relaxed);
        }
    }

    /// The slot with this number, which is less than the ring's slots.
    #[inline]
    fn slot(&self, slot: usize) -> &AtomicU64 {
        debug_assert!(slot < self.slots());
        // SAFETY: the ring lies inside the arena (`new`), which lives as long as `self`, is aligned to 64
        // bytes and only ever accessed as atomics (and by the NIC).
        unsafe { self.start.add(slot).as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_wrap_in_the_ring_and_rings_do_not_touch() {
        let arena = Arc::new(Mapping::new(arena_bytes(1)).expect("memory"));
        let ring = |offset| Ring::new(&arena, offset, 3).expect("inside");
        let (first, second) = (ring(0), ring(RING_BYTES));
        for position in 0..9 {
            first.store(position, 100 + u64::from(position));
        }
        first.store(0x3fff, 7);
        second.store(0, 1);
        let slots: Vec<u64> = (0..8).map(|n| first.slot(n).load(Ordering::Relaxed)).collect();
        assert_eq!(slots, [108, 101, 102, 103, 104, 105, 106, 7]);
        assert_eq!(second.slot(0).load(Ordering::Relaxed), 1);
        first.clear();
        assert_eq!(first.slot(7).load(Ordering::Relaxed), 0);
        assert_eq!(second.slot(0).load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_ring_lies_in_its_arena() {
        let arena = Arc::new(Mapping::new(arena_bytes(1)).expect("memory"));
        let at = |offset, log2| Ring::new(&arena, offset, log2).is_some();
        assert!(at(RING_BYTES, MAX_RING_LOG2) && at(2 * RING_BYTES - 64, 3));
        assert!(!at(RING_BYTES + 64, MAX_RING_LOG2) && !at(2 * RING_BYTES, 3) && !at(usize::MAX - 63, 3));
        assert!(!at(32, 3) && !at(0, MAX_RING_LOG2 + 1) && !at(0, 2) && !at(0, u32::MAX));
    }
}
