//! What the process that polls doorbells says of itself to those who ring them.

use std::sync::atomic::Ordering;

use crate::sync::{fence, AtomicU64};

/// It sleeps, or is about to.
const ASLEEP: u64 = 1;
/// It ends.
const ENDED: u64 = 1 << 32;

/// A word in memory, which the poller writes and who rings a doorbell reads. The low half says whether it sleeps, the high one whether it ends.
///
/// No doorbell is slept through. Each side stores first, the one its doorbell, the other this word; then each passes a fence, and looks at what the
/// other stores. So of two at once at least one sees the other: the poller sees the doorbell and does not sleep, or who has rung sees this word and
/// wakes the poller. The wake-up is remembered until the poller sleeps.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct PollerState(AtomicU64);

impl PollerState {
    /// The word. If it is not 0, the poller must be woken for what the caller stored before, unless it has ended.
    #[inline]
    pub fn word(&self) -> u64 {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed)
    }

    /// The poller's: it ends.
    pub fn end(&self) {
        self.0.fetch_or(ENDED, Ordering::Release);
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
        self.0.fetch_or(ASLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        // Whoever rang before it read the word is seen here; whoever rings later wakes us.
        let found = pass();
        if let Ok(false) = found {
            sleep();
        }
        self.0.fetch_and(!ASLEEP, Ordering::Relaxed);
        found.map(drop)
    }
}
