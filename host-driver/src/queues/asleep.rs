//! Whether the process that polls doorbells sleeps, as those who ring them know it.

use std::sync::atomic::Ordering;

use crate::sync::{fence, AtomicU32};

/// A word in memory: not 0 while the poller of doorbells sleeps, or is about to. The poller writes it, who rings a doorbell reads it.
///
/// No doorbell is slept through. Each side stores first, the one its doorbell, the other this word; then each passes a fence, and looks at what the
/// other stores. So of two at once at least one sees the other: the poller sees the doorbell and does not sleep, or who has rung sees this word and
/// wakes the poller. The wake-up is remembered until the poller sleeps.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Asleep(AtomicU32);

impl Asleep {
    /// The word: if it is not 0, the poller must be woken for what the caller stored before.
    #[inline]
    pub fn word(&self) -> u32 {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed)
    }

    /// The poller's: sleeps until it is woken, unless a last pass over the doorbells finds something.
    ///
    /// # Errors
    /// The pass's.
    pub fn sleep_unless<E>(
        &self,
        pass: impl FnOnce() -> Result<bool, E>,
        sleep: impl FnOnce(),
    ) -> Result<(), E> {
        self.0.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // Whoever rang before it read the word is seen here; whoever rings later wakes us.
        let found = pass();
        if let Ok(false) = found {
            sleep();
        }
        self.0.store(0, Ordering::Relaxed);
        found.map(drop)
    }
}
