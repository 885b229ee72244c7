//! Completion queues.

mod calls;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vipl::{Completion, Direction, Vi};

pub use self::calls::open;
use crate::via::{
    domain::Domain,
    entry::Format,
    error::Errno,
    ffi,
    object::{Object, Shell},
    operation::Entry,
    wait::{self, Deadline},
    work::Work,
};

/// Descriptors that are taken at once.
const BATCH: usize = 32;
/// Entries of a queue whose program does not say how many.
const ENTRIES: usize = 1024;
/// Endpoints that were closed last, whose shells are kept. In tests they are fewer.
pub const SHELLS: usize = if cfg!(test) { 2 } else { 256 };

/// What a completion queue is behind libfabric's structure.
pub type Queue = Object<ffi::fid_cq, Arc<Cq>>;

/// A completion queue. Endpoints that are bound to it have clones.
pub struct Cq {
    domain: Arc<Domain>,
    queue: vipl::Cq,
    format: Format,
    /// It has a descriptor to wait on.
    waits: bool,
    state: Mutex<State>,
}

struct State {
    /// What endpoints have posted, by their numbers.
    members: HashMap<u64, Arc<Work>>,
    /// Where descriptors are taken to.
    found: [Option<Completion>; BATCH],
    /// What the program has not read yet, and how many entries it has read.
    ready: VecDeque<Entry>,
    read: u64,
    /// Endpoints that were closed, the oldest first. Each has entries here until so many are read.
    shells: VecDeque<(u64, Arc<Shell>)>,
    /// Entries that the NIC's queue has room for, and those that may be needed.
    room: usize,
    reserved: usize,
    /// Somebody wants a call that waits to return, this one or the next.
    is_signaled: bool,
}

impl fmt::Debug for Cq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cq").field("format", &self.format).finish_non_exhaustive()
    }
}

impl Cq {
    fn new(domain: &Arc<Domain>, attributes: &ffi::fi_cq_attr) -> Result<Self, Errno> {
        let waits = wait::is_wanted(attributes.wait_obj)?;
        let most = most(domain);
        // What is asked for is a wish: room for what endpoints may post is made when they come.
        let room = if attributes.size == 0 { ENTRIES } else { attributes.size }.min(most);
        let queue = domain.card.nic.create_cq(room)?;
        if waits {
            // A NIC without interrupts has none.
            queue.fd()?;
        }
        let state = State {
            members: HashMap::new(),
            found: [const { None }; BATCH],
            ready: VecDeque::new(),
            read: 0,
            shells: VecDeque::new(),
            room,
            reserved: 0,
            is_signaled: false,
        };
        let format = Format::of(attributes.format)?;
        Ok(Self { domain: Arc::clone(domain), queue, format, waits, state: Mutex::new(state) })
    }

    /// The NIC's queue, for VIs.
    pub fn queue(&self) -> &vipl::Cq {
        &self.queue
    }

