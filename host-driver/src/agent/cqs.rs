//! Completion queues: their rows in the NIC's table, the memory of their rings, and the one that takes events.

use std::sync::Arc;

use rand::Rng;
use viaduct_spec::{handle::memory_handle, tables::table};

use super::{interrupts::EVENT_VECTOR, regions::Request, Agent, AgentError, Limits, State};
use crate::{
    device::PciDevice,
    device_protocol::{commands::Admin, rows},
    kernel_agent::{CqName, CreatedCq},
    memory::Mapping,
    queues::{consumer_ring::ConsumerRing, doorbells::Doorbells, entries::Entries},
};

/// The completion queue that is the agent's own: its error ring.
pub const ERROR_RING: u16 = 0;
/// Events that the error ring has room for, usually.
pub const EVENTS: usize = 192;

/// What the agent remembers of a completion queue: it keeps its memory until the NIC has given it back.
pub(super) struct QueueRecord {
    life: u64,
    handle: u32,
    memory: Arc<Mapping>,
    /// Work queues that have it.
    users: usize,
}

impl State {
    /// Makes the error ring, before there is anything that could report an event.
    pub(super) fn open_error_ring(
        &mut self,
        device: &Arc<dyn PciDevice>,
        limits: &Limits,
        system_tag: u16,
        events: usize,
    ) -> Result<ConsumerRing, AgentError> {
        let entries = ring(events)?;
        let handle = self.register_ring(&**device, system_tag, entries.memory())?;
        let row = row(&entries, handle, system_tag, EVENT_VECTOR, true);
        Admin::of(&**device).commit(table::COMPLETION_QUEUE, ERROR_RING.into(), &row)?;
        self.cqs[usize::from(ERROR_RING)] =
            Some(QueueRecord { life: 0, handle, memory: Arc::clone(entries.memory()), users: 1 });
        Ok(ConsumerRing::new(doorbells(device, limits, ERROR_RING), entries))
    }

    fn register_ring(
        &mut self,
        device: &dyn PciDevice,
        system_tag: u16,
        memory: &Arc<Mapping>,
    ) -> Result<u32, AgentError> {
        let request = Request::system(memory, system_tag, self.random.random());
        // SAFETY: the memory is the agent's own, accessed as atomics only, and `QueueRecord` keeps it until it is
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

    /// The life of the queue that has an index.
    pub(super) fn cq_life(&self, index: u16) -> Option<u64> {
        Some(self.cqs.get(usize::from(index))?.as_ref()?.life)
    }

    /// The entry of a queue that still exists.
    fn cq(&mut self, cq: CqName) -> Result<&mut QueueRecord, AgentError> {
        self.cqs
            .get_mut(usize::from(cq.index))
            .and_then(Option::as_mut)
            .filter(|entry| entry.life == cq.life)
            .ok_or(AgentError::UnknownCq(cq.index))
    }

    /// Counts work queues that have a completion queue, so many more.
    pub(super) fn use_cq(&mut self, index: u16, more: isize) -> Result<(), AgentError> {
        let entry = self.cqs.get_mut(usize::from(index)).and_then(Option::as_mut);
        // Nobody's work queue has the error ring.
        let entry = entry.filter(|_| index != ERROR_RING).ok_or(AgentError::UnknownCq(index))?;
        entry.users = entry.users.saturating_add_signed(more);
        Ok(())
    }
}

impl Agent {
    /// Creates a completion queue that has room for `entries` which are not taken, at any time.
    ///
    /// # Errors
    /// No or too many entries; no queue, region or memory left.
    pub fn create_cq(&self, entries: usize) -> Result<CreatedCq, AgentError> {
        let entries = ring(entries)?;
        let (name, vector) = self.new_cq(&entries)?;
        let doorbells = doorbells(&self.device, &self.limits, name.index);
        Ok(CreatedCq { name, vector, ring: ConsumerRing::new(doorbells, entries) })
    }

