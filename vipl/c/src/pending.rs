//! What a connection queue has under way for a VI.

use std::{ptr::null_mut, sync::Mutex};

use crate::{entry::lock, types::Pvoid};

/// How the VI comes to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Its program has asked.
    Asked,
    /// Its program has accepted.
    Accepted,
}

/// The attempt of a connection queue at a connection of a VI, until its event is taken, or the VI is disconnected.
pub struct Pending(Mutex<(Option<How>, Pvoid)>);

impl Pending {
    /// None.
    pub fn new() -> Self {
        Self(Mutex::new((None, null_mut())))
    }

    /// From now on there is one, of this queue's.
    pub fn begin(&self, how: How, queue: Pvoid) {
        *lock(&self.0) = (Some(how), queue);
    }

    /// There is none any more; what it was.
    pub fn end(&self) -> Option<How> {
        std::mem::replace(&mut *lock(&self.0), (None, null_mut())).0
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        lock(&self.0).0.is_some()
    }

    /// Whether there is one of this queue's.
    pub fn is_of(&self, queue: Pvoid) -> bool {
        let now = *lock(&self.0);
        now.0.is_some() && now.1 == queue
    }
}
