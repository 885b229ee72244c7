//! A work queue as the program sees it: what is posted, in order.

mod posted;

use std::{
    ops::{Deref, DerefMut},
    sync::{atomic::AtomicBool, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use viaduct_driver::{
    barrier,
    consumer::Vi as AgentVi,
    queues::{
        lock::Held,
        locked::{Guard, Locked, Place},
        work_queues::WorkQueues,
        Direction,
    },
};
use viaduct_spec::doorbell::token;

use self::posted::is_from;
pub(crate) use self::posted::{Posted, Stage};
use crate::{backoff::Backoff, ends::Ends, form::OnQueue, registered::Found, ring::Popped, Error};

/// One of the two work queues of a VI.
#[derive(Debug)]
pub(crate) struct Queue<D> {
    direction: Direction,
    slots: usize,
    /// Held from a descriptor's place in the ring to its doorbell, where the device may take its time for one: doorbells are rung in the
    /// order of their descriptors, and who looks whether something is complete does not wait for that. Taken before `posted`. A
    /// doorbell that is a store is rung with `posted` held.
    doorbell: Mutex<()>,
    posted: Locked<Posted<D>>,
    backoff: Backoff,
    ends: Ends,
}

/// What came of a call that does the usual alone, without waiting and without errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Try<T> {
    /// The call has done it; what came of it.
    Done(T),
    /// A look has found nothing.
    Nothing,
    /// The call has done nothing: the general call is due, and finds out why.
    Unusual,
}

/// How far a post of several descriptors has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// On the queue.
    pub(crate) posted: usize,
    /// Those of them that the library has flushed: the VI is being connected.
    pub(crate) flushed: usize,
}

/// A queue at rest: nobody posts, or looks.
#[derive(Debug)]
pub(crate) struct Rest<'a, D> {
    posted: Guard<'a, Posted<D>>,
    /// Let go of when others may look again.
    _doorbell: MutexGuard<'a, ()>,
}

impl<D> Deref for Rest<'_, D> {
    type Target = Posted<D>;

    fn deref(&self) -> &Posted<D> {
        &self.posted
    }
}

impl<D> DerefMut for Rest<'_, D> {
    fn deref_mut(&mut self) -> &mut Posted<D> {
        &mut self.posted
    }
}

impl<D: OnQueue> Queue<D> {
    /// A queue of a VI; its lock is at `lock`, and its descriptors have all the room that they need.
    pub(crate) fn new(vi: &AgentVi, direction: Direction, lock: Place) -> Self {
        let slots = vi.queues().ring(direction).slots();
        let posted = Posted::new(slots, vi.queues().bell(direction).is_some());
        Self {
            direction,
            slots,
            doorbell: Mutex::default(),
            posted: Locked::new(lock, posted),
            backoff: Backoff::default(),
            ends: Ends::of(&**vi.agent()),
        }
    }

