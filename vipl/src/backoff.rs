//! How one looks again and again for what the NIC has not done yet, for work queues and completion queues alike.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread::yield_now,
    time::{Duration, Instant},
};

use viaduct_driver::{
    device::Polling,
    kernel_agent::KernelAgent,
    wait::{turn, Turn, LONGEST_SLEEP},
};

use crate::Error;

/// Misses in a row after which a *Wait sleeps, and a *Done lets a simulated NIC run: on a machine with few processors that
/// otherwise waits for those who wait for it.
const MISSES: u32 = 64;
/// After how many misses one who waits asks whether the device still lives. Misses and not time: in a
/// deterministic simulation the question is an access to the NIC, and must come at the same place in every run.
const CHECK: u32 = 1024;
/// The same for a *Done beside a NIC that is no simulation: a look takes some nanoseconds there. A multiple of [`CHECK`].
const SPINNING_CHECK: u32 = 16 * CHECK;

/// What those have who wait whatever happens.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// Looks in vain, in a row. Of two threads that look at once one may not be counted.
#[derive(Debug)]
pub(crate) struct Backoff {
    /// Looks that may come to nothing before something is to be done.
    left: AtomicU32,
    /// Looks that have come to nothing when `left` is 0.
    misses: AtomicU32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { left: AtomicU32::new(MISSES), misses: AtomicU32::new(MISSES) }
    }
}

impl Backoff {
    /// Something was found: the row ends.
    #[inline]
    pub(crate) fn end(&self) {
        self.set(MISSES, MISSES);
    }

    fn set(&self, left: u32, misses: u32) {
        self.left.store(left, Ordering::Relaxed);
        self.misses.store(misses, Ordering::Relaxed);
    }

    /// Counts one more, and says true, if there is nothing else to be done; otherwise [`Backoff::count`] does both.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed).wrapping_sub(1);
        // It was 0, as few as there are.
        if left > i32::MAX as u32 {
            return false;
        }
        self.left.store(left, Ordering::Relaxed);
        true
    }

    /// What a *Done found; [`Error::NotDone`] for nothing, and now and then the device's errors. It never sleeps: programs look
    /// at one queue after the other.
    pub(crate) fn count<T>(&self, agent: &dyn KernelAgent, found: Option<T>) -> Result<T, Error> {
        self.count_and(agent, found, |misses| match agent.polling() {
            // Nothing is to be done before the device is asked.
            Polling::Spin => {
                let next = misses.wrapping_add(1) % SPINNING_CHECK;
                self.left.store(SPINNING_CHECK - 1 - next, Ordering::Relaxed);
            }
            Polling::Yield => yield_now(),
            Polling::Pause => agent.pause(),
        })
    }

    /// [`Backoff::count`], with what is done after some misses; that may set how many looks are left before the next time.
    fn count_and<T>(
        &self,
        agent: &dyn KernelAgent,
        found: Option<T>,
        missed: impl FnOnce(u32),
    ) -> Result<T, Error> {
        if let Some(found) = found {
            self.end();
            return Ok(found);
        }
        if self.is_silent() {
            // Whoever looks seldom has few misses: what is known of the agent's end is said at once.
            agent.check_here()?;
            return Err(Error::NotDone);
        }
        let misses = self.misses.load(Ordering::Relaxed);
        missed(misses);
        let next = misses.wrapping_add(1).wrapping_add(self.left.load(Ordering::Relaxed));
        self.misses.store(next, Ordering::Relaxed);
        agent.check_here()?;
        if misses % CHECK == CHECK - 1 {
            agent.check()?;
        }
        Err(Error::NotDone)
    }

    /// Looks until there is something, for `timeout` or for ever, or until `given_up` is set: for a moment, and then it sleeps until
    /// the interrupt of `vector`, by turns of [`viaduct_driver::wait`], which miss none.
    ///
    /// Other queues share the vector, and other threads may look for the same: who is woken and finds nothing arms anew. Who sets
    /// `given_up`, or brings what is looked for without the NIC, wakes the vector after that.
    ///
    /// # Errors
    /// [`Error::Timeout`], also of who has given up; those of `look` and `arm`; the device's.
    pub(crate) fn wait<T>(
        &self,
        agent: &dyn KernelAgent,
        vector: u8,
        timeout: Option<Duration>,
        given_up: &AtomicBool,
        look: impl Fn() -> Result<Option<T>, Error>,
        arm: impl Fn() -> Result<(), Error>,
    ) -> Result<T, Error> {
        let start = Instant::now();
        let left = || match timeout {
            _ if given_up.load(Ordering::Acquire) => Duration::ZERO,
            Some(timeout) => timeout.saturating_sub(start.elapsed()).min(LONGEST_SLEEP),
            None => LONGEST_SLEEP,
        };
        loop {
            for _ in 0..MISSES {
                if let Some(found) = look()? {
                    return Ok(found);
                }
                spin_loop();
            }
            match turn(agent, vector, left, &arm, &look)? {
                Turn::Found(found) => return Ok(found),
                Turn::Over => return Err(Error::Timeout),
                Turn::Polls => break,
                // An interrupt shows that the device lives, whosever it was.
                Turn::Slept(true) => {}
                Turn::Slept(false) => agent.check()?,
            }
        }
        // Where one must not sleep.
        self.poll(agent, left, look)
    }

    /// Looks until there is something, or until no time is `left`, and lets time pass in between. It waits for no interrupt.
    ///
    /// # Errors
    /// [`Error::Timeout`]; those of `look`; the device's.
    pub(crate) fn poll<T>(
        &self,
        agent: &dyn KernelAgent,
        left: impl Fn() -> Duration,
        look: impl Fn() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        loop {
            match self.count_and(agent, look()?, |_| agent.pause()) {
                Err(Error::NotDone) if left().is_zero() => return Err(Error::Timeout),
                Err(Error::NotDone) => {}
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_misses_is_counted_over_silent_looks() {
        let backoff = Backoff::default();
        let slow = |until: u32| (0..until).filter(|_| !backoff.is_silent()).count();
        assert_eq!(slow(MISSES), 0);
        assert_eq!(
            (slow(3), backoff.misses.load(Ordering::Relaxed)),
            (3, MISSES),
            "nothing was done about them"
        );
        backoff.set(5, 100);
        assert_eq!(slow(6), 1);
        backoff.end();
        assert_eq!(slow(MISSES + 1), 1);
    }
}
