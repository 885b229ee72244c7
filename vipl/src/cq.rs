//! Completion queues.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::Duration,
};

use viaduct_driver::agent::{cqs::Cq as AgentCq, vis::Direction};

use crate::{
    patience::{Misses, NEVER},
    Error, Nic,
};

/// Tells a VI from every other one that this process has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViId(u64);

impl ViId {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The number; never 0.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// What a completion queue says: a descriptor of this work queue is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CqEntry {
    /// The VI: [`crate::Vi::id`].
    pub vi: ViId,
    /// Its receive queue; else its send queue.
    pub receive: bool,
}

/// A completion queue (VIP_CQ_HANDLE). VIs are created with it, any number, for either of their work queues; each
/// descriptor that completes there makes one entry here. Clones are the same queue; it is destroyed when the last clone and
/// all VIs that have it are dropped.
///
/// An entry says that the head of a work queue is complete; `send_done` or `recv_done` then takes it.
#[derive(Clone)]
pub struct Cq(Arc<Inner>);

struct Inner {
    nic: Nic,
    cq: AgentCq,
    state: Mutex<State>,
    misses: Misses,
}

#[derive(Default)]
struct State {
    /// The VIs that have it, by the index that entries carry.
    vis: BTreeMap<u16, ViId>,
    /// Entries that are off the ring.
    entries: VecDeque<CqEntry>,
    /// VIs whose receives are being put back, and how many entries of theirs have come meanwhile.
    held: BTreeMap<ViId, usize>,
}

impl Nic {
    /// Creates a completion queue for at most `entries` entries that are not taken (VipCreateCQ). One more is lost, and breaks
    /// its VI: event CQ_OVERRUN.
    ///
    /// # Errors
    /// No or too many entries; no queue or region left.
    pub fn create_cq(&self, entries: usize) -> Result<Cq, Error> {
        let cq = Arc::clone(self.agent()).create_cq(entries)?;
        let (nic, state, misses) = (self.clone(), Mutex::default(), Misses::default());
        Ok(Cq(Arc::new(Inner { nic, cq, state, misses })))
    }
}

impl Cq {
    /// Takes the oldest entry (VipCQDone).
    ///
    /// # Errors
    /// [`Error::NotDone`]; now and then, the device's errors.
    pub fn done(&self) -> Result<CqEntry, Error> {
        let inner = &*self.0;
        inner.misses.count(&**inner.nic.agent(), inner.take()?)
    }

    /// Takes the oldest entry, as soon as there is one (VipCQWait); it looks for a moment, then sleeps until the NIC's
    /// interrupt. None: for ever, but never longer than five seconds for a device that is gone.
    ///
    /// # Errors
    /// As [`Cq::done`], and [`Error::Timeout`] in place of [`Error::NotDone`].
    pub fn wait(&self, timeout: Option<Duration>) -> Result<CqEntry, Error> {
        self.wait_unless(timeout, &NEVER)
    }

    /// [`Cq::wait`], but no longer than until `given_up` is set. Who sets it calls [`Cq::wake`] then.
    ///
    /// # Errors
    /// As [`Cq::wait`]; [`Error::Timeout`] when it is set.
    pub fn wait_unless(&self, timeout: Option<Duration>, given_up: &AtomicBool) -> Result<CqEntry, Error> {
        let inner = &*self.0;
        let look = || inner.take();
        let arm = || Ok(inner.cq.arm()?);
        inner.misses.wait(&**inner.nic.agent(), inner.cq.vector(), timeout, given_up, look, arm)
    }

    /// Wakes those who wait: they look whether there is an entry, and whether they have given up.
    pub fn wake(&self) {
        self.0.nic.agent().wake(self.0.cq.vector());
    }

    /// Gives it room for another number of entries (VipResizeCQ). Those that have not been taken stay.
    ///
    /// # Errors
    /// As [`Nic::create_cq`].
    pub fn resize(&self, entries: usize) -> Result<(), Error> {
        Ok(self.0.cq.resize(entries)?)
    }

