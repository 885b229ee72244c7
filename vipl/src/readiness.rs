//! Descriptors that programs wait on, which are made when they are first asked for.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, OnceLock},
};

use viaduct_driver::wakeup::Wakeup;

use crate::Error;

/// The descriptor of one thing, once somebody has asked for it.
#[derive(Debug, Default)]
pub(crate) struct Readiness(OnceLock<Arc<Wakeup>>);

impl Readiness {
    /// The descriptor. If it is the first time, `subscribe` has it signalled from now on.
    pub(crate) fn get(
        &self,
        subscribe: impl FnOnce(&Arc<Wakeup>) -> Result<(), Error>,
    ) -> Result<&Wakeup, Error> {
        if let Some(wakeup) = self.0.get() {
            return Ok(wakeup);
        }
        let wakeup = Wakeup::new().map_err(Error::Descriptors)?;
        subscribe(&wakeup)?;
        // Of two threads that ask at once one makes another, which ends here.
        Ok(self.0.get_or_init(|| wakeup))
    }

    /// What programs get of it.
    pub(crate) fn fd(wakeup: &Wakeup) -> BorrowedFd<'_> {
        wakeup.as_fd()
    }
}
