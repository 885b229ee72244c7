//! How often an interrupt vector was heard, and who sleeps until the next time.

use std::{sync::PoisonError, time::Duration};

use crate::sync::{Condvar, Mutex, MutexGuard};

/// The generation of one vector. It wraps; it is compared for equality alone.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    count: Mutex<u64>,
    raised: Condvar,
}

impl Generation {
    fn lock(&self) -> MutexGuard<'_, u64> {
        // A number: what a thread that panicked left is as good as any.
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often it was raised by now.
    pub(crate) fn now(&self) -> u64 {
        *self.lock()
    }

    /// The vector was heard, or its sleepers are to wake as if it had been.
    pub(crate) fn raise(&self) {
        let mut count = self.lock();
        *count = count.wrapping_add(1);
        self.raised.notify_all();
    }

    /// Sleeps while it is `seen`, at most for `timeout`. Whether it is another one now.
    pub(crate) fn sleep(&self, seen: u64, timeout: Duration) -> bool {
        let waited = self.raised.wait_timeout_while(self.lock(), timeout, |now| *now == seen);
        let (now, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *now != seen
    }
}
