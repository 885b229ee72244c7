//! How one looks again and again for what the NIC has not done yet, for work queues and completion queues alike.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread::yield_now,
    time::{Duration, Instant},
};

use viaduct_driver::{agent::LONGEST_SLEEP, device::Polling, kernel_agent::KernelAgent};

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

/// Looks in vain, in a row.
#[derive(Debug)]
pub(crate) struct Backoff {
    count: AtomicU32,
    /// Before so many there is nothing to be done.
    silent: AtomicU32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { count: AtomicU32::new(0), silent: AtomicU32::new(MISSES) }
    }
}

impl Backoff {
    /// Something was found: the row ends.
    #[inline]
    pub(crate) fn end(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.silent.store(MISSES, Ordering::Relaxed);
    }

    /// Counts one more, if there is nothing else to be done; else whether that is: [`Backoff::count`] does it. Of two threads that look at
    /// once one may not be counted.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        let misses = self.count.load(Ordering::Relaxed);
        let is_silent = misses < self.silent.load(Ordering::Relaxed);
        if is_silent {
            self.count.store(misses + 1, Ordering::Relaxed);
        }
        is_silent
    }

    /// What a *Done found; [`Error::NotDone`] for nothing, and now and then the device's errors. It never sleeps: programs look
    /// at one queue after the other.
    pub(crate) fn count<T>(&self, agent: &dyn KernelAgent, found: Option<T>) -> Result<T, Error> {
        self.count_and(agent, found, |misses| match agent.polling() {
            Polling::Spin => {
                self.silent.store(misses.wrapping_add(1) | (SPINNING_CHECK - 1), Ordering::Relaxed)
            }
            Polling::Yield => yield_now(),
            Polling::Pause => agent.pause(),
        })
    }

    /// [`Backoff::count`], with what is done after some misses.
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
        let misses = self.count.load(Ordering::Relaxed);
        self.count.store(misses.wrapping_add(1), Ordering::Relaxed);
        if misses >= MISSES {
            missed(misses);
        }
        // Who looks rarely misses rarely: what is known of its end he hears at once.
        agent.check_here()?;
        if misses % CHECK == CHECK - 1 {
            agent.check()?;
        }
        Err(Error::NotDone)
    }

    /// Looks until there is something, for `timeout` or for ever, or until `given_up` is set: for a moment, and then it sleeps until
    /// the interrupt of `vector`. No interrupt is missed:
    /// 1. The generation of the vector is read before the arm word is stored. The interrupt that answers the arm
    ///    word comes later, and ends the sleep even if it comes before the sleep begins.
    /// 2. The NIC raises the vector when what is looked for is there before it sees the arm word, and when it comes
    ///    behind it; in both cases it has written it before. So whoever is woken sees it.
    /// 3. The last look behind the arm word spares the sleep where it is there already. It must not
    ///    come before the generation is read: then an interrupt between the two would count as seen.
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
            let seen = agent.generation(vector);
            // Behind the generation: who gives up wakes after he has said so.
            let left = left();
            if left.is_zero() {
                return Err(Error::Timeout);
            }
            let Some(seen) = seen else { break };
            arm()?;
            if let Some(found) = look()? {
                return Ok(found);
            }
            // An interrupt shows that the device lives, whosever it was.
            if !agent.sleep(vector, seen, left) {
                agent.check()?;
            }
        }
        // Where one must not sleep.
        loop {
            match self.count_and(agent, look()?, |_| agent.pause()) {
                Err(Error::NotDone) if left().is_zero() => return Err(Error::Timeout),
                Err(Error::NotDone) => {}
                result => return result,
            }
        }
    }
}
