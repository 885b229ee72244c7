//! Memory of this process: mappings that are owned, and what is known about any address.

use std::{
    alloc::{self, Layout},
    ffi::c_void,
    fs::{self, File, OpenOptions},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::NonNull,
};

use rustix::{
    fs::{fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create, MemfdFlags, SealFlags},
    mm::{madvise, mmap, mmap_anonymous, mprotect, munmap, Advice, MapFlags, MprotectFlags, ProtFlags},
};

use crate::{
    device::{DeviceError, DmaAccess},
    fork::Birth,
};

/// The largest alignment of a [`Mapping`].
pub const LARGEST_ALIGNMENT: usize = 1 << 30;

/// Memory in whole pages, zero at first. It is for a device to read and write, so no
/// reference into it is ever made: everything goes through the pointer.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
    /// Children of this process have it not.
    kept: Option<Birth>,
}

// SAFETY: a mapping belongs to the whole process; the type has no state of its own that a second
// thread could upset.
unsafe impl Send for Mapping {}
// SAFETY: as above; access through the pointer is the business of whoever does it.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes, rounded up to whole pages; at least one page. It is aligned to its size, as far
    /// as [`LARGEST_ALIGNMENT`]: so it costs one row of the NIC's page table wherever it lies, and a
    /// simulation goes the same way each time.
    pub fn new(length: usize) -> io::Result<Self> {
        let mapping = Self::reserve(length)?;
        // Miri's memory has no rights of pages.
        if !cfg!(miri) {
            let rights = MprotectFlags::READ | MprotectFlags::WRITE;
            // SAFETY: all of the mapping, which nobody uses yet.
            unsafe { mprotect(mapping.start.as_ptr().cast(), mapping.length, rights)? };
        }
        Ok(mapping)
    }

    /// [`Mapping::new`] for a device, which children of a fork do not get (MADV_DONTFORK): a fork would make its pages copy-on-write, and
    /// on kernels before 5.15 the next store of this process would take it from under the device, which goes on with the old pages. In a
    /// child there is nothing at these addresses.
    pub fn for_device(length: usize) -> io::Result<Self> {
        Self::new(length)?.kept_from_children()
    }

    /// From now on children of a fork do not get it (MADV_DONTFORK).
    ///
    /// # Errors
    /// The system's; the memory is gone then.
    pub fn kept_from_children(mut self) -> io::Result<Self> {
        if !cfg!(miri) {
            // SAFETY: all of the mapping, which this process keeps as it is.
            unsafe { madvise(self.start.as_ptr().cast(), self.length, Advice::LinuxDontFork)? };
            self.kept = Some(Birth::now());
        }
        Ok(self)
    }

    /// Memory in common with other processes: [`Mapping::new`] of a memfd that nobody can make shorter or longer. It
    /// is called `name` where processes list their memory.
    pub fn shared(name: &str, length: usize) -> io::Result<(Self, OwnedFd)> {
        let length = length.max(1).checked_next_multiple_of(4096).ok_or(io::ErrorKind::OutOfMemory)?;
        let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, length as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        let mapping = Self::of(file.as_fd(), length, DmaAccess::ReadWrite)?;
        Ok((mapping, file))
    }

    /// Maps the first `length` bytes, rounded up to whole pages, of a memfd that another process made.
    ///
    /// # Errors
    /// One that is shorter, or that can become so: who reads behind its end dies.
    pub fn of(file: BorrowedFd<'_>, length: usize, access: DmaAccess) -> io::Result<Self> {
        let length = length.max(1).checked_next_multiple_of(4096).ok_or(io::ErrorKind::OutOfMemory)?;
        let long = u64::try_from(fstat(file)?.st_size).is_ok_and(|size| size >= length as u64);
        if !long || !fcntl_get_seals(file)?.contains(SealFlags::SHRINK) {
            return Err(io::Error::other("shared memory that is shorter than agreed, or can become so"));
        }
        let mapping = Self::reserve(length)?;
        let rights = match access {
            DmaAccess::Read => ProtFlags::READ,
            DmaAccess::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: over all of the reservation, which nobody uses yet.
        unsafe {
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            mmap(mapping.start.as_ptr().cast(), length, rights, flags, file, 0)?;
        }
        Ok(mapping)
    }

    /// Addresses without memory, aligned to their size.
    fn reserve(length: usize) -> io::Result<Self> {
        let length = length.max(1).checked_next_multiple_of(4096).ok_or(io::ErrorKind::OutOfMemory)?;
        if cfg!(miri) {
            return Self::allocate(length);
        }
        let alignment = Self::alignment(length);
        let reserved = length.checked_add(alignment - 4096).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists. Without
        // rights it costs nothing either.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::empty(), MapFlags::PRIVATE)? };
        let skip = (base as usize).next_multiple_of(alignment) - base as usize;
        // SAFETY: `skip` is less than `alignment`, in whole pages: inside what was reserved, or its end.
        let (start, end) = unsafe { (base.byte_add(skip), base.byte_add(skip + length)) };
        let (before, behind) = ((base, skip), (end, reserved - skip - length));
        for (part, bytes) in [before, behind].into_iter().filter(|(_, bytes)| *bytes > 0) {
            // SAFETY: the parts of the new mapping that nobody will know of.
            unsafe { munmap(part, bytes)? };
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { start, length, kept: None })
    }

    fn alignment(length: usize) -> usize {
        length.checked_next_power_of_two().map_or(LARGEST_ALIGNMENT, |a| a.min(LARGEST_ALIGNMENT))
    }

    /// Under Miri, memory of the allocator's: what is done with it is looked at, and not how it is mapped.
    fn allocate(length: usize) -> io::Result<Self> {
        let layout = Layout::from_size_align(length, Self::alignment(length)).map_err(io::Error::other)?;
        // SAFETY: whole pages, at least one.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        Ok(Self { start: NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?, length, kept: None })
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

impl Drop for Mapping {
    fn drop(&mut self) {
        if let (true, Ok(layout)) =
            (cfg!(miri), Layout::from_size_align(self.length, Self::alignment(self.length)))
        {
            // SAFETY: as it was allocated; its owner is done with it.
            return unsafe { alloc::dealloc(self.start.as_ptr(), layout) };
        }
        if self.kept.is_some_and(|birth| !birth.is_here()) {
            // A child: what is at these addresses by now is somebody else's.
            return;
        }
        // SAFETY: this is the mapping made in `reserve`, and its owner is done with it. Failure would
        // leave it mapped, which harms nobody.
        let _ = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), self.length) };
    }
}

