//! Completion queues.

mod poll;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    num::NonZeroU64,
    os::fd::BorrowedFd,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        Arc,
    },
    time::Duration,
};

use viaduct_driver::{
    agent::{cqs::Cq as AgentCq, vis::Direction},
    kernel_agent::CqName,
    queues::{
        entries::Entry,
        lock::{Held, Locked, Place},
    },
    wakeup::Wakeup,
};

pub use self::poll::Completion;
use crate::{
    backoff::{Backoff, NEVER},
    ends::Ends,
    form::RawDescriptor,
    queue::Try,
    readiness::Readiness,
    vi::ViQueues,
    Descriptor, Error, Nic,
};

/// Tells a VI from every other one that this process has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViId(NonZeroU64);

impl ViId {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MAX))
    }

    /// A number of the caller's, who gives no other VI of a completion queue the same: [`crate::ViSlot`].
    pub fn of(number: NonZeroU64) -> Self {
        Self(number)
    }

    /// The number; never 0.
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

/// What a completion queue says: a descriptor of this work queue is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
/// An entry says that the head of a work queue is complete; `send_done` or `recv_done` then takes it. [`Cq::poll`] takes entries and
/// descriptors, several at a time.
#[derive(Clone)]
pub struct Cq(Arc<Inner>);

struct Inner {
    nic: Nic,
    name: CqName,
    vector: u8,
    state: Locked<State>,
    backoff: Backoff,
    ends: Ends,
    readiness: Readiness,
}

struct State {
    cq: AgentCq,
    /// The VIs that have it, by the index that entries carry.
    vis: Vec<Option<ViId>>,
    /// Their work queues, by the same. A VI that ends takes itself out.
    members: Vec<Option<Member>>,
    /// Entries that are off the ring.
    entries: VecDeque<Taken>,
    /// VIs whose receives are being put back, and how many entries of theirs have come meanwhile.
    held: BTreeMap<ViId, usize>,
}

/// A VI that has the queue, by the form of its descriptors.
#[derive(Debug)]
pub enum Member {
    /// They own their memory.
    Owned(Arc<ViQueues<Descriptor>>),
    /// The program writes them.
    Raw(Arc<ViQueues<RawDescriptor>>),
}

/// An entry that is off the ring.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// The place of its VI in [`State::vis`] and [`State::members`].
    index: u16,
    entry: CqEntry,
}

impl Taken {
    /// The work queue.
    fn direction(self) -> Direction {
        match self.entry.receive {
            true => Direction::Receive,
            false => Direction::Send,
        }
    }
}

impl Nic {
    /// Creates a completion queue for at most `entries` entries that are not taken (VipCreateCQ). One more is lost, and breaks
    /// its VI: event CQ_OVERRUN.
    ///
    /// # Errors
    /// No or too many entries; no queue or region left.
    pub fn create_cq(&self, entries: usize) -> Result<Cq, Error> {
        self.create_cq_at(entries, Place::default())
    }

    /// [`Nic::create_cq`], for who keeps queues in places of its own: its lock is there, and this queue's alone.
    ///
    /// # Errors
    /// As [`Nic::create_cq`].
    pub fn create_cq_at(&self, entries: usize, lock: Place) -> Result<Cq, Error> {
        let cq = Arc::clone(self.agent()).create_cq(entries)?;
        let (name, vector, ends) = (cq.name(), cq.vector(), Ends::of(&**self.agent()));
        let (vis, members) = (Vec::new(), Vec::new());
        let state = State { cq, vis, members, entries: VecDeque::new(), held: BTreeMap::new() };
        let (nic, state, backoff) = (self.clone(), Locked::new(lock, state), Backoff::default());
        let readiness = Readiness::default();
        Ok(Cq(Arc::new(Inner { nic, name, vector, state, backoff, ends, readiness })))
    }
}

impl Cq {
    /// Takes the oldest entry (VipCQDone).
    ///
    /// # Errors
    /// [`Error::NotDone`]; now and then, the device's errors.
    pub fn done(&self) -> Result<CqEntry, Error> {
        let inner = &*self.0;
        inner.backoff.count(&**inner.nic.agent(), inner.take()?)
    }

