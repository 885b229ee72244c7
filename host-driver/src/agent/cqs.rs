//! Completion queues: their rows in the NIC's table, their rings, and the one that takes events.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
};

use rand::Rng;
use viaduct_spec::{
    doorbell::{cq_index, cq_page},
    handle::memory_handle,
    tables::table,
};

use super::{
    admin::Admin,
    entries::{Entries, Entry},
    interrupts::EVENT_VECTOR,
    regions::{MemoryAttributes, Request},
    Agent, AgentError, Limits, State,
};
use crate::{
    device::{Bar, DeviceError, PciDevice},
    memory::Mapping,
    rows,
};

/// The completion queue that is the agent's own: its error ring.
pub const ERROR_RING: u16 = 0;
/// Events that the error ring has room for.
const EVENTS: usize = 192;

/// A completion queue.
pub struct Cq {
    agent: Arc<Agent>,
    /// Tells it from an earlier queue of this index.
    life: u64,
    consumer: Consumer,
}

/// What the agent remembers of a completion queue: it keeps its memory until the NIC has given it back.
pub(super) struct Kept {
    life: u64,
    handle: u32,
    memory: Arc<Mapping>,
    /// Work queues that have it.
    users: usize,
}

/// The consumer's side of a completion queue.
pub(super) struct Consumer {
    index: u16,
    /// Its doorbell page.
    page: u64,
    ring: Mutex<Ring>,
    /// Stores so far.
    stores: AtomicU32,
}

struct Ring {
    /// From the ring before a resize.
    left: VecDeque<Entry>,
    entries: Entries,
}

impl Consumer {
    fn new(index: u16, limits: &Limits, entries: Entries) -> Self {
        let page = (u64::from(limits.vis) + u64::from(index)) << limits.doorbell_shift;
        let ring = Mutex::new(Ring { left: VecDeque::new(), entries });
        Self { index, page, ring, stores: AtomicU32::new(0) }
    }

    /// Takes the oldest entry, if there is one.
    pub fn take(&self, device: &dyn PciDevice) -> Result<Option<Entry>, DeviceError> {
        let mut ring = self.lock();
        if let Some(entry) = ring.left.pop_front() {
            return Ok(Some(entry));
        }
        let entry = ring.entries.take();
        if let Some(taken) = ring.entries.news() {
            self.store(device, cq_page::INDEX, taken)?;
        }
        Ok(entry)
    }

    /// Asks for an interrupt when there is an entry that has not been taken.
    pub fn arm(&self, device: &dyn PciDevice) -> Result<(), DeviceError> {
        // Under the lock: the index is the ring's as it is, and not of one that was resized meanwhile.
        let ring = self.lock();
        self.store(device, cq_page::ARM, ring.entries.taken())
    }

    fn store(&self, device: &dyn PciDevice, offset: u64, index: u32) -> Result<(), DeviceError> {
        let mut word = [0];
        cq_index::INDEX.put(&mut word, index.into());
        cq_index::SEQUENCE.put(&mut word, self.stores.fetch_add(1, Ordering::Relaxed).wrapping_add(1).into());
        device.write64(Bar::Doorbells, self.page + offset, word[0])
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // Indices and memory hold together after each step.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes the error ring, before there is anything that could report an event.
    pub(super) fn open_error_ring(
        &mut self,
        device: &dyn PciDevice,
        limits: &Limits,
        system_tag: u16,
    ) -> Result<Consumer, AgentError> {
        let entries = ring(EVENTS)?;
        let handle = self.register_ring(device, system_tag, entries.memory())?;
        let row = row(&entries, handle, system_tag, EVENT_VECTOR, true);
        Admin::of(device).commit(table::COMPLETION_QUEUE, ERROR_RING.into(), &row)?;
        self.cqs[usize::from(ERROR_RING)] =
            Some(Kept { life: 0, handle, memory: Arc::clone(entries.memory()), users: 1 });
        Ok(Consumer::new(ERROR_RING, limits, entries))
    }

    fn register_ring(
        &mut self,
        device: &dyn PciDevice,
        system_tag: u16,
        memory: &Arc<Mapping>,
    ) -> Result<u32, AgentError> {
        let request = Request {
            address: memory.start().as_ptr() as u64,
            length: memory.length() as u64,
            attributes: MemoryAttributes { tag: system_tag, rdma_write: false, rdma_read: false },
            system: true,
            key: self.random.random(),
        };
        // SAFETY: the memory is the agent's own, accessed as atomics only, and `Kept` keeps it until it is
        // deregistered, or the agent leaves it.
        unsafe { self.regions.register(device, &mut self.tags, request) }
    }

    /// Takes a ring's memory back from the NIC; after an error it stays for ever.
    fn deregister_ring(
        &mut self,
        device: &dyn PciDevice,
        handle: u32,
        memory: Arc<Mapping>,
    ) -> Result<(), AgentError> {
        let back = self.regions.deregister(device, &mut self.tags, handle);
        if back.is_err() {
            std::mem::forget(memory);
        }
        back
    }

    /// The entry of a queue that still exists.
    fn cq(&mut self, cq: &Cq) -> Result<&mut Kept, AgentError> {
        let index = cq.consumer.index;
        self.cqs
            .get_mut(usize::from(index))
            .and_then(Option::as_mut)
            .filter(|kept| kept.life == cq.life)
            .ok_or(AgentError::UnknownCq(index))
    }

    /// Counts work queues that have a completion queue, so many more.
    pub(super) fn use_cq(&mut self, index: u16, more: isize) -> Result<(), AgentError> {
        let kept = self.cqs.get_mut(usize::from(index)).and_then(Option::as_mut);
        // Nobody's work queue has the error ring.
        let kept = kept.filter(|_| index != ERROR_RING).ok_or(AgentError::UnknownCq(index))?;
        kept.users = kept.users.saturating_add_signed(more);
        Ok(())
    }
}

impl Agent {
    /// Creates a completion queue that has room for `entries` which are not taken, at any time.
    ///
    /// # Errors
    /// No or too many entries; no queue, region or memory left.
    pub fn create_cq(self: &Arc<Self>, entries: usize) -> Result<Cq, AgentError> {
        let entries = ring(entries)?;
        let mut guard = self.state();
        let state = &mut *guard;
        let count = state.cqs.len();
        let index = state.cqs.iter().position(Option::is_none);
        let index = index.ok_or(AgentError::Full(count - 1, "completion queue"))? as u16;
        let handle = state.register_ring(&*self.device, self.system_tag, entries.memory())?;
        let memory = Arc::clone(entries.memory());
        let row = row(&entries, handle, self.system_tag, self.cq_vector(index), false);
        if let Err(error) = Admin::of(&*self.device).commit(table::COMPLETION_QUEUE, index.into(), &row) {
            // Of the two errors the first one counts.
            let _ = state.deregister_ring(&*self.device, handle, memory);
            return Err(error);
        }
        state.cq_lives += 1;
        let life = state.cq_lives;
        state.cqs[usize::from(index)] = Some(Kept { life, handle, memory, users: 0 });
        let consumer = Consumer::new(index, &self.limits, entries);
        Ok(Cq { agent: Arc::clone(self), life, consumer })
    }

