//! The memory that a NIC reaches: ranges of DMA addresses, each backed by a file of the client's.
//!
//! A client passes a descriptor of its own `/proc/self/mem` (file offset = virtual address) or of a
//! memfd; it is read with `pread` and written with `pwrite`, never mapped: a client that shrinks
//! its file or unmaps its memory gets an unsupported request, and the simulator goes on. So it does if
//! an access never ends ([`crate::reach`]).

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak};

use rustix::fs::{fcntl_getfl, OFlags};

use crate::reach::{is_of_process, Reach, Shared};

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

/// Why a range was not mapped or unmapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// Address, length or offset are not multiples of a page, or wrap round.
    #[error("DMA range {iova:#x}+{length:#x} is empty, unaligned or wraps round")]
    Shape {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// A part of it is mapped already.
    #[error("DMA range {iova:#x}+{length:#x} overlaps one that is mapped")]
    Overlap {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// The range to unmap would cut a mapping in two.
    #[error("DMA range {iova:#x}+{length:#x} covers only a part of a mapping")]
    Cuts {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// Writes to these addresses are interrupts: no memory can be there.
    #[error("DMA range {iova:#x}+{length:#x} overlaps the addresses of interrupts")]
    Interrupts {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// The file cannot be used.
    #[error("the file behind DMA range {iova:#x}: {reason}")]
    File {
        /// First DMA address.
        iova: u64,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// Too many mappings.
    #[error("more than {MAX_MAPPINGS} DMA mappings")]
    TooMany,
}

/// Why a device's access did not take place.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No mapping there, or one that ends too early.
    #[error("DMA address {0:#x} is not mapped")]
    Unmapped(u64),
    /// The mapping does not allow it.
    #[error("DMA address {0:#x} is not mapped for this")]
    Forbidden(u64),
    /// The client's file refused: its memory is gone.
    #[error("DMA address {iova:#x}: {source}")]
    File {
        /// The DMA address.
        iova: u64,
        /// What the system said.
        source: io::Error,
    },
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

    /// Reads for the device. Nothing of `data` counts after an error.
    pub fn read(&self, iova: u64, data: &mut [u8]) -> Result<(), AccessError> {
        self.pieces(
            iova,
            data.len(),
            |mapping| mapping.readable,
            |file, offset, from, to| file.read(&mut data[from..to], offset),
        )
    }

    /// Writes for the device. After an error a part of `data` may have been written.
    ///
    /// An aligned word that the host polls is never seen half written with DONE: its byte 4 goes
    /// last, in a call of its own.
    pub fn write(&self, iova: u64, data: &[u8]) -> Result<(), AccessError> {
        self.pieces(
            iova,
            data.len(),
            |mapping| mapping.writable,
            |file, offset, from, to| {
                let piece = &data[from..to];
                match <[u8; 8]>::try_from(piece) {
                    Ok(word) if iova % 8 == 0 => file.write_word(word, offset),
                    _ => file.write(piece, offset),
                }
            },
        )
    }

    /// Whether this access may take place, but a part of the range has no file: it has to go by
    /// message.
    pub fn lacks_file(&self, iova: u64, length: usize, write: bool) -> bool {
        let (mut done, mut lacks) = (0, false);
        while done < length as u64 {
            let Some(at) = iova.checked_add(done) else { return false };
            let Some((&start, mapping)) = self.mappings.range(..=at).next_back() else { return false };
            let allowed = if write { mapping.writable } else { mapping.readable };
            if at - start >= mapping.length || !allowed {
                return false;
            }
            lacks |= mapping.file.is_none();
            done += mapping.length - (at - start);
        }
        lacks
    }

    /// Calls `access` with file, file offset and the part of the data for each mapping that the
    /// range touches, in order.
    fn pieces(
        &self,
        iova: u64,
        length: usize,
        allowed: impl Fn(&Mapping) -> bool,
        mut access: impl FnMut(&Reach, u64, usize, usize) -> io::Result<()>,
    ) -> Result<(), AccessError> {
        let mut done = 0;
        while done < length {
            let at = iova.checked_add(done as u64).ok_or(AccessError::Unmapped(iova))?;
            let found = self.mappings.range(..=at).next_back();
            let (&start, mapping) = found.ok_or(AccessError::Unmapped(at))?;
            let within = at - start;
            if within >= mapping.length {
                return Err(AccessError::Unmapped(at));
            }
            if !allowed(mapping) {
                return Err(AccessError::Forbidden(at));
            }
            let file = mapping.file.as_ref().ok_or(AccessError::Unmapped(at))?;
            let count = (mapping.length - within).min((length - done) as u64) as usize;
            access(file, mapping.offset + within, done, done + count)
                .map_err(|source| AccessError::File { iova: at, source })?;
            done += count;
        }
        Ok(())
    }

    /// The last address of a range.
    fn end(iova: u64, length: u64) -> Result<u64, MapError> {
        let aligned = length != 0 && iova % PAGE == 0 && length % PAGE == 0;
        let end = length.checked_sub(1).and_then(|more| iova.checked_add(more));
        end.filter(|_| aligned).ok_or(MapError::Shape { iova, length })
    }

    /// Checks a client's file and finds the descriptor that we already have of it.
    fn shared(&mut self, range: &Range, file: File) -> Result<Shared, MapError> {
        let refuse = |reason| MapError::File { iova: range.iova, reason };
        let data = file.metadata().map_err(|_| refuse("its metadata cannot be read"))?;
        // Pipes, sockets and devices could block us, or do something when they are read.
        if !data.is_file() {
            return Err(refuse("not a regular file, memfd or /proc/self/mem"));
        }
        let flags = fcntl_getfl(&file).map_err(|_| refuse("its flags cannot be read"))?;
        if flags.intersects(OFlags::APPEND | OFlags::PATH) {
            return Err(refuse("opened to append, or as a path only"));
        }
        let mode = flags & OFlags::RWMODE;
        if range.readable && mode == OFlags::WRONLY || range.writable && mode == OFlags::RDONLY {
            return Err(refuse("not opened for what the mapping allows"));
        }
        let key = (data.dev(), data.ino(), mode.bits());
        // A process that has become another program has other memory by the same name.
        let lives = |known: &Shared| !is_of_process(&file) || !known.has_ended();
        if let Some(known) = self.files.get(&key).and_then(Weak::upgrade).filter(lives) {
            return Ok(known);
        }
        let file = Reach::of(file).map_err(|_| refuse("there is no thread for it"))?;
        let file = Arc::new(file);
        self.files.insert(key, Arc::downgrade(&file));
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn range(iova: u64, length: u64, offset: u64, writable: bool) -> Range {
        Range { iova, length, offset, readable: true, writable }
    }

    fn file(pages: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(pages * PAGE).unwrap();
        file
    }

    #[test]
    fn an_access_may_cross_from_one_mapping_into_the_next() {
        let mut memory = Memory::new();
        let (low, high) = (file(1), file(2));
        memory.map(&range(0x10000, PAGE, 0, true), Some(low.try_clone().unwrap())).unwrap();
        memory.map(&range(0x11000, PAGE, PAGE, true), Some(high.try_clone().unwrap())).unwrap();
        memory.write(0x10ffc, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let mut found = [0; 8];
        memory.read(0x10ffc, &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8]);
        let mut tail = [0; 4];
        high.read_exact_at(&mut tail, PAGE).unwrap();
        assert_eq!(tail, [5, 6, 7, 8]);
        assert!(matches!(memory.read(0x11ffc, &mut found), Err(AccessError::Unmapped(0x12000))));
    }

    #[test]
    fn an_aligned_word_arrives_whole() {
        let mut memory = Memory::new();
        memory.map(&range(0, PAGE, 0, true), Some(file(1))).unwrap();
        memory.write(8, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let mut found = [0; 24];
        memory.read(0, &mut found).unwrap();
        assert_eq!(found[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((found[7], found[16]), (0, 0));
    }

    #[test]
    fn a_mapping_that_is_read_only_is_not_written() {
        let mut memory = Memory::new();
        memory.map(&range(0, PAGE, 0, false), Some(file(1))).unwrap();
        assert!(matches!(memory.write(0, &[1]), Err(AccessError::Forbidden(0))));
        let hidden = Range { readable: false, ..range(PAGE, PAGE, 0, true) };
        memory.map(&hidden, Some(file(1))).unwrap();
        assert!(matches!(memory.read(PAGE, &mut [0]), Err(AccessError::Forbidden(PAGE))));
    }

    #[test]
    fn overlaps_are_refused_and_neighbours_are_not() {
        let mut memory = Memory::new();
        let mut map = |iova, length| memory.map(&range(iova, length, 0, true), None);
        map(0x4000, 0x2000).unwrap();
        for (iova, length) in
            [(0x4000, 0x2000), (0x5000, 0x1000), (0x3000, 0x2000), (0, 0x10000), (0x5000, 0x4000)]
        {
            assert!(matches!(map(iova, length), Err(MapError::Overlap { .. })), "{iova:#x}+{length:#x}");
        }
        map(0x3000, 0x1000).unwrap();
        map(0x6000, 0x1000).unwrap();
    }

    #[test]
    fn unmapping_takes_what_is_inside_and_cuts_nothing() {
        let mut memory = Memory::new();
        for page in 0..4 {
            memory.map(&range(0x10000 + page * 2 * PAGE, 2 * PAGE, 0, true), None).unwrap();
        }
        assert!(matches!(memory.unmap(0x11000, 0x1000), Err(MapError::Cuts { .. })));
        assert!(matches!(memory.unmap(0x10000, 0x1000), Err(MapError::Cuts { .. })));
        assert!(matches!(memory.unmap(0x11000, 0x3000), Err(MapError::Cuts { .. })));
        assert_eq!(memory.len(), 4);
        assert_eq!(memory.unmap(0x12000, 0x4000).unwrap(), 0x4000);
        assert_eq!(memory.len(), 2);
        assert_eq!(memory.unmap(0x12000, 0x4000).unwrap(), 0);
        assert_eq!(memory.unmap(0, 1 << 40).unwrap(), 0x4000);
        assert!(memory.is_empty());
    }

    #[test]
    fn the_addresses_of_interrupts_are_no_memory() {
        let mut memory = Memory::new();
        for (iova, length) in
            [(0xFEE0_0000, PAGE), (0xFEEF_F000, PAGE), (0xFEDF_F000, 2 * PAGE), (0, 1 << 32)]
        {
            let refused = memory.map(&range(iova, length, 0, true), None);
            assert!(matches!(refused, Err(MapError::Interrupts { .. })), "{iova:#x}+{length:#x}");
        }
        memory.map(&range(0xFEDF_F000, PAGE, 0, true), None).unwrap();
        memory.map(&range(0xFEF0_0000, PAGE, 0, true), None).unwrap();
    }

    #[test]
    fn what_has_no_file_and_is_allowed_goes_by_message() {
        let mut memory = Memory::new();
        memory.map(&range(0, PAGE, 0, true), Some(file(1))).unwrap();
        memory.map(&range(PAGE, PAGE, 0, false), None).unwrap();
        assert!(!memory.lacks_file(0, 4096, false));
        assert!(memory.lacks_file(0xFFC, 8, false), "one part of it");
        assert!(memory.lacks_file(0x1FFC, 4, false));
        assert!(!memory.lacks_file(0x1000, 4, true), "read only");
        assert!(!memory.lacks_file(0x1FFC, 8, false), "beyond");
        assert!(!memory.lacks_file(u64::MAX, 8, false));
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let mut memory = Memory::new();
        for (iova, length, offset) in [
            (0, 0, 0),
            (1, PAGE, 0),
            (0, PAGE + 1, 0),
            (u64::MAX - PAGE + 1, 2 * PAGE, 0),
            (0, PAGE, u64::MAX),
            (0, 1 << 63, 1 << 63),
        ] {
            let refused = memory.map(&range(iova, length, offset, true), None);
            assert!(matches!(refused, Err(MapError::Shape { .. })), "{iova:#x}+{length:#x}@{offset:#x}");
        }
        // The very last page is a range like any other.
        memory.map(&range(u64::MAX - PAGE + 1, PAGE, 0, true), None).unwrap();
        assert!(matches!(memory.read(u64::MAX, &mut [0, 0]), Err(AccessError::Unmapped(_))));
    }

    #[test]
    fn files_that_could_block_or_grow_are_refused() {
        let mut memory = Memory::new();
        let (pipe, _end) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        assert!(matches!(memory.map(&range(0, PAGE, 0, false), Some(pipe)), Err(MapError::File { .. })));
        let zero = File::open("/dev/zero").unwrap();
        assert!(matches!(memory.map(&range(0, PAGE, 0, false), Some(zero)), Err(MapError::File { .. })));
        let named = tempfile::NamedTempFile::new().unwrap();
        let append = OpenOptions::new().append(true).open(named.path()).unwrap();
        let hidden = Range { readable: false, ..range(0, PAGE, 0, true) };
        assert!(matches!(memory.map(&hidden, Some(append)), Err(MapError::File { .. })));
        let read_only = File::open(named.path()).unwrap();
        assert!(matches!(memory.map(&range(0, PAGE, 0, true), Some(read_only)), Err(MapError::File { .. })));
        assert!(memory.is_empty());
    }

    #[test]
    fn a_file_that_shrank_is_a_fault_and_not_a_crash() {
        let mut memory = Memory::new();
        let backing = file(1);
        memory.map(&range(0, PAGE, 0, true), Some(backing.try_clone().unwrap())).unwrap();
        backing.set_len(0).unwrap();
        assert!(matches!(memory.read(0, &mut [0; 8]), Err(AccessError::File { .. })));
    }

    #[test]
    fn own_memory_is_reached_through_proc() {
        let mut memory = Memory::new();
        let open = || OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
        let mut buffer = vec![0u8; 3 * PAGE as usize];
        let address = (buffer.as_mut_ptr() as u64).next_multiple_of(PAGE);
        let skipped = (address - buffer.as_ptr() as u64) as usize;
        memory.map(&range(0x7000, PAGE, address, true), Some(open())).unwrap();
        memory.map(&range(0x8000, PAGE, 0, true), Some(open())).unwrap();
        memory.write(0x7010, b"from the NIC").unwrap();
        let buffer = std::hint::black_box(buffer);
        assert_eq!(&buffer[skipped + 0x10..][..12], b"from the NIC");
        // Page 0 of this process is not mapped.
        assert!(matches!(memory.read(0x8000, &mut [0; 4]), Err(AccessError::File { .. })));
        assert_eq!(memory.files.len(), 1, "one descriptor for both mappings");
    }
}
