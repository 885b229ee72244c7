//! The ring of a completion queue, as its consumer sees it.

use std::{
    io,
    ptr::NonNull,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc,
    },
};

use viaduct_spec::{doorbell::cq_index, tables::cq_entry};

use crate::{barrier, memory::Mapping};

/// log2 of the fewest entries of a ring.
const MIN_LOG2: u32 = 2;
/// log2 of the most entries of a ring.
const MAX_LOG2: u32 = 16;
/// Most entries that one may ask for (VIP_NIC_ATTRIBUTES.MaxCQEntries): the ring has a quarter more.
pub const MAX_CQ_ENTRIES: usize = 1 << 15;
/// Bytes of an entry.
const BYTES: usize = 16;

/// An entry of a completion queue: a descriptor has completed, and its status is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The descriptor's token, as it was posted.
    pub token: u64,
    /// Index of the VI.
    pub vi: u16,
    /// The receive queue; else the send queue.
    pub receive: bool,
}

// SAFETY: the pointer leads into the ring's memory, whose words are atomics.
unsafe impl Send for Entries {}
// SAFETY: as above.
unsafe impl Sync for Entries {}

/// A ring and how far it is taken.
#[derive(Debug)]
pub struct Entries {
    memory: Arc<Mapping>,
    /// The first word of `memory`.
    start: NonNull<AtomicU64>,
    log2: u32,
    /// One less than there are entries: a take need not shift for it.
    mask: u32,
    /// Entries taken, as the NIC counts.
    taken: u32,
    /// What the NIC knows of that.
    told: u32,
    /// How far it may be behind.
    slack: u32,
}

impl Entries {
    /// A ring in which the NIC finds room for `entries` that are not taken, at any time; None if it cannot have so many.
    pub fn new(entries: usize) -> Option<io::Result<Self>> {
        let bytes = Self::bytes(entries)?;
        // Zero at first: phase 0, which no entry of the first lap has.
        Some(Mapping::for_device(bytes).and_then(|memory| {
            Self::over(Arc::new(memory), entries).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
        }))
    }

    /// Bytes of a ring for so many entries.
    pub fn bytes(entries: usize) -> Option<usize> {
        Some(BYTES << Self::log2_of(entries)?)
    }

    /// [`Entries::new`] in memory that is there, and zero; None also if it is too small.
    pub fn over(memory: Arc<Mapping>, entries: usize) -> Option<Self> {
        let log2 = Self::log2_of(entries)?;
        let slack = ((1 << log2) - entries).max(1) as u32;
        let start = memory.start().cast();
        let mask = (1 << log2) - 1;
        (BYTES << log2 <= memory.length()).then_some(Self {
            memory,
            start,
            log2,
            mask,
            taken: 0,
            told: 0,
            slack,
        })
    }

    fn log2_of(entries: usize) -> Option<u32> {
        let wanted = (1..=MAX_CQ_ENTRIES).contains(&entries).then_some(entries)?;
        // Room beside, so that not every entry that is taken must be told at once.
        Some((wanted + wanted / 4).next_power_of_two().ilog2().clamp(MIN_LOG2, MAX_LOG2))
    }

    /// The ring's memory.
    pub fn memory(&self) -> &Arc<Mapping> {
        &self.memory
    }

    /// log2 of its entries.
    pub fn log2(&self) -> u32 {
        self.log2
    }

    /// Entries taken so far, modulo 2^18.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// Whether the oldest entry is there.
    pub fn is_there(&self) -> bool {
        let slot = (self.taken & self.mask) as usize;
        let lap = u64::from(self.taken >> self.log2 & 1);
        cq_entry::PHASE.get(&[0, self.word(2 * slot + 1).load(Ordering::Acquire)]) != lap
    }

