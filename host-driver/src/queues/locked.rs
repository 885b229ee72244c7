//! A value beside its lock, which is where its owner says.

use std::{
    any::Any,
    cell::UnsafeCell,
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use super::lock::{Held, Lock};

/// Where the lock of a value is, and whether threads share it.
#[derive(Debug)]
pub struct Place {
    site: Site,
    is_shared: bool,
}

#[derive(Debug)]
enum Site {
    /// Beside the value.
    Own(Lock),
    /// In a table of the caller's, who locks it by itself, too. It is this value's as long as the keeper is there.
    Table { lock: &'static Lock, _keeper: Keeper },
}

/// What keeps a lock in a table from becoming another value's.
pub type Keeper = Arc<dyn Any + Send + Sync>;

impl Default for Place {
    /// Beside the value, and shared.
    fn default() -> Self {
        Self { site: Site::Own(Lock::new()), is_shared: true }
    }
}

impl Place {
    /// In a table of the caller's, who locks it by itself, too. The value keeps `keeper` as long as it has the lock.
    pub fn in_table(lock: &'static Lock, keeper: Keeper) -> Self {
        Self { site: Site::Table { lock, _keeper: keeper }, is_shared: true }
    }

    /// The same place, whose value takes the lock without an exchange.
    ///
    /// # Safety
    /// No two threads use the value at one time. One thread may hand it over to another in any way that orders memory.
    #[must_use]
    pub unsafe fn unshared(self) -> Self {
        Self { is_shared: false, ..self }
    }

    fn lock(&self) -> &Lock {
        match &self.site {
            Site::Own(lock) => lock,
            Site::Table { lock, .. } => lock,
        }
    }

    #[inline]
    fn hold(&self) -> Held<'_> {
        if self.is_shared {
            return self.lock().hold();
        }
        // SAFETY: `unshared`.
        unsafe { self.lock().hold_unshared() }
    }

    #[inline]
    fn try_hold(&self) -> Option<Held<'_>> {
        if self.is_shared {
            return self.lock().try_hold();
        }
        // SAFETY: `unshared`.
        unsafe { self.lock().try_hold_unshared() }
    }
}

/// A value that is reached with its lock held.
pub struct Locked<T> {
    place: Place,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, whoever holds the lock: so it need not be shared, only sent. That there is only one is promised where
// the lock does not see to it: `Place::unshared`.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// The value, whose lock is at this place.
    pub fn new(place: Place, value: T) -> Self {
        Self { place, value: UnsafeCell::new(value) }
    }

    /// Takes the lock. A panic frees it: no step leaves a value half changed.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let held = self.place.hold();
        Guard { value: &self.value, _held: held }
    }

    /// Takes the lock if nobody holds it. Who holds another lock may do that in whatever order: it waits for nobody.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let held = self.place.try_hold()?;
        Some(Guard { value: &self.value, _held: held })
    }

    /// The value, for a caller that holds its lock already.
    ///
    /// # Safety
    /// `held` is this value's lock, and there is no guard of it.
    #[inline]
    pub unsafe fn held<'a>(&'a self, held: &'a mut Held<'_>) -> &'a mut T {
        debug_assert!(held.is_of(self.place.lock()), "another lock");
        // SAFETY: the caller's promise: nobody else has the lock.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> fmt::Debug for Locked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locked").field("place", &self.place).finish_non_exhaustive()
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
    use std::time::Duration;

    use super::*;
    use crate::sync::{sleep, spin_loop};

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
        let shared = Locked::new(Place::in_table(&LOCK, Arc::new(())), 1u32);
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

    /// An unshared value, which a test uses in one thread after the other.
    fn unshared() -> Locked<u32> {
        // SAFETY: each test keeps to it, but for the one that ends a process for that.
        Locked::new(unsafe { Place::default().unshared() }, 0)
    }

    #[test]
    fn an_unshared_value_goes_from_thread_to_thread() {
        let value = unshared();
        for turn in 1..=3 {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    *value.lock() += 1;
                    let again = value.try_lock().expect("nobody has it");
                    assert_eq!(*again, turn);
                    assert!(value.try_lock().is_none(), "this thread has it");
                });
            });
        }
        let held = value.lock();
        assert_eq!(*held, 3);
    }

    /// Set in the process that [`a_call_that_finds_another_one_in_an_unshared_queue_ends_the_process`] starts.
    const BREAKS: &str = "VIADUCT_TEST_BREAKS_PROMISE";

    #[test]
    #[cfg_attr(miri, ignore = "it starts a process")]
    fn a_call_that_finds_another_one_in_an_unshared_queue_ends_the_process() {
        let value = unshared();
        if std::env::var_os(BREAKS).is_some() {
            let _held = value.lock();
            // Another thread, or this one, from a handler of a signal.
            let _second = value.lock();
            return;
        }
        let name =
            "queues::locked::tests::a_call_that_finds_another_one_in_an_unshared_queue_ends_the_process";
        let output = std::process::Command::new(std::env::current_exe().expect("a test has a path"))
            .args([name, "--exact", "--nocapture"])
            .env(BREAKS, "1")
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(6), "{said}");
        assert!(said.contains("no two threads use at one time"), "{said}");
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