    /// [`Cq::done`] for a caller that holds the queue's lock: it does the usual, or nothing.
    ///
    /// # Safety
    /// `held` is the lock that the queue was created with, and this is no child of the process that did so.
    #[inline(always)]
    pub unsafe fn try_done(&self, held: &mut Held<'_>) -> Try<CqEntry> {
        let inner = &*self.0;
        // SAFETY: the caller's promise.
        let state = unsafe { inner.state.held(held) };
        match state.try_take() {
            Try::Done(taken) => {
                inner.backoff.end();
                Try::Done(taken.entry)
            }
            // SAFETY: the queue has the NIC, which has the agent.
            Try::Nothing if !unsafe { inner.ends.have_come() } && inner.backoff.is_silent() => Try::Nothing,
            Try::Nothing | Try::Unusual => Try::Unusual,
        }
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
        // Under the lock: the index is the ring's as it is, and not of one that was resized meanwhile.
        let arm = || Ok(inner.state.lock().cq.arm()?);
        inner.backoff.wait(&**inner.nic.agent(), inner.vector, timeout, given_up, look, arm)
    }

    /// A descriptor for poll(2), epoll(7) and the like, which is readable when there may be an entry: a loop that waits for many things waits for this
    /// one among them. It belongs to the queue and stays as long as the queue does; nobody reads or closes it.
    ///
    /// It says nothing before [`Cq::arm`], and may be readable for nothing, since queues share interrupt vectors. So one thread does this, again and
    /// again: it takes what there is ([`Cq::done`]) until there is no more, arms, looks **once more**, and only if that finds nothing waits until the
    /// descriptor is readable. What comes between the last look and the wait makes it readable. So does the end of the NIC, which [`Nic::check`] tells; that of a
    /// simulator, whose NIC this process owns, once connections have begun ([`Nic::connections`]): somebody must ask it whether it lives.
    ///
    /// # Errors
    /// [`Error::NotSupported`] for a NIC without interrupts, which is polled; the process may have no more descriptors.
    pub fn fd(&self) -> Result<BorrowedFd<'_>, Error> {
        self.0.wakeup().map(Readiness::fd)
    }

    /// Makes [`Cq::fd`] say when there is an entry that has not been taken: once, or at once if there is one.
    ///
    /// # Errors
    /// As [`Cq::fd`]; the device's.
    pub fn arm(&self) -> Result<(), Error> {
        let wakeup = self.0.wakeup()?;
        // First: the interrupt that answers comes later.
        wakeup.clear();
        let state = self.0.state.lock();
        state.cq.arm()?;
        if !state.entries.is_empty() {
            wakeup.signal();
        }
        Ok(())
    }

    /// Wakes those who wait: they look whether there is an entry, and whether they have given up.
    pub fn wake(&self) {
        self.0.nic.agent().wake(self.0.vector);
    }

    /// Gives it room for another number of entries (VipResizeCQ). Those that have not been taken stay.
    ///
    /// # Errors
    /// As [`Nic::create_cq`].
    pub fn resize(&self, entries: usize) -> Result<(), Error> {
        Ok(self.0.state.lock().cq.resize(entries)?)
    }

    /// Whether a VI or a clone has it: it is not destroyed yet when this one is dropped.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Its number on its NIC, which another queue may have later: what [`crate::Event`]s call it.
    pub fn index(&self) -> u16 {
        self.0.name.index
    }

    /// Whether an event is of this queue, and not of another that has had its number.
    pub fn is_of(&self, event: &crate::Event) -> bool {
        let name = self.0.name;
        (name.index, name.life) == (event.vi, event.life)
    }

    /// The NIC that it is on.
    pub fn nic(&self) -> &Nic {
        &self.0.nic
    }

    /// Its number, for the rows of a VI on `nic`.
    pub(crate) fn index_on(&self, nic: &Nic) -> Result<u16, Error> {
        if self.0.nic.is(nic) {
            Ok(self.0.name.index)
        } else {
            Err(Error::OtherNic)
        }
    }

    /// A VI that has it, with nothing posted yet: what is on the ring is of an earlier VI's of that index.
    pub(crate) fn add(&self, index: u16, vi: ViId, queues: Member) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        state.collect()?;
        let index = usize::from(index);
        if state.vis.len() <= index {
            state.vis.resize(index + 1, None);
            state.members.resize_with(index + 1, || None);
        }
        state.vis[index] = Some(vi);
        state.members[index] = Some(queues);
        Ok(())
    }

    /// The VI is gone, and its entries with it. Its index may be another's already.
    pub(crate) fn forget(&self, index: u16, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        let collected = state.collect();
        let index = usize::from(index);
        if state.vis.get(index) == Some(&Some(vi)) {
            state.vis[index] = None;
            state.members[index] = None;
        }
        state.entries.retain(|taken| taken.entry.vi != vi);
        collected
    }

    /// Descriptors that the NIC could not complete are flushed: their entries, behind those that it has made.
    pub(crate) fn flushed(
        &self,
        index: u16,
        vi: ViId,
        direction: Direction,
        count: usize,
    ) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let mut state = self.0.state.lock();
        state.collect()?;
        let entry = CqEntry { vi, receive: direction == Direction::Receive };
        state.entries.extend(std::iter::repeat_n(Taken { index, entry }, count));
        drop(state);
        // The NIC has made no interrupt for them.
        self.wake();
        Ok(())
    }

    /// The receives of a VI are flushed, and put back after: entries of theirs that are not taken, and those that come, are kept.
    pub(crate) fn hold(&self, vi: ViId) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        state.collect()?;
        let before = state.entries.len();
        state.entries.retain(|taken| taken.entry.vi != vi || !taken.entry.receive);
        let kept = before - state.entries.len();
        state.held.insert(vi, kept);
        Ok(())
    }

    /// They are back: of the entries that were kept, those of `flushed` receives are nobody's.
    pub(crate) fn release(&self, index: u16, vi: ViId, flushed: usize) -> Result<(), Error> {
        let mut state = self.0.state.lock();
        let collected = state.collect();
        let kept = state.held.remove(&vi).unwrap_or(0);
        drop(state);
        collected.and(self.flushed(index, vi, Direction::Receive, kept.saturating_sub(flushed)))
    }
}