    fn cq_vector(&self, index: u16) -> u8 {
        self.interrupts.as_ref().map_or(EVENT_VECTOR, |all| all.of_queue(index.into()))
    }
}

impl Cq {
    /// Its index: the row of its table, the number of its doorbell page less the VIs.
    pub fn index(&self) -> u16 {
        self.consumer.index
    }

    /// The agent that made it.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// The interrupt vector of its entries.
    pub fn vector(&self) -> u8 {
        self.agent.cq_vector(self.index())
    }

    /// Takes the oldest entry, if there is one.
    pub fn take(&self) -> Result<Option<Entry>, DeviceError> {
        self.consumer.take(&*self.agent.device)
    }

    /// Asks for one interrupt of its [`Cq::vector`]: when there is an entry that has not been taken, or at once if there is
    /// one. Whoever sleeps has read the vector's generation before: [`Agent::sleep`].
    pub fn arm(&self) -> Result<(), DeviceError> {
        self.consumer.arm(&*self.agent.device)
    }

    /// Gives it a ring of another size. Entries that have not been taken stay, in order; whoever sleeps for one is woken.
    pub fn resize(&self, entries: usize) -> Result<(), AgentError> {
        let new = self::ring(entries)?;
        let agent = &*self.agent;
        let mut guard = agent.state();
        let state = &mut *guard;
        state.cq(self)?;
        let handle = state.register_ring(&*agent.device, agent.system_tag, new.memory())?;
        // From here to the end nobody takes entries, or stores an index of the old ring.
        let mut ring = self.consumer.lock();
        let row = row(&new, handle, agent.system_tag, self.vector(), false);
        let admin = Admin::of(&*agent.device);
        let done = admin.commit_queue(self.index(), &row).and_then(|written| {
            // The last entries of the old ring are on their way.
            admin.drain()?;
            Ok(written)
        });
        let written = match done {
            Ok(written) => written,
            Err(error) => {
                // Nobody knows which ring it has: the old one is used no more, and both stay.
                std::mem::forget((Arc::clone(new.memory()), Arc::clone(ring.entries.memory())));
                return Err(error);
            }
        };
        let Ring { left, entries } = &mut *ring;
        while entries.taken() != written {
            // As many as the NIC says, unless what it wrote is no entry.
            let Some(entry) = entries.take() else { break };
            left.push_back(entry);
        }
        *entries = new;
        let kept = state.cq(self)?;
        let old = std::mem::replace(&mut kept.handle, handle);
        let memory = std::mem::replace(&mut kept.memory, Arc::clone(entries.memory()));
        state.deregister_ring(&*agent.device, old, memory)
    }

    /// Destroys it. No work queue may have it.
    pub fn destroy(&self) -> Result<(), AgentError> {
        let mut guard = self.agent.state();
        let state = &mut *guard;
        let kept = state.cq(self)?;
        let (handle, memory, users) = (kept.handle, Arc::clone(&kept.memory), kept.users);
        if users > 0 {
            return Err(AgentError::CqInUse { cq: self.index(), users });
        }
        let device = &*self.agent.device;
        Admin::of(device).commit(table::COMPLETION_QUEUE, self.index().into(), &[0, 0])?;
        state.deregister_ring(device, handle, memory)?;
        state.cqs[usize::from(self.index())] = None;
        Ok(())
    }
}

impl fmt::Debug for Cq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cq").field("index", &self.index()).finish_non_exhaustive()
    }
}

/// Memory for a ring.
fn ring(entries: usize) -> Result<Entries, AgentError> {
    Entries::new(entries).ok_or(AgentError::Entries(entries))?.map_err(AgentError::Arena)
}

/// The row of a queue whose ring is all of a region.
fn row(entries: &Entries, handle: u32, system_tag: u16, vector: u8, events: bool) -> [u64; 2] {
    let ring_region = memory_handle::INDEX.get(&[handle.into()]) as u16;
    rows::CompletionQueue { ring_region, ring_log2: entries.log2(), events, system_tag, vector }.words()
}
