//! Memory of this process that an agent can register: what a library allocates for its program, before it is registered.

use std::{fmt, io, ptr::NonNull, sync::Arc};

use crate::memory::Mapping;

/// Who has lent memory, and wants it back.
pub trait Lender: Send + Sync {
    /// Nobody uses `length` bytes from `start` on any more, which it has lent as one piece.
    fn take_back(&self, start: NonNull<u8>, length: usize);
}

/// Memory that an agent can register, zero at first, in whole pages. Children of a fork do not have it. No reference into it is ever
/// made, as of a [`Mapping`].
pub struct DeviceMemory {
    start: NonNull<u8>,
    length: usize,
    /// Its own, if nobody has lent it.
    _own: Option<Mapping>,
    lender: Option<Arc<dyn Lender>>,
}

// SAFETY: memory belongs to the whole process; access through the pointer is the business of whoever does it.
unsafe impl Send for DeviceMemory {}
// SAFETY: as above.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    /// `length` bytes, rounded up to whole pages, of this process's own.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn new(length: usize) -> io::Result<Self> {
        let own = Mapping::for_device(length)?;
        Ok(Self { start: own.start(), length: own.length(), _own: Some(own), lender: None })
    }

    /// `length` bytes from `start` on that somebody lends.
    ///
    /// # Safety
    /// They are mapped, zero, and nobody else's, until the lender takes them back.
    pub unsafe fn lent(start: NonNull<u8>, length: usize, lender: Arc<dyn Lender>) -> Self {
        Self { start, length, _own: None, lender: Some(lender) }
    }

    /// Its first byte; page aligned.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its length in bytes: whole pages.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Some(lender) = &self.lender {
            lender.take_back(self.start, self.length);
        }
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMemory")
            .field("start", &self.start)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