    /// Whether it is of this domain.
    pub fn is_in(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic may have lost an entry; what is there is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for so many more entries, which an endpoint may need at a time.
    ///
    /// # Errors
    /// [`Errno::NO_SPACE`]: the NIC has no queue of that length; the device's.
    pub fn reserve(&self, entries: usize) -> Result<(), Errno> {
        let mut state = self.lock();
        let reserved = state.reserved + entries;
        if reserved > most(&self.domain) {
            return Err(Errno::NO_SPACE);
        }
        if reserved > state.room {
            self.queue.resize(reserved)?;
            state.room = reserved;
        }
        state.reserved = reserved;
        Ok(())
    }

    /// An endpoint needs so many entries no more.
    pub fn release(&self, entries: usize) {
        let mut state = self.lock();
        state.reserved = state.reserved.saturating_sub(entries);
    }

    /// Tells of what an endpoint has posted, from now on.
    pub fn add(&self, work: &Arc<Work>) {
        self.lock().members.insert(work.number, Arc::clone(work));
    }

    /// Takes what is complete of a VI that is disconnected: all that its connection has executed or flushed.
    pub fn settle(&self, vi: &Vi, work: &Work, direction: Direction) {
        let mut state = self.lock();
        // In order: what has an entry comes first. Of a NIC that is gone there is nothing.
        while matches!(state.fill(&self.queue), Ok(count) if count > 0) {}
        while let Ok(descriptor) = vi.done(direction) {
            let entry = work.complete(direction, &descriptor);
            state.ready.extend(entry);
        }
    }

    /// The endpoint's VI is gone: what it has posted and is not complete was canceled.
    pub fn bury(&self, work: &Work, direction: Direction) {
        let mut state = self.lock();
        state.members.remove(&work.number);
        let rest = work.rest(direction);
        state.ready.extend(rest);
        let wakes = self.waits && !state.ready.is_empty();
        drop(state);
        if wakes {
            // The NIC has made no interrupt for them.
            self.queue.wake();
        }
    }

    /// Keeps what is left of an endpoint that is closed: until its last entry here is read, and beyond that until many more are closed. A program that
    /// has closed an endpoint should know it no more, but ofi_rxm reads the endpoint of an entry that it finds after its close, and of one that it has
    /// read before (libfabric's issue 11828).
    pub fn keep(&self, shell: &Arc<Shell>) {
        let mut state = self.lock();
        let last = state.read + state.ready.len() as u64;
        state.shells.push_back((last, Arc::clone(shell)));
        let read = state.read;
        while state.shells.len() > SHELLS && state.shells.front().is_some_and(|(last, _)| *last <= read) {
            state.shells.pop_front();
        }
    }

    /// How many shells it keeps.
    #[cfg(test)]
    pub fn shells(&self) -> usize {
        self.lock().shells.len()
    }

    /// Takes entries, `count` at most, and gives each to `each` with its number.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]; [`Errno::ERROR_AVAILABLE`]; the device's, when there is nothing before it.
    fn take(&self, count: usize, mut each: impl FnMut(usize, &Entry)) -> Result<usize, Errno> {
        let mut state = self.lock();
        let mut filled = Ok(0);
        while state.ready.len() < count.max(1) {
            filled = state.fill(&self.queue);
            if !matches!(filled, Ok(found) if found > 0) {
                break;
            }
        }
        let mut taken = 0;
        while taken < count {
            let Some(entry) = state.next(|entry| entry.error.is_none()) else { break };
            each(taken, &entry);
            taken += 1;
        }
        match state.ready.front() {
            _ if taken > 0 => Ok(taken),
            Some(entry) if entry.error.is_some() => Err(Errno::ERROR_AVAILABLE),
            Some(_) => Ok(0),
            None => filled.and(Err(Errno::AGAIN)),
        }
    }

    /// Takes the oldest entry, if its operation has failed: with its error.
    fn take_error(&self) -> Result<(Entry, (Errno, u32)), Errno> {
        let mut state = self.lock();
        let entry = state.next(|entry| entry.error.is_some()).ok_or(Errno::AGAIN)?;
        entry.error.map(|error| (entry, error)).ok_or(Errno::AGAIN)
    }

    /// [`Cq::take`], as soon as there is something.
    fn wait(
        &self,
        count: usize,
        milliseconds: i32,
        mut each: impl FnMut(usize, &Entry),
    ) -> Result<usize, Errno> {
        if !self.waits {
            return Err(Errno::NO_CALL);
        }
        let deadline = Deadline::of(milliseconds);
        loop {
            match self.take(count, &mut each) {
                Err(Errno::AGAIN) => {}
                result => return result,
            }
            match self.ready_to_wait() {
                // Something has come meanwhile.
                Err(Errno::AGAIN) => continue,
                ready => ready?,
            }
            // Only now: who signals later than this makes the descriptor readable.
            if std::mem::take(&mut self.lock().is_signaled) || deadline.is_over() {
                return Err(Errno::AGAIN);
            }
            // Who is woken finds out by looking. Of viad this is a question over a socket.
            if !deadline.sleep(self.queue.fd()?)? {
                self.domain.card.nic.check()?;
            }
        }
    }

    /// The descriptor says when something comes from now on.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]: something is here already. There is no descriptor; the device's.
    pub fn ready_to_wait(&self) -> Result<(), Errno> {
        if !self.waits {
            return Err(Errno::INVALID);
        }
        let mut state = self.lock();
        if !state.ready.is_empty() {
            return Err(Errno::AGAIN);
        }
        self.queue.arm()?;
        while state.ready.is_empty() && state.fill(&self.queue)? > 0 {}
        match state.ready.is_empty() {
            true => Ok(()),
            false => Err(Errno::AGAIN),
        }
    }
}

impl State {
    /// Takes what is complete off the NIC's queue: how many descriptors.
    fn fill(&mut self, queue: &vipl::Cq) -> Result<usize, Errno> {
        let count = queue.poll(&mut self.found)?;
        for found in self.found.iter_mut().take(count) {
            let Some(completion) = found.take() else { continue };
            // Of an endpoint that was closed meanwhile all has been told.
            let Some(work) = self.members.get(&completion.context) else { continue };
            self.ready.extend(work.complete(completion.direction, &completion.descriptor));
        }
        Ok(count)
    }

    /// Takes the oldest entry, if it is such a one.
    fn next(&mut self, is: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let entry = self.ready.front().is_some_and(is).then(|| self.ready.pop_front()).flatten();
        self.read += u64::from(entry.is_some());
        entry
    }
}

/// The most entries of a queue.
fn most(domain: &Domain) -> usize {
    domain.card.attributes.max_cq_entries as usize
}
