//! The memory of the raw channel. It is registered with the NIC for as long as the channel is open, and is made of slots: each has a descriptor of one
//! segment, and behind it the buffer that the segment names. The slots of receives come first, then those of sends. The NIC reads and writes a
//! slot from its post until its descriptor is complete; the channel does before and after.

use std::sync::{
    atomic::{AtomicU64, Ordering},
    Arc,
};

use viaduct_spec::{
    descriptor::{control_segment, data_segment, status, COMPLETION_OFFSET},
    doorbell,
    handle::memory_handle,
};

use crate::memory::Mapping;

/// Frames that wait for [`RawChannel::receive`](super::RawChannel::receive), at most.
pub const RECEIVES: usize = 64;
/// Frames on their way out, at most.
pub const SENDS: usize = 16;

/// Most bytes of a frame that arrives: 4224 and a VLAN tag.
pub(super) const LONGEST_ARRIVAL: usize = 4228;
/// Bytes of all slots.
pub(super) const BYTES: usize = (RECEIVES + SENDS) * SLOT;

/// Where a slot's buffer starts; before it its descriptor.
const BUFFER: usize = 64;
/// Bytes of a slot: whole units of 64.
const SLOT: usize = (BUFFER + LONGEST_ARRIVAL).next_multiple_of(64);

/// The slot that the receive at a ring position has.
pub(super) fn of_receive(position: u64) -> usize {
    position as usize % RECEIVES
}

/// The slot that the send at a ring position has.
pub(super) fn of_send(position: u64) -> usize {
    RECEIVES + position as usize % SENDS
}

/// All slots, numbered by [`of_receive`] and [`of_send`].
pub(super) struct Slots {
    memory: Arc<Mapping>,
    handle: u32,
}

impl Slots {
    /// The slots in [`BYTES`] bytes of memory that are registered under this handle.
    pub fn new(memory: Arc<Mapping>, handle: u32) -> Self {
        Self { memory, handle }
    }

    /// The handle of their memory.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// Keeps the memory for ever, because the NIC may still reach it.
    pub fn leak(&self) {
        std::mem::forget(Arc::clone(&self.memory));
    }

    /// Writes the descriptor of a slot: one segment, its buffer, of `length` bytes. The token that posts it at a ring position.
    pub fn describe(&self, slot: usize, position: u16, length: usize) -> u64 {
        let mut words = [0; 6];
        control_segment::SEG_COUNT.put(&mut words, 1);
        control_segment::LENGTH.put(&mut words, length as u64);
        let (_, segment) = words.split_at_mut(4);
        data_segment::ADDRESS
            .put(segment, (self.memory.start().as_ptr() as usize + slot * SLOT + BUFFER) as u64);
        data_segment::HANDLE.put(segment, self.handle.into());
        data_segment::LENGTH.put(segment, length as u64);
        for (n, word) in words.into_iter().enumerate() {
            self.word(slot, 8 * n).store(word, Ordering::Relaxed);
        }
        let region = memory_handle::INDEX.get(&[self.handle.into()]) as u16;
        doorbell::encode(region, (slot * SLOT / 64) as u64, position)
    }

    /// Copies a frame into a slot's buffer.
    ///
    /// # Safety
    /// The NIC is done with the slot, no other thread reads or writes its buffer meanwhile, and the frame fits.
    pub unsafe fn put(&self, slot: usize, frame: &[u8]) {
        // SAFETY: the buffer lies inside the mapping, and is nobody else's, as the caller promises; the frame is elsewhere.
        unsafe {
            let buffer = self.memory.start().as_ptr().add(slot * SLOT + BUFFER);
            buffer.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
        }
    }

    /// The frame of `length` bytes in a slot's buffer.
    ///
    /// # Safety
    /// The NIC is done with the slot, no other thread writes its buffer meanwhile, and it has `length` bytes.
    pub unsafe fn frame(&self, slot: usize, length: usize) -> Vec<u8> {
        let mut frame = vec![0; length];
        // SAFETY: the buffer lies inside the mapping, and nobody writes it, as the caller promises; `length` bytes of it.
        unsafe {
            let buffer = self.memory.start().as_ptr().add(slot * SLOT + BUFFER);
            frame.as_mut_ptr().copy_from_nonoverlapping(buffer, length);
        }
        frame
    }

    /// Status and length of a slot's descriptor, if it is complete.
    pub fn completion(&self, slot: usize) -> Option<(u32, u32)> {
        let word = self.word(slot, COMPLETION_OFFSET as usize).load(Ordering::Acquire);
        let words = [0, 0, 0, word];
        let status = control_segment::STATUS.get(&words) as u32;
        let done = status & (status::DONE | status::ERROR_MASK) != 0;
        done.then(|| (status, control_segment::LENGTH.get(&words) as u32))
    }

    /// A word of a slot's descriptor.
    fn word(&self, slot: usize, offset: usize) -> &AtomicU64 {
        // SAFETY: inside the mapping, aligned to 8 bytes (it starts at a page, and slots are multiples of 64), and
        // descriptors are only ever accessed as atomics (and by the NIC).
        unsafe { &*self.memory.start().as_ptr().add(slot * SLOT + offset).cast::<AtomicU64>() }
    }
}