    /// Creates a completion queue with this ring: its name and interrupt vector.
    #[tracing::instrument(level = "debug", skip_all, ret, err(level = "debug"))]
    pub fn new_cq(&self, entries: &Entries) -> Result<(CqName, u8), AgentError> {
        self.check_alarm()?;
        let mut guard = self.state()?;
        let state = &mut *guard;
        let count = state.cqs.len();
        let index = state.cqs.iter().position(Option::is_none);
        let index = index.ok_or(AgentError::Full(count - 1, "completion queue"))? as u16;
        let handle = state.register_ring(&*self.device, self.system_tag, entries.memory())?;
        let memory = Arc::clone(entries.memory());
        let vector = self.cq_vector(index);
        let row = row(entries, handle, self.system_tag, vector, false);
        if let Err(error) = Admin::of(&*self.device).commit(table::COMPLETION_QUEUE, index.into(), &row) {
            // Of the two errors the first one counts.
            let _ = state.deregister_ring(&*self.device, handle, memory);
            return Err(error.into());
        }
        state.cq_lives += 1;
        let life = state.cq_lives;
        state.cqs[usize::from(index)] = Some(QueueRecord { life, handle, memory, users: 0 });
        Ok((CqName { index, life }, vector))
    }

    fn cq_vector(&self, index: u16) -> u8 {
        self.interrupts.as_ref().map_or(EVENT_VECTOR, |all| all.of_queue(index.into()))
    }

    /// Gives a queue another ring: how many entries the NIC has put into the old one.
    #[tracing::instrument(level = "debug", skip_all, fields(cq = ?cq), ret, err(level = "debug"))]
    pub fn replace_cq(&self, cq: CqName, new: &Entries) -> Result<u32, AgentError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        state.cq(cq)?;
        let handle = state.register_ring(&*self.device, self.system_tag, new.memory())?;
        let row = row(new, handle, self.system_tag, self.cq_vector(cq.index), false);
        let admin = Admin::of(&*self.device);
        let done = admin.commit_queue(cq.index, &row).and_then(|written| {
            // The last entries of the old ring are on their way.
            admin.drain()?;
            Ok(written)
        });
        let entry = state.cq(cq)?;
        let written = match done {
            Ok(written) => written,
            Err(error) => {
                // Nobody knows which ring it has: both stay.
                std::mem::forget((Arc::clone(new.memory()), Arc::clone(&entry.memory)));
                return Err(error.into());
            }
        };
        let old = std::mem::replace(&mut entry.handle, handle);
        let memory = std::mem::replace(&mut entry.memory, Arc::clone(new.memory()));
        state.deregister_ring(&*self.device, old, memory)?;
        Ok(written)
    }

    pub(super) fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(Entries, u32), AgentError> {
        let new = ring(entries)?;
        let written = self.replace_cq(cq, &new)?;
        Ok((new, written))
    }

    #[tracing::instrument(level = "debug", skip_all, fields(cq = ?cq), ret, err(level = "debug"))]
    pub(super) fn destroy_cq(&self, cq: CqName) -> Result<(), AgentError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let entry = state.cq(cq)?;
        let (handle, memory, users) = (entry.handle, Arc::clone(&entry.memory), entry.users);
        if users > 0 {
            return Err(AgentError::CqInUse { cq: cq.index, users });
        }
        let device = &*self.device;
        Admin::of(device).commit(table::COMPLETION_QUEUE, cq.index.into(), &[0, 0])?;
        // That drains.
        state.deregister_ring(device, handle, memory)?;
        self.empty_error_ring(state)?;
        state.cqs[usize::from(cq.index)] = None;
        Ok(())
    }
}

/// The doorbell page of a queue.
fn doorbells(device: &Arc<dyn PciDevice>, limits: &Limits, index: u16) -> Doorbells {
    Doorbells::of_device(Arc::clone(device), limits.cq_page(index))
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
