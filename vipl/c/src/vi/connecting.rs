//! A VI is being connected, and its connection ends.

use std::sync::atomic::Ordering;

use via::{Error, Return, ViState};

use super::Vi;
use crate::entry::{code, lock};

impl Vi {
    /// Ends its connection, or the attempt at one. A peer request that another thread has just made is ended too, or comes after.
    pub fn disconnect(&self) -> Result<(), Error> {
        self.disconnect_by(|| self.vi.disconnect())
    }

    /// [`Vi::disconnect`], in this way.
    pub fn disconnect_by(&self, how: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let mut request = lock(&self.peer_request);
        let ended = how();
        self.pending.end();
        drop(request.take());
        ended
    }
}

/// A VI that is idle, and being connected as long as this lives.
pub struct Connecting<'a>(&'a Vi);

impl<'a> Connecting<'a> {
    /// # Errors
    /// It is not idle, or somebody connects it.
    pub fn begin(vi: &'a Vi) -> Result<Self, Return> {
        let is_under_way = lock(&vi.peer_request).is_some() || vi.pending.is_some();
        if is_under_way || vi.connecting.swap(true, Ordering::AcqRel) {
            return Err(Return::InvalidState);
        }
        let connecting = Self(vi);
        match vi.vi.query().map_err(code)?.state {
            ViState::Idle => Ok(connecting),
            _ => Err(Return::InvalidState),
        }
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        self.0.connecting.store(false, Ordering::Release);
    }
}