    /// Brings the queue to rest: no doorbell is on its way.
    pub(crate) fn rest(&self) -> Rest<'_, D> {
        let _doorbell = lock(&self.doorbell);
        Rest { posted: self.posted.lock(), _doorbell }
    }

    /// The descriptors as they are, whoever rings a doorbell.
    pub(crate) fn look(&self) -> Guard<'_, Posted<D>> {
        self.posted.lock()
    }

    /// Posts the descriptor that `describe` makes, with its token at ring position 0 that says nothing of its length, if nothing stands against it and the doorbell is a store. `Done(false)`: it is posted, and
    /// [`WorkQueues::wake_poller`] is due. `direction` is this queue's; the compiler knows it there.
    ///
    /// # Safety
    /// `held` is the queue's lock, and this is no child of the process that the VI was made in.
    #[inline(always)]
    pub(crate) unsafe fn try_post(
        &self,
        vi: &AgentVi,
        direction: Direction,
        held: &mut Held<'_>,
        describe: impl FnOnce(&Found) -> Option<(D, u64)>,
    ) -> Try<bool> {
        debug_assert_eq!(direction, self.direction);
        // SAFETY: the caller's promise.
        let posted = unsafe { self.posted.held(held) };
        if !posted.descriptors.is_open() {
            return Try::Unusual;
        }
        // SAFETY: the doorbell is memory, as the ring is open: `Posted::new`.
        let bell = unsafe { vi.queues().bell(direction).unwrap_unchecked() };
        let Some((mut descriptor, token)) = describe(&posted.found) else { return Try::Unusual };
        if !descriptor.try_prepare() {
            return Try::Unusual;
        }
        let token = put(&mut posted.position, vi.queues(), direction, descriptor.shortened(token));
        posted.descriptors.push(descriptor);
        Try::Done(bell.ring(token))
    }

    /// Keeps what `find` finds of registered memory for the next [`Queue::try_post`], in place of what the last post has found. False: it finds
    /// nothing, or another thing stands against a post.
    ///
    /// # Safety
    /// As [`Queue::try_post`].
    pub(crate) unsafe fn try_find(&self, held: &mut Held<'_>, find: impl FnOnce() -> Option<Found>) -> bool {
        // SAFETY: the caller's promise.
        let posted = unsafe { self.posted.held(held) };
        if !posted.descriptors.is_open() {
            return false;
        }
        let Some(found) = find() else { return false };
        posted.found = found;
        true
    }

    /// Takes the head off the queue if it is complete, if nothing stands against it.
    ///
    /// # Safety
    /// As [`Queue::try_post`].
    #[inline(always)]
    pub(crate) unsafe fn try_take(&self, held: &mut Held<'_>) -> Try<D> {
        // SAFETY: the caller's promise.
        let posted = unsafe { self.posted.held(held) };
        match posted.descriptors.pop_if(D::finish) {
            Popped::Thing(descriptor) => {
                self.backoff.end();
                Try::Done(descriptor)
            }
            // SAFETY: the VI has the agent.
            Popped::Stays if !unsafe { self.ends.have_come() } && self.backoff.is_silent() => Try::Nothing,
            Popped::Stays | Popped::Empty => Try::Unusual,
        }
    }

    /// Takes the head off the queue if it is complete; None: somebody else has the queue at the moment. It waits for nobody.
    #[inline]
    pub(crate) fn try_pop(&self) -> Option<Popped<D>> {
        Some(self.posted.try_lock()?.descriptors.pop_if(D::finish))
    }

    /// [`Queue::try_pop`], which waits until it has the queue.
    pub(crate) fn pop(&self) -> Popped<D> {
        self.look().descriptors.pop_if(D::finish)
    }

    /// Posts the descriptors that `next` makes, with tokens at ring position 0 that say nothing of their length, `count` at most, in this order: their tokens into the ring, then one doorbell, with the token of the
    /// last one, which says that all slots up to its own are written. Ends early when `next` has no more, or with an error. What was posted
    /// before the error is posted and rung for; `progress` says how many. The one that the error is of was not made, or is dropped.
    ///
    /// While the VI is being connected each is flushed at once; `release` looks first whether it still is. `direction` is this queue's, as in
    /// [`Queue::try_post`].
    ///
    /// # Errors
    /// [`Error::Overrun`], before `next` is asked; those of `next`, of `release` and of the device. If the doorbell itself fails, what `progress` says is
    /// posted all the same: the NIC may find it in the ring.
    pub(crate) fn post(
        &self,
        vi: &AgentVi,
        direction: Direction,
        count: usize,
        mut next: impl FnMut(&mut Found) -> Option<Result<(D, u64), Error>>,
        release: impl FnOnce(&mut Posted<D>) -> Result<(), Error>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        debug_assert_eq!(direction, self.direction);
        vi.queues().check_process()?;
        let bell = vi.queues().bell(direction);
        let _doorbell = bell.is_none().then(|| lock(&self.doorbell));
        let mut posted = self.look();
        if posted.is_held() && count > 0 {
            release(&mut posted)?;
        }
        let (mut last, mut outcome) = (None, Ok(()));
        for _ in 0..count {
            // The NIC has completed, hence read, what is off the queue: its slot is free.
            if posted.descriptors.is_full() {
                outcome = Err(Error::Overrun(self.slots));
                break;
            }
            let (mut descriptor, token) = match next(&mut posted.found) {
                Some(Ok(described)) => described,
                Some(Err(error)) => {
                    outcome = Err(error);
                    break;
                }
                None => break,
            };
            descriptor.prepare();
            if posted.is_held() {
                descriptor.flush(direction);
                progress.flushed += 1;
            } else {
                // From here on the NIC may find it, doorbell or not: it is posted.
                let token = descriptor.shortened(token);
                last = Some(put(&mut posted.position, vi.queues(), direction, token));
            }
            posted.descriptors.push(descriptor);
            progress.posted += 1;
        }
        let Some(token) = last else { return outcome };
        match bell {
            Some(bell) => {
                let is_heard = bell.ring(token);
                drop(posted);
                if !is_heard {
                    vi.queues().wake_poller()?;
                }
            }
            None => {
                drop(posted);
                vi.queues().ring_doorbell(direction, token)?;
            }
        }
        outcome
    }

    /// Posts once more, in their order, what was flushed from the number `first` on, on a queue that has been reset, as if nothing had
    /// happened to it.
    pub(crate) fn restore(&self, vi: &AgentVi, posted: &mut Posted<D>, first: usize) -> Result<(), Error> {
        let mut rung = Ok(());
        let Posted { position, descriptors, .. } = posted;
        descriptors.for_each(|number, descriptor| {
            if is_from(first, number) && descriptor.is_flushed() {
                descriptor.renew();
                let token = put(position, vi.queues(), self.direction, descriptor.token());
                rung = std::mem::replace(&mut rung, Ok(()))
                    .and(vi.queues().ring_doorbell(self.direction, token));
            }
        });
        Ok(rung?)
    }

    /// Takes the head off the queue if it is complete, however it completed.
    pub(crate) fn done(&self, vi: &AgentVi) -> Result<D, Error> {
        vi.queues().check_process()?;
        self.backoff.count(&**vi.agent(), self.try_done())?
    }

    /// Takes the head off the queue when it is complete: within `timeout`, or whenever that is, or not any more when `given_up` is
    /// set. It arms with the head as it is then: see [`Backoff::wait`].
    pub(crate) fn wait(
        &self,
        vi: &AgentVi,
        timeout: Option<Duration>,
        given_up: &AtomicBool,
    ) -> Result<D, Error> {
        vi.queues().check_process()?;
        let look = || Ok(self.try_done());
        let vector = vi.queues().vector(self.direction);
        self.backoff.wait(&**vi.agent(), vector, timeout, given_up, look, || self.arm(vi))?
    }

    /// Asks for an interrupt when the head is complete. When it is already, or there is none, nothing is asked.
    fn arm(&self, vi: &AgentVi) -> Result<(), Error> {
        // Under the lock: the position is of the queue as it is, and not of one that was reset meanwhile.
        let posted = self.look();
        let is_complete = posted.descriptors.iter().next().is_none_or(|head| head.is_complete());
        match is_complete {
            false => Ok(vi.queues().arm(self.direction, posted.oldest())?),
            true => Ok(()),
        }
    }

    fn try_done(&self) -> Option<Result<D, Error>> {
        match self.pop() {
            Popped::Empty => Some(Err(Error::Empty)),
            Popped::Stays => None,
            Popped::Thing(descriptor) => Some(Ok(descriptor)),
        }
    }
}

/// Takes a lock around what is whole after each step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a descriptor, which has `token` at ring position 0, into the slot of `position`, which is the next one's then. The doorbell is to be rung
/// with the token that this answers.
#[inline]
fn put(position: &mut u64, queues: &WorkQueues, direction: Direction, token: u64) -> u64 {
    let token = token | token::POSITION.of(*position);
    queues.ring(direction).store(*position as u16, token);
    // Descriptor and slot are in memory before the doorbell can be seen.
    barrier::to_device();
    *position = position.wrapping_add(1);
    token
}
