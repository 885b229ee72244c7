//! The memory that a NIC reaches: ranges of DMA addresses, each backed by a file of the client's.
//!
//! A client passes a descriptor of its own `/proc/self/mem` (file offset = virtual address) or of a
//! memfd; it is read with `pread` and written with `pwrite`, never mapped: a client that shrinks
//! its file or unmaps its memory gets an unsupported request, and the simulator goes on. So it does if
//! an access never ends ([`crate::reach`]).

mod access;
mod errors;
mod files;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::RangeInclusive;
use std::sync::Weak;

pub use errors::{AccessError, MapError};

use crate::reach::{Reach, Shared};

/// Granularity of a mapping in bytes.
pub const PAGE: u64 = 4096;
/// Most mappings of one client; a page each of a few gigabytes.
pub const MAX_MAPPINGS: usize = 1 << 20;
/// Addresses at which a write of a device is an interrupt message.
pub const INTERRUPTS: RangeInclusive<u64> = 0xFEE0_0000..=0xFEEF_FFFF;

/// One range of DMA addresses.
#[derive(Debug, Clone)]
struct Mapping {
    length: u64,
    /// `None`: nothing stands behind the range that we could reach ourselves (memory that is not
    /// shared, a ROM, another device's BAR).
    file: Option<Shared>,
    /// Where the range starts in `file`.
    offset: u64,
    readable: bool,
    writable: bool,
}

/// A range as the client asks for it.
#[derive(Debug)]
pub struct Range {
    /// First DMA address, a multiple of [`PAGE`].
    pub iova: u64,
    /// Bytes, a multiple of [`PAGE`], not 0.
    pub length: u64,
    /// Where the range starts in the file.
    pub offset: u64,
    /// The device may read it.
    pub readable: bool,
    /// The device may write it.
    pub writable: bool,
}

/// The DMA address space of one NIC.
#[derive(Debug, Default)]
pub struct Memory {
    mappings: BTreeMap<u64, Mapping>,
    /// Files in use by device, inode and access mode; where a process's memory has ended, the one behind it: a client that maps its memory page by page
    /// sends a descriptor with each, and we would run out of them.
    files: HashMap<(u64, u64, u32), Weak<Reach>>,
}

impl Memory {
    /// An address space with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of mappings.
    pub fn len(&self) -> usize {
        self.mappings.len()
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// Adds a range. Without a file its memory is reached by message, if at all.
    pub fn map(&mut self, range: &Range, file: Option<File>) -> Result<(), MapError> {
        let &Range { iova, length, offset, .. } = range;
        let end = Self::end(iova, length)?;
        // File offsets are signed.
        if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
            return Err(MapError::Shape { iova, length });
        }
        if iova <= *INTERRUPTS.end() && end >= *INTERRUPTS.start() {
            return Err(MapError::Interrupts { iova, length });
        }
        if self.mappings.len() >= MAX_MAPPINGS {
            return Err(MapError::TooMany);
        }
        let before = self.mappings.range(..=end).next_back();
        if before.is_some_and(|(&start, mapping)| start + (mapping.length - 1) >= iova) {
            return Err(MapError::Overlap { iova, length });
        }
        let file = file.map(|file| self.shared(range, file)).transpose()?;
        let (readable, writable) = (range.readable, range.writable);
        self.mappings.insert(iova, Mapping { length, file, offset, readable, writable });
        Ok(())
    }

    /// Removes every mapping inside a range; gives back the bytes unmapped, 0 if there was none.
    pub fn unmap(&mut self, iova: u64, length: u64) -> Result<u64, MapError> {
        let end = Self::end(iova, length)?;
        let first = self.mappings.range(..=iova).next_back();
        let last = self.mappings.range(..=end).next_back();
        let cut_below =
            first.is_some_and(|(&start, mapping)| start < iova && start + (mapping.length - 1) >= iova);
        let cut_above =
            last.is_some_and(|(&start, mapping)| start >= iova && start + (mapping.length - 1) > end);
        if cut_below || cut_above {
            return Err(MapError::Cuts { iova, length });
        }
        let inside: Vec<u64> = self.mappings.range(iova..=end).map(|(&start, _)| start).collect();
        let removed = inside.iter().filter_map(|start| self.mappings.remove(start));
        let bytes = removed.map(|mapping| mapping.length).sum();
        self.files.retain(|_, file| file.strong_count() > 0);
        Ok(bytes)
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.mappings.clear();
        self.files.clear();
    }

    /// The last address of a range.
    fn end(iova: u64, length: u64) -> Result<u64, MapError> {
        let aligned = length != 0 && iova % PAGE == 0 && length % PAGE == 0;
        let end = length.checked_sub(1).and_then(|more| iova.checked_add(more));
        end.filter(|_| aligned).ok_or(MapError::Shape { iova, length })
    }
}
