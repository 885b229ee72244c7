//! Words that go to any thread.

use crate::types::Pvoid;

/// A handle, or a word of the program's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word(pub Pvoid);

// SAFETY: the library only compares it, and gives it back: what it points to, if anything, is not looked at.
unsafe impl Send for Word {}
// SAFETY: as above.
unsafe impl Sync for Word {}

impl Word {
    /// The handle that is this number.
    pub fn of(number: u64) -> Self {
        Self(std::ptr::without_provenance_mut(number as usize))
    }

    /// A handle, as a number.
    pub fn number(self) -> u64 {
        self.0.addr() as u64
    }
}
