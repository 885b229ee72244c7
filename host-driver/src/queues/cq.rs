//! A completion queue, as its consumer has it.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc,
    },
};

use viaduct_spec::doorbell::{cq_index, cq_page};

use super::{
    doorbells::Doorbells,
    entries::{Entries, Entry},
};
use crate::{
    agent::AgentError,
    device::DeviceError,
    kernel_agent::{CqName, KernelAgent},
};

/// A completion queue.
pub struct Cq {
    agent: Arc<dyn KernelAgent>,
    name: CqName,
    vector: u8,
    consumer: Consumer,
}

/// The consumer's side of a completion queue's ring. One thread at a time has it: it is in whatever its owner locks.
pub struct Consumer {
    doorbells: Doorbells,
    /// From the ring before a resize.
    left: VecDeque<Entry>,
    entries: Entries,
    /// Stores so far.
    stores: AtomicU32,
}

/// [`Consumer::try_take`] has done nothing: [`Consumer::take`] has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unusual;

impl Consumer {
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

    /// [`Consumer::take`] where taking is all that there is to do, for a caller that has seen that this is the process which made it. Otherwise
    /// [`Unusual`]: entries of the ring before a resize come first, or the NIC has to be told of this entry.
    #[inline(always)]
    pub fn try_take(&mut self) -> Result<Option<Entry>, Unusual> {
        if !self.left.is_empty() || (self.entries.is_nearly_due() && self.entries.is_there()) {
            return Err(Unusual);
        }
        Ok(self.entries.take())
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

impl Cq {
    /// The consumer's end of the queue that `agent` has made.
    pub fn new(agent: Arc<dyn KernelAgent>, name: CqName, vector: u8, consumer: Consumer) -> Self {
        Self { agent, name, vector, consumer }
    }

    /// Its index: the row of its table.
    pub fn index(&self) -> u16 {
        self.name.index
    }

    /// What its agent calls it.
    pub fn name(&self) -> CqName {
        self.name
    }

    /// The agent that made it.
    pub fn agent(&self) -> &Arc<dyn KernelAgent> {
        &self.agent
    }

    /// The interrupt vector of its entries.
    pub fn vector(&self) -> u8 {
        self.vector
    }

    /// Takes the oldest entry, if there is one: [`Consumer::take`].
    ///
    /// # Errors
    /// The device's; another process made it.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Entry>, DeviceError> {
        self.consumer.take()
    }

    /// Whether this is the process that it was made in, and no child of a fork.
    ///
    /// # Errors
    /// It is a child.
    #[inline]
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.consumer.doorbells.check_process()
    }

    /// [`Consumer::try_take`].
    #[inline(always)]
    pub fn try_take(&mut self) -> Result<Option<Entry>, Unusual> {
        self.consumer.try_take()
    }

    /// Asks for one interrupt of its [`Cq::vector`]: when there is an entry that has not been taken, or at once if there is
    /// one. Whoever sleeps has read the vector's generation before: [`crate::wait::Vectors::sleep`].
    pub fn arm(&self) -> Result<(), DeviceError> {
        self.consumer.arm()
    }

    /// Gives it a ring of another size. Entries that have not been taken stay, in order; whoever sleeps for one is woken.
    pub fn resize(&mut self, entries: usize) -> Result<(), AgentError> {
        // From here to the end nobody takes entries, or stores an index of the old ring.
        let (new, written) = self.agent.resize_cq(self.name, entries)?;
        let Consumer { left, entries, .. } = &mut self.consumer;
        while entries.taken() != written {
            // As many as the NIC says, unless what it wrote is no entry.
            let Some(entry) = entries.take() else { break };
            left.push_back(entry);
        }
        *entries = new;
        Ok(())
    }

    /// Destroys it. No work queue may have it.
    pub fn destroy(&self) -> Result<(), AgentError> {
        self.agent.destroy_cq(self.name)
    }
}

impl fmt::Debug for Cq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cq").field("index", &self.index()).finish_non_exhaustive()
    }
}
