//! A work queue as the program sees it: what is posted, in order.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    sync::{
        atomic::{fence, AtomicBool, Ordering},
        Mutex, MutexGuard, PoisonError,
    },
    time::Duration,
};

use viaduct_driver::{
    agent::vis::{Direction, Vi as AgentVi},
    barrier,
};
use viaduct_spec::doorbell::token;

use crate::{form::Form, patience::Misses, Error};

/// One of the two work queues of a VI.
#[derive(Debug)]
pub(crate) struct Queue<D> {
    direction: Direction,
    slots: usize,
    /// Held from a descriptor's place in the ring to its doorbell: doorbells are rung in the order of their descriptors. The device may
    /// take its time for one, and who looks whether something is complete does not wait for that. Taken before `posted`.
    doorbell: Mutex<()>,
    posted: Mutex<Posted<D>>,
    misses: Misses,
}

/// A queue at rest: nobody posts, or looks.
#[derive(Debug)]
pub(crate) struct Rest<'a, D> {
    posted: MutexGuard<'a, Posted<D>>,
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

/// The descriptors on a work queue.
#[derive(Debug)]
pub(crate) struct Posted<D> {
    /// Ring position of the next one: counts every descriptor, in the token's bits.
    position: u16,
    descriptors: VecDeque<D>,
    /// The VI is being connected: the NIC gets nothing, and what is posted is flushed.
    pub(crate) held: bool,
    /// How many at the head were complete when it began to be connected.
    old: usize,
}

impl<D: Form> Queue<D> {
    pub(crate) fn new(vi: &AgentVi, direction: Direction) -> Self {
        Self {
            direction,
            slots: vi.ring(direction).slots(),
            doorbell: Mutex::default(),
            posted: Mutex::new(Posted { position: 0, descriptors: VecDeque::new(), held: false, old: 0 }),
            misses: Misses::default(),
        }
    }

    /// Which one it is.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// Brings the queue to rest: no doorbell is on its way.
    pub(crate) fn rest(&self) -> Rest<'_, D> {
        let _doorbell = whole(&self.doorbell);
        Rest { posted: whole(&self.posted), _doorbell }
    }

    /// The descriptors as they are, whoever rings a doorbell.
    pub(crate) fn look(&self) -> MutexGuard<'_, Posted<D>> {
        whole(&self.posted)
    }

    /// Posts a descriptor: token into the ring, then the doorbell. Whether it was flushed at once: the VI is being connected.
    /// `release` looks whether it still is.
    pub(crate) fn post(
        &self,
        vi: &AgentVi,
        mut descriptor: D,
        release: impl FnOnce(&mut Posted<D>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        vi.check_process()?;
        let _doorbell = whole(&self.doorbell);
        let mut posted = self.look();
        // The NIC has completed, hence read, what is off the queue: its slot is free.
        if posted.descriptors.len() >= self.slots {
            return Err(Error::Overrun(self.slots));
        }
        if posted.held {
            release(&mut posted)?;
        }
        descriptor.prepare();
        if posted.held {
            descriptor.flush(self.direction);
            posted.descriptors.push_back(descriptor);
            return Ok(true);
        }
        let token = posted.hand(vi, self.direction, &descriptor);
        // From here on the NIC may find it, doorbell or not: it is posted.
        posted.descriptors.push_back(descriptor);
        drop(posted);
        vi.ring_doorbell(self.direction, token)?;
        Ok(false)
    }

    /// Posts once more, in their order, what was flushed since [`Posted::begin`] on a queue that has been reset, as if nothing had
    /// happened to it.
    pub(crate) fn restore(&self, vi: &AgentVi, posted: &mut Posted<D>) -> Result<(), Error> {
        let mut descriptors = std::mem::take(&mut posted.descriptors);
        let mut rung = Ok(());
        for descriptor in descriptors.iter_mut().skip(posted.old).filter(|descriptor| descriptor.is_flushed())
        {
            descriptor.renew();
            let token = posted.hand(vi, self.direction, descriptor);
            rung = rung.and(vi.ring_doorbell(self.direction, token));
        }
        posted.descriptors = descriptors;
        Ok(rung?)
    }

    /// Takes the head off the queue if it is complete, however it completed.
    pub(crate) fn done(&self, vi: &AgentVi) -> Result<D, Error> {
        vi.check_process()?;
        self.misses.count(&**vi.agent(), self.try_done())?
    }

    /// Takes the head off the queue when it is complete: within `timeout`, or whenever that is, or not any more when `given_up` is
    /// set. It arms with the head as it is then: see [`Misses::wait`].
    pub(crate) fn wait(
        &self,
        vi: &AgentVi,
        timeout: Option<Duration>,
        given_up: &AtomicBool,
    ) -> Result<D, Error> {
        vi.check_process()?;
        let look = || Ok(self.try_done());
        let vector = vi.vector(self.direction);
        self.misses.wait(&**vi.agent(), vector, timeout, given_up, look, || self.arm(vi))?
    }

    /// Asks for an interrupt when the head is complete. When it is already, or there is none, nothing is asked.
    fn arm(&self, vi: &AgentVi) -> Result<(), Error> {
        // Under the lock: the position is of the queue as it is, and not of one that was reset meanwhile.
        let posted = self.look();
        match posted.descriptors.front() {
            Some(head) if !head.is_complete() => Ok(vi.arm(self.direction, posted.oldest())?),
            _ => Ok(()),
        }
    }

    fn try_done(&self) -> Option<Result<D, Error>> {
        let mut posted = self.look();
        match posted.descriptors.front() {
            None => return Some(Err(Error::Empty)),
            Some(head) if !head.is_complete() => return None,
            Some(_) => {}
        }
        let mut head = posted.descriptors.pop_front()?;
        posted.old = posted.old.saturating_sub(1);
        head.finish();
        Some(Ok(head))
    }
}

