//! The system's calls that the arenas make.

use std::ffi::{c_int, c_void, CStr};

/// The errno of before, which comes back when this is dropped: a program's malloc and free leave errno alone unless they fail.
pub struct Errno(c_int);

impl Errno {
    /// As it is now.
    pub fn keep() -> Self {
        // SAFETY: this thread's.
        Self(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        set_errno(self.0);
    }
}

/// Sets errno.
pub fn set_errno(errno: c_int) {
    // SAFETY: this thread's.
    unsafe { *libc::__errno_location() = errno };
}

/// The error of the last call.
pub fn errno() -> c_int {
    // SAFETY: this thread's.
    unsafe { *libc::__errno_location() }
}

/// Ends the program, which has done what no program may.
pub fn end(text: &CStr) -> ! {
    // SAFETY: a text, and the end.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.count_bytes());
        libc::abort()
    }
}

/// Addresses without memory, aligned to `alignment`: the first.
pub fn reserve(length: usize, alignment: usize) -> Option<usize> {
    let all = length.checked_add(alignment)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0) };
    (start != libc::MAP_FAILED).then(|| (start as usize).next_multiple_of(alignment))
}

/// Memory of this process's alone, zero.
pub fn private(length: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    (start != libc::MAP_FAILED).then_some(start as usize)
}

/// A memfd of sealed size. Its number is out of the way of programs that count on small ones.
pub fn memfd(length: usize) -> Option<c_int> {
    const FROM: c_int = 512;
    // SAFETY: calls on a descriptor of its own.
    unsafe {
        let first = libc::memfd_create(c"viaduct-heap".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if first < 0 {
            return None;
        }
        let moved = libc::fcntl(first, libc::F_DUPFD_CLOEXEC, FROM);
        let file = if moved < 0 { first } else { moved };
        if file != first {
            libc::close(first);
        }
        let made = libc::ftruncate(file, length as libc::off_t) == 0
            && libc::fcntl(file, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) == 0;
        if !made {
            libc::close(file);
            return None;
        }
        Some(file)
    }
}

/// Maps all of a file over addresses that are the caller's. Children do not get it.
///
/// # Safety
/// Nobody uses what is there.
pub unsafe fn map(file: c_int, start: usize, length: usize) -> bool {
    let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
    let start = start as *mut c_void;
    // SAFETY: the caller's promise.
    unsafe {
        libc::mmap(start, length, rights, flags, file, 0) != libc::MAP_FAILED
            && libc::madvise(start, length, libc::MADV_DONTFORK) == 0
    }
}

/// What a file is, whatever its descriptor is called.
pub fn identity(file: c_int) -> Option<(u64, u64)> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: it is written if the call succeeds.
    unsafe {
        (libc::fstat(file, found.as_mut_ptr()) == 0).then(|| {
            let found = found.assume_init();
            (found.st_dev, found.st_ino)
        })
    }
}
