//! The consumer of a completion queue.

use std::io;

use viaduct_spec::doorbell::cq_index;
use viaduct_spec::tables::cq_entry;

use crate::memory::Memory;
use crate::rows::{self, ENTRY_BYTES};

/// How far it has come.
#[derive(Debug, Clone, Copy, Default)]
pub struct Consumer {
    /// The ring is the other of its two.
    pub other: bool,
    /// Entries taken of this ring.
    pub taken: u32,
    /// Stores of its index.
    pub stores: u32,
}

impl Consumer {
    /// Takes the oldest entry of queue `queue`, if there is one.
    pub fn take(&mut self, queue: usize, memory: &mut Memory) -> io::Result<Option<[u64; 2]>> {
        let log2 = rows::cq_log2(queue, self.other);
        let slot = u64::from(self.taken) & ((1 << log2) - 1);
        let at = rows::cq_ring(queue, self.other) + ENTRY_BYTES * slot;
        let mut bytes = [0; ENTRY_BYTES as usize];
        memory.read_arena(at, &mut bytes)?;
        let mut words = [0; 2];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        if cq_entry::PHASE.get(&words) == u64::from(self.taken >> log2 & 1) {
            return Ok(None);
        }
        // What was taken is all that the NIC may have written there.
        memory.expect_arena(at, &bytes);
        self.taken = (self.taken + 1) & cq_index::INDEX.mask() as u32;
        Ok(Some(words))
    }

    /// The word that tells the NIC how far it has come.
    pub fn index(&mut self) -> u64 {
        self.stores += 1;
        rows::row(&[(cq_index::INDEX, self.taken.into()), (cq_index::SEQUENCE, self.stores.into())])[0]
    }
}