/// This process's memory as files, for a server that does the DMA: for reading and writing, and for reading only.
///
/// # Errors
/// The system's.
pub fn own() -> Result<[File; 2], DeviceError> {
    let open = |write| {
        let opened = OpenOptions::new().read(true).write(write).open("/proc/self/mem");
        opened.map_err(|source| DeviceError::System { request: "open /proc/self/mem".into(), source })
    };
    Ok([open(true)?, open(false)?])
}

/// Why memory cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// Part of the range is no memory.
    #[error("nothing is mapped at {0:#x}: all of a region is memory of this process")]
    Unmapped(u64),
    /// Part of the range may not be read.
    #[error("the memory at {0:#x} is not readable: a region is at least readable to its owner")]
    Unreadable(u64),
    /// The system would not say.
    #[error("/proc/self/maps: {0}")]
    Maps(#[from] io::Error),
}

/// What this process itself may do with all of `start .. end`: the NIC gets no more than that.
pub fn access(start: u64, end: u64) -> Result<DmaAccess, MemoryError> {
    if cfg!(miri) {
        // Of the memory that Miri has the system knows nothing.
        return Ok(DmaAccess::ReadWrite);
    }
    access_in(&fs::read_to_string("/proc/self/maps")?, start, end)
}

/// What a process may do with all of `start .. end`, by its `/proc/PID/maps`.
pub fn access_in(maps: &str, start: u64, end: u64) -> Result<DmaAccess, MemoryError> {
    let mut access = DmaAccess::ReadWrite;
    let mut at = start;
    for (from, to, rights) in maps.lines().filter_map(line) {
        if at >= end {
            break;
        }
        if to <= at {
            continue;
        }
        if from > at {
            return Err(MemoryError::Unmapped(at));
        }
        if !rights.starts_with('r') {
            return Err(MemoryError::Unreadable(at));
        }
        if rights.as_bytes().get(1) != Some(&b'w') {
            access = DmaAccess::Read;
        }
        at = to;
    }
    if at < end {
        return Err(MemoryError::Unmapped(at));
    }
    Ok(access)
}

/// `start-end rights ...`, addresses hexadecimal; lines are in order of address.
fn line(line: &str) -> Option<(u64, u64, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?, rest.split(' ').next()?))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::fork::tests::drop_in_child;

    const MAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0