impl<D: Form> Posted<D> {
    /// Nothing is posted.
    pub(crate) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// Ring position of the head, if that is not complete. After a reset complete descriptors of the
    /// old ring may be left before those of the new one: positions are of the latter only.
    fn oldest(&self) -> u16 {
        self.position.wrapping_sub(self.descriptors.len() as u16) & token::POSITION.mask() as u16
    }

    /// Puts a descriptor into the ring; the doorbell is to be rung with the token.
    fn hand(&mut self, vi: &AgentVi, direction: Direction, descriptor: &D) -> u64 {
        let token = descriptor.token(self.position);
        vi.ring(direction).store(self.position, token);
        // Descriptor and slot are in memory before the doorbell can be seen.
        fence(Ordering::SeqCst);
        barrier::to_device();
        self.position = next(self.position);
        token
    }

    /// The VI begins to be connected: what is complete is so for good.
    pub(crate) fn begin(&mut self) {
        self.old = self.descriptors.iter().take_while(|descriptor| descriptor.is_complete()).count();
    }

    /// How many have been flushed since.
    pub(crate) fn flushed(&self) -> usize {
        self.descriptors.iter().skip(self.old).filter(|descriptor| descriptor.is_flushed()).count()
    }

    /// Everything posted is complete. The NIC completes in order: the last one tells.
    pub(crate) fn is_complete(&self) -> bool {
        self.descriptors.back().is_none_or(|last| last.is_complete())
    }

    /// The NIC has forgotten the queue: what it did not complete is flushed, and the ring starts
    /// anew. How many it did not complete.
    pub(crate) fn reset(&mut self, direction: Direction) -> usize {
        let mut flushed = 0;
        for descriptor in self.descriptors.iter().filter(|descriptor| !descriptor.is_complete()) {
            descriptor.flush(direction);
            flushed += 1;
        }
        self.position = 0;
        flushed
    }
}

/// Takes a lock around what is whole after each step.
fn whole<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ring position after `position`.
fn next(position: u16) -> u16 {
    position.wrapping_add(1) & token::POSITION.mask() as u16
}

#[cfg(test)]
mod tests {
    #[test]
    fn positions_wrap_at_their_field() {
        assert_eq!(super::next(0), 1);
        assert_eq!(super::next(0x3ffe), 0x3fff);
        assert_eq!(super::next(0x3fff), 0);
    }
}