    /// Takes the oldest entry, if it is there.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Entry> {
        let slot = (self.taken & self.mask) as usize;
        // The phase is in the second word, and the NIC writes both at once: behind it the first one is there too.
        let owner = self.word(2 * slot + 1).load(Ordering::Acquire);
        barrier::from_device();
        let words = [self.word(2 * slot).load(Ordering::Relaxed), owner];
        let lap = u64::from(self.taken >> self.log2 & 1);
        if cq_entry::PHASE.get(&words) == lap {
            return None;
        }
        self.taken = self.taken.wrapping_add(1) & cq_index::INDEX.mask() as u32;
        Some(Entry {
            token: cq_entry::TOKEN.get(&words),
            vi: cq_entry::VI.get(&words) as u16,
            receive: cq_entry::RECEIVE.get(&words) != 0,
        })
    }

    /// Whether it is time that the NIC hears how many are taken.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.taken.wrapping_sub(self.told) & cq_index::INDEX.mask() as u32 >= self.slack
    }

    /// Whether it is time with the next one.
    #[inline]
    pub fn is_nearly_due(&self) -> bool {
        self.taken.wrapping_sub(self.told).wrapping_add(1) & cq_index::INDEX.mask() as u32 >= self.slack
    }

    /// How many are taken, when it is time that the NIC hears it.
    #[inline]
    pub fn consumer_index_update(&mut self) -> Option<u32> {
        self.is_due().then(|| {
            self.told = self.taken;
            self.taken
        })
    }

    #[inline]
    fn word(&self, word: usize) -> &AtomicU64 {
        // SAFETY: `word` is less than twice the entries, so inside the mapping, which lives as long as `self`; it is
        // aligned, and only ever accessed as atomics (and by the NIC).
        unsafe { self.start.add(word).as_ref() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Writes an entry as the NIC does: the n-th of a ring of 2^`log2` at `start`.
    pub fn write(start: *mut u8, log2: u32, n: u32, entry: Entry) {
        let mut words = [entry.token, 0];
        cq_entry::VI.put(&mut words, entry.vi.into());
        cq_entry::RECEIVE.put(&mut words, entry.receive.into());
        cq_entry::PHASE.put(&mut words, u64::from(!n >> log2 & 1));
        let slot = n as usize & ((1 << log2) - 1);
        for (place, word) in words.into_iter().enumerate() {
            // SAFETY: the caller's ring has that many entries, and everybody uses it as atomics.
            let at = unsafe { &*start.cast::<AtomicU64>().add(2 * slot + place) };
            at.store(word, Ordering::Release);
        }
    }

    #[test]
    fn entries_are_taken_in_order_over_many_laps_and_told_in_time() {
        for asked in [1, 3, 4, 13, 100] {
            let mut ring = Entries::new(asked).expect("a size").expect("memory");
            let size = 1u32 << ring.log2();
            let start = ring.memory().start().as_ptr();
            let (mut written, mut told) = (0u32, 0u32);
            // Miri is slow, and looks at what one lap does as well.
            for round in 0..if cfg!(miri) { 50 } else { 5000u32 } {
                // As many as the consumer has promised room for.
                let burst = 1 + round % asked as u32;
                for n in 0..burst {
                    assert!(written.wrapping_sub(told) & 0x3_ffff < size, "{asked}: no room");
                    let entry =
                        Entry { token: u64::from(round * 1000 + n), vi: n as u16, receive: n & 1 == 1 };
                    write(start, ring.log2(), written, entry);
                    written = (written + 1) & 0x3_ffff;
                }
                for n in 0..burst {
                    let entry =
                        Entry { token: u64::from(round * 1000 + n), vi: n as u16, receive: n & 1 == 1 };
                    assert_eq!(ring.take(), Some(entry));
                    told = ring.consumer_index_update().unwrap_or(told);
                }
                assert_eq!(ring.take(), None);
            }
        }
    }

    #[test]
    fn sizes_have_limits() {
        assert!(Entries::new(0).is_none() && Entries::new(MAX_CQ_ENTRIES + 1).is_none());
        let ring = Entries::new(MAX_CQ_ENTRIES).expect("a size").expect("memory");
        assert_eq!(ring.log2(), MAX_LOG2);
    }
}