    /// Whether a VI or a clone has it: it is not destroyed yet when this one is dropped.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Its number on its NIC, which another queue may have later: what [`crate::Event`]s call it.
    pub fn index(&self) -> u16 {
        self.0.cq.index()
    }

    /// Whether an event is of this queue, and not of another that has had its number.
    pub fn is_of(&self, event: &crate::Event) -> bool {
        let name = self.0.cq.name();
        (name.index, name.life) == (event.vi, event.life)
    }

    /// The NIC that it is on.
    pub fn nic(&self) -> &Nic {
        &self.0.nic
    }

    /// Its number, for the rows of a VI on `nic`.
    pub(crate) fn index_on(&self, nic: &Nic) -> Result<u16, Error> {
        if self.0.nic.is(nic) {
            Ok(self.0.cq.index())
        } else {
            Err(Error::OtherNic)
        }
    }

    /// A VI that has it, with nothing posted yet: what is on the ring is of an earlier VI's of that index.
    pub(crate) fn add(&self, index: u16, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.lock();
        self.0.collect(&mut state)?;
        state.vis.insert(index, vi);
        Ok(())
    }

    /// The VI is gone, and its entries with it. Its index may be another's already.
    pub(crate) fn forget(&self, index: u16, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.lock();
        let collected = self.0.collect(&mut state);
        if state.vis.get(&index) == Some(&vi) {
            state.vis.remove(&index);
        }
        state.entries.retain(|entry| entry.vi != vi);
        collected
    }

    /// Descriptors that the NIC could not complete are flushed: their entries, behind those that it has made.
    pub(crate) fn flushed(&self, vi: ViId, direction: Direction, count: usize) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let mut state = self.0.lock();
        self.0.collect(&mut state)?;
        let entry = CqEntry { vi, receive: direction == Direction::Receive };
        state.entries.extend(std::iter::repeat_n(entry, count));
        drop(state);
        // The NIC has made no interrupt for them.
        self.wake();
        Ok(())
    }

    /// The receives of a VI are flushed, and put back after: entries of theirs that are not taken, and those that come, are kept.
    pub(crate) fn hold(&self, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.lock();
        self.0.collect(&mut state)?;
        let before = state.entries.len();
        state.entries.retain(|entry| entry.vi != vi || !entry.receive);
        let kept = before - state.entries.len();
        state.held.insert(vi, kept);
        Ok(())
    }

    /// They are back: of the entries that were kept, those of `flushed` receives are nobody's.
    pub(crate) fn release(&self, vi: ViId, flushed: usize) -> Result<(), Error> {
        let mut state = self.0.lock();
        let collected = self.0.collect(&mut state);
        let kept = state.held.remove(&vi).unwrap_or(0);
        drop(state);
        collected.and(self.flushed(vi, Direction::Receive, kept.saturating_sub(flushed)))
    }
}

impl Inner {
    fn take(&self) -> Result<Option<CqEntry>, Error> {
        let mut state = self.lock();
        if let Some(entry) = state.entries.pop_front() {
            return Ok(Some(entry));
        }
        self.next(&mut state)
    }

    /// The oldest entry on the ring.
    fn next(&self, state: &mut State) -> Result<Option<CqEntry>, Error> {
        while let Some(entry) = self.cq.take()? {
            // An entry of nobody's is the NIC's error, and nobody's business.
            let Some(&vi) = state.vis.get(&entry.vi) else { continue };
            match state.held.get_mut(&vi).filter(|_| entry.receive) {
                Some(kept) => *kept += 1,
                None => return Ok(Some(CqEntry { vi, receive: entry.receive })),
            }
        }
        Ok(None)
    }

    /// Takes everything off the ring.
    fn collect(&self, state: &mut State) -> Result<(), Error> {
        while let Some(entry) = self.next(state)? {
            state.entries.push_back(entry);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Its VIs hold clones, so nobody has it. Of a device that is gone nothing is left to destroy.
        let _ = self.cq.destroy();
    }
}

impl fmt::Debug for Cq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cq").field(&self.0.cq.index()).finish()
    }
}
