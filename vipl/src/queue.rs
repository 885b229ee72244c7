//! A work queue as the program sees it: what is posted, in order.

use std::{
    collections::VecDeque,
    sync::{
        atomic::{fence, AtomicBool, Ordering},
        Mutex, MutexGuard,
    },
    time::Duration,
};

use viaduct_driver::agent::vis::{Direction, Vi as AgentVi};
use viaduct_spec::doorbell::token;

use crate::{form::Form, patience::Misses, Error};

/// One of the two work queues of a VI.
#[derive(Debug)]
pub(crate) struct Queue<D> {
    direction: Direction,
    slots: usize,
    posted: Mutex<Posted<D>>,
    misses: Misses,
}

/// The descriptors on a work queue.
#[derive(Debug)]
pub(crate) struct Posted<D> {
    /// Ring position of the next one: counts every descriptor, in the token's bits.
    position: u16,
    descriptors: VecDeque<D>,
    /// The VI is being connected: the NIC gets nothing, and what is posted is flushed.
    pub(crate) held: bool,
}

impl<D: Form> Queue<D> {
    pub(crate) fn new(vi: &AgentVi, direction: Direction) -> Self {
        Self {
            direction,
            slots: vi.ring(direction).slots(),
            posted: Mutex::new(Posted { position: 0, descriptors: VecDeque::new(), held: false }),
            misses: Misses::default(),
        }
    }

    /// Which one it is.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Posted<D>> {
        self.posted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
        let mut posted = self.lock();
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
        vi.ring_doorbell(self.direction, token)?;
        Ok(false)
    }

    /// Posts once more, in their order, what was flushed on a queue that has been reset, as if nothing had happened to it; not
    /// the `before` first ones, which were flushed earlier.
    pub(crate) fn restore(&self, vi: &AgentVi, posted: &mut Posted<D>, before: usize) -> Result<(), Error> {
        let mut descriptors = std::mem::take(&mut posted.descriptors);
        let mut rung = Ok(());
        for descriptor in descriptors.iter_mut().filter(|descriptor| descriptor.is_flushed()).skip(before) {
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
        let posted = self.lock();
        match posted.descriptors.front() {
            Some(head) if !head.is_complete() => Ok(vi.arm(self.direction, posted.oldest())?),
            _ => Ok(()),
        }
    }

    fn try_done(&self) -> Option<Result<D, Error>> {
        let mut posted = self.lock();
        match posted.descriptors.front() {
            None => return Some(Err(Error::Empty)),
            Some(head) if !head.is_complete() => return None,
            Some(_) => {}
        }
        let mut head = posted.descriptors.pop_front()?;
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
        self.position = next(self.position);
        token
    }

    /// How many have been flushed.
    pub(crate) fn flushed(&self) -> usize {
        self.descriptors.iter().filter(|descriptor| descriptor.is_flushed()).count()
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