3000-4000 r--p 00000000 00:00 0    [heap]
4000-5000 rw-p 00000000 00:00 0
6000-7000 ---p 00000000 00:00 0
7000-8000 r-xp 00000000 00:00 0    /a file with spaces
";

    #[test]
    fn the_weakest_page_decides() {
        assert_eq!(access_in(MAPS, 0x1000, 0x3000).ok(), Some(DmaAccess::ReadWrite));
        assert_eq!(access_in(MAPS, 0x2fff, 0x3001).ok(), Some(DmaAccess::Read));
        assert_eq!(access_in(MAPS, 0x1000, 0x5000).ok(), Some(DmaAccess::Read));
        assert_eq!(access_in(MAPS, 0x7000, 0x8000).ok(), Some(DmaAccess::Read));
        let error = |start, end| access_in(MAPS, start, end).expect_err("no such memory").to_string();
        assert!(error(0x4000, 0x6001).contains("mapped at 0x5000"));
        assert!(error(0x6000, 0x7000).contains("0x6000 is not readable"));
        assert!(error(0x7fff, 0x8001).contains("mapped at 0x8000"));
        assert!(error(0x9000, 0xa000).contains("mapped at 0x9000"));
    }

    #[test]
    fn a_mapping_is_zero_writable_and_gone_when_dropped() {
        let mapping = Mapping::new(5000).expect("memory");
        let start = mapping.start().as_ptr() as u64;
        assert_eq!((mapping.length(), start % 8192), (8192, 0));
        assert_eq!(access(start, start + 8192).ok(), Some(DmaAccess::ReadWrite));
        // SAFETY: the last byte of the mapping.
        unsafe {
            let last = mapping.start().as_ptr().add(8191);
            assert_eq!(last.read(), 0);
            last.write(7);
            assert_eq!(last.read(), 7);
        }
    }

    #[test]
    fn mappings_are_aligned_to_their_size_and_keep_nothing_else() {
        for length in [1, 4096, 4097, 3 << 12, 1 << 20, (1 << 20) + 1, 3 << 30] {
            let mapping = Mapping::new(length).expect("memory");
            let (start, length) = (mapping.start().as_ptr() as u64, mapping.length());
            let alignment = length.next_power_of_two().min(LARGEST_ALIGNMENT) as u64;
            assert_eq!(start % alignment, 0, "{length:#x}");
            assert_eq!(access(start, start + length as u64).ok(), Some(DmaAccess::ReadWrite));
        }
        // What lies around it is given back at once: 256 MiB each time.
        let reserved = || -> u64 {
            let maps = fs::read_to_string("/proc/self/maps").expect("readable");
            let none = maps.lines().filter_map(line).filter(|(_, _, rights)| rights.starts_with("---"));
            none.map(|(from, to, _)| to - from).sum()
        };
        let before = reserved();
        let _kept: Vec<_> = (0..16).map(|_| Mapping::new((1 << 28) - 4096).expect("memory")).collect();
        assert!(reserved() < before + (2 << 30));
    }

    #[test]
    fn a_child_has_nothing_of_memory_for_a_device_and_harms_nobody_by_dropping_it() {
        let mapping = Mapping::for_device(8192).expect("memory");
        let start = mapping.start();
        let smaps = fs::read_to_string("/proc/self/smaps").expect("readable");
        // The kernel may have joined it to the memory of another test.
        let is_its_own =
            |text| line(text).is_some_and(|(from, to, _)| (from..to).contains(&(start.as_ptr() as u64)));
        let mut lines = smaps.lines().skip_while(|text| !is_its_own(text));
        let flags = lines.find(|text| text.starts_with("VmFlags:")).expect("it is mapped, and has flags");
        assert!(flags.split(' ').any(|flag| flag == "dc"), "not copied on fork: {flags}");
        // SAFETY: all that is mapped there.
        let mapping = unsafe { drop_in_child(mapping, start, 8192) };
        // SAFETY: the parent has it as ever.
        unsafe { mapping.start().as_ptr().write(1) };
    }

    /// So a view shows that its owner may write the file, now and as long as it is there: a device may then be given the file itself.
    #[test]
    fn a_file_that_may_not_be_written_has_no_view_for_writing_and_one_with_a_view_is_not_sealed() {
        let length = 4096;
        let (view, file) = Mapping::shared("pool", length).expect("memory");
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let reader = File::open(path).expect("for reading");
        Mapping::of(reader.as_fd(), length, DmaAccess::Read).expect("it may be read");
        let error = Mapping::of(reader.as_fd(), length, DmaAccess::ReadWrite).expect_err("not written");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let sealed = fcntl_add_seals(&file, SealFlags::WRITE);
        assert_eq!(sealed, Err(rustix::io::Errno::BUSY), "a view for writing is there");
        drop(view);
        fcntl_add_seals(&file, SealFlags::WRITE).expect("nothing is mapped for writing");
        Mapping::of(file.as_fd(), length, DmaAccess::ReadWrite).expect_err("it is sealed");
    }

    #[test]
    fn constants_are_read_only() {
        static TEXT: &[u8] = b"a constant";
        let start = TEXT.as_ptr() as u64;
        assert_eq!(access(start, start + TEXT.len() as u64).ok(), Some(DmaAccess::Read));
    }
}
