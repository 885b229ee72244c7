//! A lock that costs one atomic exchange: for what is held for some instructions, and seldom for longer.
//!
//! A mutex of the standard library takes two atomic operations, because it wakes the threads that sleep for it. No thread sleeps for this lock: one that
//! finds it held looks again, then yields its processor, and in the end pauses between two looks. So a thread may now and then hold it for as
//! long as a NIC takes to answer.

use std::{
    cell::UnsafeCell,
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    sync::atomic::Ordering,
    time::Duration,
};

use crate::sync::{sleep, spin_loop, yield_now, AtomicU32};

const HELD: u32 = 0;
const FREE: u32 = 1;
/// A thread looks so often at a lock that is held, before it yields its processor between looks.
const SPINS: u32 = 100;
/// And so often, before it pauses between looks: the holder waits for somebody, too.
const YIELDS: u32 = 1000;
/// How long a pause is.
const PAUSE: Duration = Duration::from_micros(50);

/// The lock, beside what it guards.
#[derive(Debug)]
pub struct Lock(AtomicU32);

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
        Self(AtomicU32::new(FREE))
    }

    /// Held by nobody who lets go: until [`Lock::free`]. All its bits are 0.
    pub const fn new_held() -> Self {
        Self(AtomicU32::new(HELD))
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
        Held { lock: self, _here: PhantomData }
    }

    /// Takes it if nobody holds it.
    #[inline]
    pub fn try_hold(&self) -> Option<Held<'_>> {
        (self.0.swap(HELD, Ordering::Acquire) == FREE).then(|| Held { lock: self, _here: PhantomData })
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

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.free();
    }
}

/// Where the lock of a value is.
#[derive(Debug)]
pub enum Place {
    /// Beside the value.
    Own(Lock),
    /// In a static, which the caller locks by itself too.
    Static(&'static Lock),
}

impl Default for Place {
    fn default() -> Self {
        Self::Own(Lock::new())
    }
}

impl Deref for Place {
    type Target = Lock;

    #[inline]
    fn deref(&self) -> &Lock {
        match self {
            Self::Own(lock) => lock,
            Self::Static(lock) => lock,
        }
    }
}

/// A value that is reached with its lock held.
pub struct Locked<T> {
    lock: Place,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, whoever holds the lock: so it need not be shared, only sent.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// The value, whose lock is at this place. Two values that have one static lock wait for each other.
    pub fn new(lock: Place, value: T) -> Self {
        Self { lock, value: UnsafeCell::new(value) }
    }

    /// Takes the lock. A panic frees it: no step leaves a value half changed.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let held = self.lock.hold();
        Guard { value: &self.value, _held: held }
    }

    /// Takes the lock if nobody holds it. Who holds another lock may do that in whatever order: it waits for nobody.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let held = self.lock.try_hold()?;
        Some(Guard { value: &self.value, _held: held })
    }

    /// The value, for a caller that holds its lock already.
    ///
    /// # Safety
    /// `held` is this value's lock, and there is no guard of it.
    #[inline]
    pub unsafe fn held<'a>(&'a self, held: &'a mut Held<'_>) -> &'a mut T {
        debug_assert!(std::ptr::eq(held.lock, &*self.lock), "another lock");
        // SAFETY: the caller's promise: nobody else has the lock.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> fmt::Debug for Locked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locked").field("lock", &*self.lock).finish_non_exhaustive()
    }
}

/// A value whose lock is held.
#[derive(Debug)]
pub struct Guard<'a, T> {
    /// No reference to the value: while the guard is dropped the next one may have that.
    value: &'a UnsafeCell<T>,
    _held: Held<'a>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held as long as the guard is there.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and nobody else has the guard.
        unsafe { &mut *self.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: u32 = if cfg!(miri) { 50 } else { 20_000 };

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        let shared = Locked::new(Place::default(), 0u32);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..TURNS {
                        // No single access: two threads at once would lose some.
                        let mut value = shared.lock();
                        let read = *value;
                        spin_loop();
                        *value = read + 1;
                    }
                });
            }
        });
        assert_eq!(*shared.lock(), 4 * TURNS);
    }

    #[test]
    fn who_holds_the_lock_itself_has_the_value_and_keeps_others_waiting() {
        static LOCK: Lock = Lock::new();
        let shared = Locked::new(Place::Static(&LOCK), 1u32);
        let mut held = LOCK.hold();
        std::thread::scope(|scope| {
            // It pauses before it has it.
            let waits = scope.spawn(|| *shared.lock());
            sleep(Duration::from_millis(20));
            assert!(scope.spawn(|| shared.try_lock().is_none()).join().expect("it waits for nobody"));
            // SAFETY: it is its lock.
            let value = unsafe { shared.held(&mut held) };
            *value += 1;
            assert!(!waits.is_finished());
            drop(held);
            assert_eq!(waits.join().expect("it ends"), 2);
            assert_eq!(shared.try_lock().map(|value| *value), Some(2));
        });
    }

    #[test]
    fn who_panics_lets_go() {
        let shared = Locked::new(Place::default(), 1u32);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            *shared.lock() = 2;
            let _guard = shared.lock();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(*shared.lock(), 2);
    }
}
