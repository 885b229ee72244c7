//! Completion queues: what programs ask of them. A queue's lock guards its [`State`]; a look that finds something takes that lock and no other.

mod entry;
mod members;
mod poll;
mod state;

use std::{
    fmt,
    os::fd::BorrowedFd,
    sync::{atomic::AtomicBool, Arc},
    time::Duration,
};

use viaduct_driver::{
    consumer::Cq as AgentCq,
    kernel_agent::CqName,
    queues::{
        lock::Held,
        locked::{Locked, Place},
    },
    wakeup::Wakeup,
};

use self::state::State;
pub use self::{entry::CqEntry, poll::Completion};
use crate::{
    backoff::{Backoff, NEVER},
    ends::Ends,
    queue::Try,
    readiness::Readiness,
    Error, Nic,
};

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
        let cq = AgentCq::create(Arc::clone(self.agent()), entries)?;
        let (name, vector, ends) = (cq.name(), cq.vector(), Ends::of(&**self.agent()));
        let (nic, state, backoff) = (self.clone(), Locked::new(lock, State::new(cq)), Backoff::default());
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
