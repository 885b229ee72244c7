//! Asynchronous errors that wait until their program takes them.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use viaduct_driver::wakeup::Wakeup;

use crate::types::ErrorDescriptor;

/// The most errors that wait: a program that takes none loses the oldest.
const MOST_WAITING: usize = 4096;

/// Errors that wait for VipExtNicEventDone, and the descriptor that is readable as long as there are some.
pub struct Waiting {
    wakeup: Arc<Wakeup>,
    errors: VecDeque<ErrorDescriptor>,
}

impl Waiting {
    /// None yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self { wakeup: Wakeup::new()?, errors: VecDeque::new() })
    }

    /// One more.
    pub fn put(&mut self, error: ErrorDescriptor) {
        if self.errors.len() >= MOST_WAITING {
            self.errors.pop_front();
        }
        self.errors.push_back(error);
        self.wakeup.signal();
    }

    /// The oldest one.
    pub fn take(&mut self) -> Option<ErrorDescriptor> {
        let error = self.errors.pop_front();
        if self.errors.is_empty() {
            self.wakeup.clear();
        }
        error
    }
}

impl AsFd for Waiting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wakeup.as_fd()
    }
}
