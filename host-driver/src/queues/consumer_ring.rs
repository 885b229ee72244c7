//! The ring of a completion queue, from its consumer's side.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU32, Ordering},
};

use viaduct_spec::doorbell::{cq_index, cq_page};

use super::{
    doorbells::Doorbells,
    entries::{Entries, Entry},
};
use crate::device::DeviceError;

/// The consumer's side of a completion queue's ring. One thread at a time has it: it is in whatever its owner locks.
pub struct ConsumerRing {
    doorbells: Doorbells,
    /// From the ring before a resize.
    left: VecDeque<Entry>,
    entries: Entries,
    /// Stores so far.
    stores: AtomicU32,
}

/// [`ConsumerRing::try_take`] has done nothing: [`ConsumerRing::take`] has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unusual;

impl ConsumerRing {
    /// Of a ring that the NIC has just been given.
    pub fn new(doorbells: Doorbells, entries: Entries) -> Self {
        Self { doorbells, left: VecDeque::new(), entries, stores: AtomicU32::new(0) }
    }

    /// Takes the oldest entry, if there is one, and tells the NIC if that needs the room.
    ///
    /// # Errors
    /// The device's; another process made it.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Entry>, DeviceError> {
        self.doorbells.check_process()?;
        if let Some(entry) = self.left.pop_front() {
            return Ok(Some(entry));
        }
        let entry = self.entries.take();
        if let Some(taken) = self.entries.consumer_index_update() {
            self.store(cq_page::INDEX, taken)?;
        }
        Ok(entry)
    }

    /// [`ConsumerRing::take`] where taking is all that there is to do, for a caller that has seen that this is the process which made it. Otherwise
    /// [`Unusual`]: entries of the ring before a resize come first, or the NIC has to be told of this entry.
    #[inline(always)]
    pub fn try_take(&mut self) -> Result<Option<Entry>, Unusual> {
        if !self.left.is_empty() || (self.entries.is_nearly_due() && self.entries.is_there()) {
            return Err(Unusual);
        }
        Ok(self.entries.take())
    }

    /// Whether this is the process that it was made in, and no child of a fork.
    ///
    /// # Errors
    /// It is a child.
    #[inline]
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.doorbells.check_process()
    }

    /// Goes on with another ring. The NIC has put so many entries into the old one, modulo 2^18: those that have not been taken stay, in order.
    pub fn replace(&mut self, entries: Entries, written: u32) {
        while self.entries.taken() != written {
            // As many as the NIC says, unless what it wrote is no entry.
            let Some(entry) = self.entries.take() else { break };
            self.left.push_back(entry);
        }
        self.entries = entries;
    }

    /// Asks for an interrupt when there is an entry that has not been taken.
    ///
    /// # Errors
    /// The device's; another process made it.
    pub fn arm(&self) -> Result<(), DeviceError> {
        self.store(cq_page::ARM, self.entries.taken())
    }

    fn store(&self, offset: u64, index: u32) -> Result<(), DeviceError> {
        let mut word = [0];
        cq_index::INDEX.put(&mut word, index.into());
        cq_index::SEQUENCE.put(&mut word, self.stores.fetch_add(1, Ordering::Relaxed).wrapping_add(1).into());
        self.doorbells.store(offset, word[0])
    }
}
