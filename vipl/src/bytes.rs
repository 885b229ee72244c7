//! Bytes that others may change while they are copied: the NIC, other threads, the library itself where descriptors lie.
//!
//! Every aligned word of 8 bytes that lies in the region as a whole is always accessed as one [`AtomicU64`], and the few bytes before the
//! first and behind the last one as [`AtomicU8`]s. So no two accesses of this process to the same byte are of different sizes, which Rust's
//! memory model forbids where they race, and which descriptors' words would otherwise make with copies. All are relaxed: what the NIC
//! wrote before it completed a descriptor is seen because the status is loaded with acquire, and what is written before a post is seen
//! because the post fences.

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicU64, AtomicU8, Ordering::Relaxed},
};

/// Bytes of a word.
const WORD: usize = 8;

/// The bytes of a region that may be read and written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    start: NonNull<u8>,
    length: usize,
}

/// Where a byte is.
enum Place<'a> {
    /// In a word, so many bytes behind its first.
    Word(&'a AtomicU64, usize),
    /// Beside the words.
    Byte(&'a AtomicU8),
}

impl Bytes {
    /// The `length` bytes from `start` on.
    ///
    /// # Safety
    /// As long as this is used they are mapped for reading and writing, and every access of this process to them is through this, or an
    /// atomic one of the same size, or happens before or after.
    pub(crate) unsafe fn new(start: NonNull<u8>, length: usize) -> Self {
        Self { start, length }
    }

    /// Where the byte at `offset` is.
    fn place(&self, offset: usize) -> Place<'_> {
        assert!(offset < self.length, "outside the region");
        // SAFETY: inside the region.
        let byte = unsafe { self.start.add(offset) };
        let skip = byte.as_ptr() as usize % WORD;
        if offset >= skip && self.length - (offset - skip) >= WORD {
            // SAFETY: the whole word is inside the region and aligned; `new` says how it is accessed.
            return Place::Word(unsafe { byte.sub(skip).cast::<AtomicU64>().as_ref() }, skip);
        }
        // SAFETY: inside the region; `new` says how it is accessed.
        Place::Byte(unsafe { byte.cast::<AtomicU8>().as_ref() })
    }

    /// Copies the bytes from `offset` on, which are inside.
    pub(crate) fn read(&self, mut offset: usize, mut to: &mut [u8]) {
        while !to.is_empty() {
            let taken = match self.place(offset) {
                Place::Word(word, skip) => {
                    let count = to.len().min(WORD - skip);
                    to[..count].copy_from_slice(&word.load(Relaxed).to_ne_bytes()[skip..][..count]);
                    count
                }
                Place::Byte(byte) => {
                    to[0] = byte.load(Relaxed);
                    1
                }
            };
            offset += taken;
            to = &mut to[taken..];
        }
    }

    /// Changes the bytes from `offset` on, which are inside, and no other: those beside them in a word keep what others write there
    /// meanwhile.
    pub(crate) fn write(&self, mut offset: usize, mut from: &[u8]) {
        while !from.is_empty() {
            let taken = match self.place(offset) {
                Place::Word(word, 0) if from.len() >= WORD => {
                    let bytes = std::array::from_fn(|n| from[n]);
                    word.store(u64::from_ne_bytes(bytes), Relaxed);
                    WORD
                }
                Place::Word(word, skip) => {
                    let count = from.len().min(WORD - skip);
                    let mut old = word.load(Relaxed);
                    loop {
                        let mut bytes = old.to_ne_bytes();
                        bytes[skip..][..count].copy_from_slice(&from[..count]);
                        match word.compare_exchange_weak(old, u64::from_ne_bytes(bytes), Relaxed, Relaxed) {
                            Ok(_) => break,
                            Err(now) => old = now,
                        }
                    }
                    count
                }
                Place::Byte(byte) => {
                    byte.store(from[0], Relaxed);
                    1
                }
            };
            offset += taken;
            from = &from[taken..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_at_every_alignment_is_copied_and_nothing_beside_it() {
        // Miri takes its time.
        let lengths: Vec<usize> = if cfg!(miri) { vec![0, 1, 7, 9, 16] } else { (0..32).collect() };
        for (first, &length) in (0..9).flat_map(|first| lengths.iter().map(move |length| (first, length))) {
            // Each its own: a byte that was part of a word in one region is alone in another.
            let mut memory = [0u64; 6];
            let base = NonNull::from(&mut memory).cast::<u8>();
            // SAFETY: inside the array, which nobody else uses.
            let bytes = unsafe { Bytes::new(base.add(first), length) };
            let mut twin: Vec<u8> = (0..length as u8).collect();
            bytes.write(0, &twin);
            for (from, to) in (0..=length).flat_map(|from| (from..=length).map(move |to| (from, to))) {
                let new: Vec<u8> = (from..to).map(|n| (100 + from + n) as u8).collect();
                bytes.write(from, &new);
                twin[from..to].copy_from_slice(&new);
                let mut all = vec![0; length];
                bytes.read(0, &mut all);
                assert_eq!(all, twin, "{first} {length}: {from}..{to}");
                let mut part = vec![0; to - from];
                bytes.read(from, &mut part);
                assert_eq!(part, new);
            }
        }
    }
}
