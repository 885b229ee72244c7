//! Memory of this process, of the kinds that tests need.

use std::{ffi::c_void, fs::File, io, os::unix::fs::FileExt, ptr::NonNull};

use rustix::mm::{mlock, mmap_anonymous, mprotect, munmap, MapFlags, MprotectFlags, ProtFlags};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// Pages of memory of its own. A device may change them at any time: bytes are copied in and out.
pub struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory is the whole process's, and every access is a copy through the pointer.
unsafe impl Send for Pages {}
// SAFETY: as above; who writes while another reads gets old or new bytes, as with a device.
unsafe impl Sync for Pages {}

impl Pages {
    /// So many, filled with a byte, and so there.
    pub fn filled(count: usize, byte: u8) -> io::Result<Self> {
        let pages = Self::map(count * PAGE, MapFlags::PRIVATE)?;
        pages.fill(byte);
        Ok(pages)
    }

    /// One huge page.
    ///
    /// # Errors
    /// Among others, ENOMEM where the system has none free.
    pub fn huge() -> io::Result<Self> {
        Self::map(HUGE_PAGE, MapFlags::PRIVATE | MapFlags::HUGETLB)
    }

    fn map(length: usize, flags: MapFlags) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { start, length })
    }

    /// From now on this process may only read it. To be filled before.
    pub fn protect(&self) -> io::Result<()> {
        // SAFETY: all of our own mapping; no reference into it exists.
        Ok(unsafe { mprotect(self.start.as_ptr().cast::<c_void>(), self.length, MprotectFlags::READ) }?)
    }

    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// First byte.
    pub fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Writes every byte.
    pub fn fill(&self, byte: u8) {
        for at in 0..self.length {
            // SAFETY: inside the mapping, which is writable until `protect`.
            unsafe { self.start.add(at).write_volatile(byte) };
        }
    }

    /// Whether every byte is this one.
    pub fn is_all(&self, byte: u8) -> bool {
        // SAFETY: inside the mapping; volatile, because a device may write it.
        (0..self.length).all(|at| unsafe { self.start.add(at).read_volatile() } == byte)
    }

    /// The physical address of the first page, which stays in memory from now on. None when the
    /// system does not tell us.
    pub fn physical(&self) -> io::Result<Option<u64>> {
        // SAFETY: our own mapping.
        unsafe { mlock(self.start.as_ptr().cast::<c_void>(), self.length) }?;
        let mut entry = [0; 8];
        File::open("/proc/self/pagemap")?.read_exact_at(&mut entry, (self.address() / PAGE * 8) as u64)?;
        // Bit 63: present. Bits 54 to 0: number of the page frame, 0 for who may not know it.
        let entry = u64::from_le_bytes(entry);
        let frame = entry & ((1 << 55) - 1);
        Ok((entry >> 63 == 1 && frame != 0).then_some(frame * PAGE as u64))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; who owns it is done with it. Failure leaves it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), self.length) };
    }
}
