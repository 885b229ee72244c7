//! A work queue as the program sees it: what is posted, in order.

use std::{
    collections::VecDeque,
    hint::spin_loop,
    sync::{
        atomic::{fence, AtomicU32, Ordering},
        Mutex, MutexGuard,
    },
    time::{Duration, Instant},
};

use viaduct_driver::agent::{
    vis::{Direction, Vi as AgentVi},
    LONGEST_SLEEP,
};
use viaduct_spec::doorbell::token;

use crate::{Descriptor, Error};

/// Misses in a row after which a *Wait sleeps, and a *Done lets others run. On a machine with few processors a
/// simulated NIC otherwise waits for those who wait for it.
pub(crate) const MISSES: u32 = 64;
/// After how many misses one who waits asks whether the device still lives. Misses and not time: in a
/// deterministic simulation the question is an access to the NIC, and must come at the same place in every run.
pub(crate) const CHECK: u32 = 1024;

/// One of the two work queues of a VI.
#[derive(Debug)]
pub(crate) struct Queue {
    direction: Direction,
    slots: usize,
    posted: Mutex<Posted>,
    misses: AtomicU32,
}

/// The descriptors on a work queue.
#[derive(Debug, Default)]
pub(crate) struct Posted {
    /// Ring position of the next one: counts every descriptor, in the token's bits.
    position: u16,
    descriptors: VecDeque<Descriptor>,
}

impl Queue {
    pub(crate) fn new(vi: &AgentVi, direction: Direction) -> Self {
        Self {
            direction,
            slots: vi.ring(direction).slots(),
            posted: Mutex::default(),
            misses: AtomicU32::new(0),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Posted> {
        self.posted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Posts a descriptor: token into the ring, then the doorbell.
    pub(crate) fn post(&self, vi: &AgentVi, mut descriptor: Descriptor) -> Result<(), Error> {
        vi.check_process()?;
        let mut posted = self.lock();
        // The NIC has completed, hence read, what is off the queue: its slot is free.
        if posted.descriptors.len() >= self.slots {
            return Err(Error::Overrun(self.slots));
        }
        descriptor.prepare();
        let token = descriptor.token(posted.position);
        vi.ring(self.direction).store(posted.position, token);
        // Descriptor and slot are in memory before the doorbell can be seen.
        fence(Ordering::SeqCst);
        // From here on the NIC may find it, doorbell or not: it is posted.
        posted.position = next(posted.position);
        posted.descriptors.push_back(descriptor);
        Ok(vi.ring_doorbell(self.direction, token)?)
    }

    /// Takes the head off the queue if it is complete.
    pub(crate) fn done(&self, vi: &AgentVi) -> Result<Descriptor, Error> {
        vi.check_process()?;
        if let Some(result) = self.try_done() {
            self.misses.store(0, Ordering::Relaxed);
            return result;
        }
        let misses = self.misses.fetch_add(1, Ordering::Relaxed);
        if misses >= MISSES {
            vi.agent().pause();
        }
        if misses % CHECK == CHECK - 1 {
            vi.agent().check()?;
        }
        Err(Error::NotDone)
    }

    /// Takes the head off the queue when it is complete: within `timeout`, or whenever that is.
    ///
    /// It looks for a moment, and then sleeps until the NIC's interrupt. No interrupt is missed:
    /// 1. The generation of the vector is read before the arm word is stored. The interrupt that answers the arm
    ///    word comes later, and ends the sleep even if it comes before the sleep begins.
    /// 2. The NIC raises the vector when the head is complete before it sees the arm word, and when it becomes so
    ///    behind it; in both cases it has written the completion before. So whoever is woken sees it.
    /// 3. The last look behind the arm word spares the sleep where the completion is there already. It must not
    ///    come before the generation is read: then an interrupt between the two would count as seen.
    ///
    /// Other queues share the vector, and other threads may wait for this queue: who is woken and finds
    /// nothing arms anew, with the head as it is then.
    pub(crate) fn wait(&self, vi: &AgentVi, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        vi.check_process()?;
        let start = Instant::now();
        let agent = vi.agent();
        let vector = vi.vector(self.direction);
        loop {
            for _ in 0..MISSES {
                if let Some(result) = self.try_done() {
                    return result;
                }
                spin_loop();
            }
            let left = timeout.map_or(LONGEST_SLEEP, |timeout| timeout.saturating_sub(start.elapsed()));
            if left.is_zero() {
                return Err(Error::Timeout);
            }
            let Some(seen) = agent.generation(vector) else {
                return self.poll(vi, start, timeout);
            };
            self.arm(vi)?;
            if let Some(result) = self.try_done() {
                return result;
            }
            // An interrupt shows that the device lives, whosever it was.
            if !agent.sleep(vector, seen, left.min(LONGEST_SLEEP)) {
                agent.check()?;
            }
        }
    }

    /// [`Queue::done`], again and again until `timeout` after `start`, or for ever: where one must not sleep.
    fn poll(&self, vi: &AgentVi, start: Instant, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        loop {
            match self.done(vi) {
                Err(Error::NotDone) => {}
                result => return result,
            }
            if timeout.is_some_and(|timeout| start.elapsed() >= timeout) {
                return Err(Error::Timeout);
            }
        }
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

    fn try_done(&self) -> Option<Result<Descriptor, Error>> {
        let mut posted = self.lock();
        match posted.descriptors.front() {
            None => return Some(Err(Error::Empty)),
            Some(head) if !head.is_complete() => return None,
            Some(_) => {}
        }
        let mut head = posted.descriptors.pop_front()?;
        head.finish();
        Some(if head.status().is_error() { Err(Error::Descriptor(Box::new(head))) } else { Ok(head) })
    }
}

impl Posted {
    /// Nothing is posted.
    pub(crate) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// Ring position of the head, if that is not complete. After a reset complete descriptors of the
    /// old ring may be left before those of the new one: positions are of the latter only.
    fn oldest(&self) -> u16 {
        self.position.wrapping_sub(self.descriptors.len() as u16) & token::POSITION.mask() as u16
    }

    /// Everything posted is complete. The NIC completes in order: the last one tells.
    pub(crate) fn is_complete(&self) -> bool {
        self.descriptors.back().is_none_or(Descriptor::is_complete)
    }

    /// The NIC has forgotten the queue: what it did not complete is flushed, and the ring starts
    /// anew. How many it did not complete.
    pub(crate) fn reset(&mut self) -> usize {
        let mut flushed = 0;
        for descriptor in self.descriptors.iter_mut().filter(|d| !d.is_complete()) {
            descriptor.flush();
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