impl Inner {
    fn wakeup(&self) -> Result<&Wakeup, Error> {
        let agent = self.nic.agent();
        self.readiness.get(|wakeup| match agent.vectors() {
            0 => Err(Error::NotSupported("a descriptor to wait on, of a NIC without interrupts,")),
            _ => Ok(agent.on_vector(self.vector, wakeup)?),
        })
    }

    fn take(&self) -> Result<Option<CqEntry>, Error> {
        Ok(self.state.lock().take()?.map(|taken| taken.entry))
    }
}

impl State {
    /// Takes the oldest entry.
    #[inline]
    fn take(&mut self) -> Result<Option<Taken>, Error> {
        if self.entries.is_empty() {
            return self.next();
        }
        Ok(self.entries.pop_front())
    }

    /// [`State::take`], if nothing stands against it, for a caller that has seen that this is no child of a fork.
    #[inline(always)]
    fn try_take(&mut self) -> Try<Taken> {
        if !self.entries.is_empty() || !self.held.is_empty() {
            return Try::Unusual;
        }
        match self.cq.try_take() {
            Ok(None) => Try::Nothing,
            Ok(Some(Entry { vi: index, receive, .. })) => match self.vis.get(usize::from(index)) {
                Some(&Some(vi)) => Try::Done(Taken { index, entry: CqEntry { vi, receive } }),
                // It was nobody's: the next one is due.
                _ => Try::Unusual,
            },
            Err(_) => Try::Unusual,
        }
    }

    /// The oldest entry on the ring.
    #[inline]
    fn next(&mut self) -> Result<Option<Taken>, Error> {
        while let Some(entry) = self.cq.take()? {
            // An entry of nobody's is the NIC's error, and nobody's business.
            let Some(&Some(vi)) = self.vis.get(usize::from(entry.vi)) else { continue };
            if entry.receive && !self.held.is_empty() && self.keep(vi) {
                continue;
            }
            return Ok(Some(Taken { index: entry.vi, entry: CqEntry { vi, receive: entry.receive } }));
        }
        Ok(None)
    }

    /// Whether an entry of a receive of this VI's is kept.
    #[cold]
    fn keep(&mut self, vi: ViId) -> bool {
        self.held.get_mut(&vi).map(|kept| *kept += 1).is_some()
    }

    /// Takes everything off the ring.
    fn collect(&mut self) -> Result<(), Error> {
        while let Some(taken) = self.next()? {
            self.entries.push_back(taken);
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Its VIs hold clones, so nobody has it. Of a device that is gone nothing is left to destroy.
        let _ = self.state.lock().cq.destroy();
    }
}

impl fmt::Debug for Cq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cq").field(&self.0.name.index).finish()
    }
}
