//! A doorbell page in memory that a client and viad have in common: the client stores into it, viad looks at it and passes
//! on what is new.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use crate::{device::DmaAccess, memory::Mapping, sync::AtomicU64};

/// What a doorbell page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A VI's.
    Vi,
    /// A completion queue's.
    Cq,
}

/// Where a page says which words the device has been given: the word at this offset and its own. viad writes it
/// for receive doorbells.
pub const TAKEN: u64 = 0x800;

/// Bytes of a page.
const BYTES: usize = 4096;

/// A doorbell page, mapped.
#[derive(Debug)]
pub struct DoorbellPage {
    kind: Kind,
    memory: Mapping,
}

impl DoorbellPage {
    /// viad's: a new page, and the descriptor by which its client maps it.
    pub fn create(kind: Kind) -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = Mapping::shared("viad-doorbell", BYTES)?;
        Ok((Self { kind, memory }, file))
    }

    /// A client's.
    pub fn of(kind: Kind, file: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { kind, memory: Mapping::of(file, BYTES, DmaAccess::ReadWrite)? })
    }

    /// What it is for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The word at an offset.
    ///
    /// # Panics
    /// When the offset is no multiple of 8 in the page: offsets are the specification's, never the other process's.
    pub fn word(&self, offset: u64) -> &AtomicU64 {
        assert!(offset % 8 == 0 && offset < BYTES as u64, "{offset:#x} is no word of a doorbell page");
        // SAFETY: the word is aligned and in the page, which lives as long as `self` and is accessed as atomics only.
        unsafe { self.memory.start().add(offset as usize).cast::<AtomicU64>().as_ref() }
    }
}
