//! What a completion queue says: of which VI's queue a descriptor is complete.

use crate::{Direction, ViId};

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
