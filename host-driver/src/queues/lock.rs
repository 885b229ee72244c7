//! A lock that costs one atomic exchange: for what is held for some instructions, and seldom for longer.
//!
//! A mutex of the standard library takes two atomic operations, because it wakes the threads that sleep for it. No thread sleeps for this lock: one that
//! finds it held looks again, then yields its processor, and in the end pauses between two looks. So a thread may now and then hold it for as
//! long as a NIC takes to answer.

use std::{marker::PhantomData, sync::atomic::Ordering, time::Duration};

use crate::sync::{abort, sleep, spin_loop, yield_now, AtomicUsize};

/// The words of a lock. [`Lock::try_hold_if`] relies on both.
const HELD: usize = 0;
const FREE: usize = 1;
/// A thread looks so often at a lock that is held, before it yields its processor between looks.
const SPINS: u32 = 100;
/// And so often, before it pauses between looks: the holder waits for somebody, too.
const YIELDS: u32 = 1000;
/// How long a pause is.
const PAUSE: Duration = Duration::from_micros(50);

/// The lock, beside what it guards.
#[derive(Debug)]
pub struct Lock(AtomicUsize);

/// A lock that is held. Dropping it lets go.
#[derive(Debug)]
pub struct Held<'a> {
    lock: &'a Lock,
    /// The thread that took the lock frees it: this is not sent to another one.
    _here: PhantomData<*const ()>,
}

impl Lock {
    /// Held by nobody.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(FREE))
    }

    /// Held by nobody who lets go: until [`Lock::free`]. All its bits are 0.
    pub const fn new_held() -> Self {
        Self(AtomicUsize::new(HELD))
    }

    /// Lets go of a [`Lock::new_held`].
    pub fn free(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// Takes it.
    #[inline]
    pub fn hold(&self) -> Held<'_> {
        if self.0.swap(HELD, Ordering::Acquire) != FREE {
            self.wait();
        }
        self.held()
    }

    /// Takes it if nobody holds it.
    #[inline]
    pub fn try_hold(&self) -> Option<Held<'_>> {
        (self.0.swap(HELD, Ordering::Acquire) == FREE).then(|| self.held())
    }

    /// Takes it if nobody holds it, and lets go of it again unless `difference`, which is asked with the lock held, is 0.
    #[inline(always)]
    pub fn try_hold_if(&self, difference: impl FnOnce() -> usize) -> Option<Held<'_>> {
        let found = self.0.swap(HELD, Ordering::Acquire);
        // One comparison for both questions: less than [`FREE`] is no difference alone, and less than [`HELD`] is nothing.
        if difference() < found {
            return Some(self.held());
        }
        if found == FREE {
            self.free();
        }
        None
    }

    /// [`Lock::try_hold_if`] without the exchange. `difference` is asked before the lock is held.
    ///
    /// # Safety
    /// If there is no difference, no other thread takes the lock before this one lets go of it.
    #[inline(always)]
    pub unsafe fn try_hold_unshared_if(&self, difference: impl FnOnce() -> usize) -> Option<Held<'_>> {
        let found = self.0.load(Ordering::Relaxed);
        // As in `try_hold_if`.
        if difference() < found {
            self.0.store(HELD, Ordering::Relaxed);
            return Some(self.held());
        }
        None
    }

    /// [`Lock::try_hold`] without the exchange.
    ///
    /// # Safety
    /// No other thread takes the lock before this one lets go of it.
    #[inline]
    pub unsafe fn try_hold_unshared(&self) -> Option<Held<'_>> {
        // SAFETY: the caller's promise.
        unsafe { self.try_hold_unshared_if(|| 0) }
    }

    /// [`Lock::hold`] without the exchange. Where it finds the lock held, the promise is broken, and what the lock guards may be half changed: the
    /// process ends.
    ///
    /// # Safety
    /// As [`Lock::try_hold_unshared`].
    #[inline]
    pub unsafe fn hold_unshared(&self) -> Held<'_> {
        // SAFETY: the caller's promise.
        match unsafe { self.try_hold_unshared() } {
            Some(held) => held,
            None => end_broken_promise(),
        }
    }

    fn held(&self) -> Held<'_> {
        Held { lock: self, _here: PhantomData }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut looks = 0;
        // Only who sees it free tries: the others leave the memory alone that its holder writes.
        while self.0.load(Ordering::Relaxed) != FREE || self.0.swap(HELD, Ordering::Acquire) != FREE {
            match looks {
                ..SPINS => spin_loop(),
                SPINS..YIELDS => yield_now(),
                _ => sleep(PAUSE),
            }
            looks = looks.saturating_add(1);
        }
    }
}

/// Two calls are in one queue. Memory that both have changed may be anything, and so no call can go on.
#[cold]
#[inline(never)]
fn end_broken_promise() -> ! {
    eprintln!(
        "viaduct: a call has found another call in a queue that the program has said no two threads use at one time: the process is aborted"
    );
    abort()
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

impl Held<'_> {
    /// Whether it is this lock that is held.
    pub(super) fn is_of(&self, lock: &Lock) -> bool {
        std::ptr::eq(self.lock, lock)
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_where_there_is_no_difference_and_free_again_where_there_is_one() {
        let lock = Lock::new();
        assert!(lock.try_hold_if(|| 1).is_none() && lock.try_hold_if(|| usize::MAX).is_none());
        let held = lock.try_hold_if(|| 0).expect("it is free");
        for difference in [0, 1, usize::MAX] {
            assert!(lock.try_hold_if(|| difference).is_none(), "somebody holds it");
        }
        drop(held);
        assert!(lock.try_hold().is_some(), "who was kept out has left it as it was");
    }
}
