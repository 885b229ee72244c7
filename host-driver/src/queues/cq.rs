//! A completion queue, as its consumer has it.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
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

/// The consumer's side of a completion queue's ring.
pub struct Consumer {
    doorbells: Doorbells,
    ring: Mutex<Ring>,
    /// Stores so far.
    stores: AtomicU32,
}

/// [`Consumer::try_take`] has done nothing: [`Consumer::take_alone`] and [`Consumer::tell`] have to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unusual;

struct Ring {
    /// From the ring before a resize.
    left: VecDeque<Entry>,
    entries: Entries,
}

impl Consumer {
    /// Of a ring that the NIC has just been given.
    pub fn new(doorbells: Doorbells, entries: Entries) -> Self {
        Self {
            doorbells,
            ring: Mutex::new(Ring { left: VecDeque::new(), entries }),
            stores: AtomicU32::new(0),
        }
    }

    /// Takes the oldest entry, if there is one.
    pub fn take(&self) -> Result<Option<Entry>, DeviceError> {
        self.doorbells.check_process()?;
        let mut ring = self.lock();
        if let Some(entry) = ring.left.pop_front() {
            return Ok(Some(entry));
        }
        let entry = ring.entries.take();
        if let Some(taken) = ring.entries.consumer_index_update() {
            self.store(cq_page::INDEX, taken)?;
        }
        Ok(entry)
    }

    /// Takes the oldest entry without a lock, as nobody else has this consumer. The caller has seen that this is the process that made it, and
    /// tells the NIC when [`Consumer::is_due`] says so.
    #[inline]
    pub fn take_alone(&mut self) -> Option<Entry> {
        let ring = self.alone();
        if !ring.left.is_empty() {
            return ring.left.pop_front();
        }
        ring.entries.take()
    }

    /// [`Consumer::take_alone`] where that is all there is to do. Otherwise [`Unusual`]: entries of the ring before a resize come first, or
    /// the NIC has to be told of this entry.
    #[inline(always)]
    pub fn try_take(&mut self) -> Result<Option<Entry>, Unusual> {
        let ring = self.alone();
        if !ring.left.is_empty() || (ring.entries.is_nearly_due() && ring.entries.is_there()) {
            return Err(Unusual);
        }
        Ok(ring.entries.take())
    }

    /// Whether the NIC needs the room of what was taken: [`Consumer::tell`] is due.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.alone().entries.is_due()
    }

    /// Tells the NIC what was taken.
    #[cold]
    pub fn tell(&mut self) -> Result<(), DeviceError> {
        match self.alone().entries.consumer_index_update() {
            Some(taken) => self.store(cq_page::INDEX, taken),
            None => Ok(()),
        }
    }

    #[inline]
    fn alone(&mut self) -> &mut Ring {
        // Indices and memory hold together after each step.
        self.ring.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for an interrupt when there is an entry that has not been taken.
    pub fn arm(&self) -> Result<(), DeviceError> {
        // Under the lock: the index is the ring's as it is, and not of one that was resized meanwhile.
        let ring = self.lock();
        self.store(cq_page::ARM, ring.entries.taken())
    }

    fn store(&self, offset: u64, index: u32) -> Result<(), DeviceError> {
        let mut word = [0];
        cq_index::INDEX.put(&mut word, index.into());
        cq_index::SEQUENCE.put(&mut word, self.stores.fetch_add(1, Ordering::Relaxed).wrapping_add(1).into());
        self.doorbells.store(offset, word[0])
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // Indices and memory hold together after each step.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Takes the oldest entry, if there is one.
    pub fn take(&self) -> Result<Option<Entry>, DeviceError> {
        self.consumer.take()
    }

    /// The consumer's side, for a caller that nobody shares it with.
    #[inline]
    pub fn consumer(&mut self) -> &mut Consumer {
        &mut self.consumer
    }

    /// Whether this is the process that it was made in, and no child of a fork.
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.consumer.doorbells.check_process()
    }

    /// Asks for one interrupt of its [`Cq::vector`]: when there is an entry that has not been taken, or at once if there is
    /// one. Whoever sleeps has read the vector's generation before: [`KernelAgent::sleep`].
    pub fn arm(&self) -> Result<(), DeviceError> {
        self.consumer.arm()
    }

    /// Gives it a ring of another size. Entries that have not been taken stay, in order; whoever sleeps for one is woken.
    pub fn resize(&self, entries: usize) -> Result<(), AgentError> {
        // From here to the end nobody takes entries, or stores an index of the old ring.
        let mut ring = self.consumer.lock();
        let (new, written) = self.agent.resize_cq(self.name, entries)?;
        let Ring { left, entries } = &mut *ring;
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
