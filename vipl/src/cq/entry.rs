//! What a completion queue says: of which VI's queue a descriptor is complete.

use std::{
    num::NonZeroU64,
    sync::atomic::{AtomicU64, Ordering},
};

use viaduct_driver::agent::vis::Direction;

/// Tells a VI from every other one that this process has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViId(NonZeroU64);

impl ViId {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MAX))
    }

    /// A number of the caller's, who gives no other VI of a completion queue the same: [`crate::ViSlot`].
    pub fn of(number: NonZeroU64) -> Self {
        Self(number)
    }

    /// The number; never 0.
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

/// What a completion queue says: a descriptor of this work queue is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CqEntry {
    /// The VI: [`crate::Vi::id`].
    pub vi: ViId,
    /// Its receive queue; else its send queue.
    pub receive: bool,
}

/// An entry that is off the ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    /// The place of its VI in the state's lists.
    pub index: u16,
    pub entry: CqEntry,
}

impl Taken {
    /// The work queue.
    pub fn direction(self) -> Direction {
        match self.entry.receive {
            true => Direction::Receive,
            false => Direction::Send,
        }
    }
}
