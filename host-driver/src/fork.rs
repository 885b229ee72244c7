//! Children of a fork. They have a copy of everything that their parent had of a NIC, and may use none of it: the
//! queues are the parent's, and what the NIC reaches is the parent's memory. So every call of theirs is an error,
//! and none reaches the NIC (docs/memory.md).

use std::sync::{
    atomic::{AtomicU32, Ordering},
    Once,
};

use crate::device::DeviceError;

/// Forks between the first process that used this library and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// From now on `handler` runs first in every child of a fork. Should there be no memory for that, forks go unnoticed, as before this call.
///
/// # Safety
/// It does only what is allowed in a child at any time, whatever the threads of its parent were doing: it stores to atomics.
pub unsafe fn in_children(handler: extern "C" fn()) {
    // Under Miri nobody forks.
    if !cfg!(miri) {
        // SAFETY: the caller's promise.
        unsafe { libc::pthread_atfork(None, None, Some(handler)) };
    }
}

/// The process that something was made in.
#[derive(Debug, Clone, Copy)]
pub struct Birth(u32);

impl Birth {
    /// This process.
    pub fn now() -> Self {
        static WATCH: Once = Once::new();
        extern "C" fn child() {
            FORKS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the handler only adds to an atomic.
        WATCH.call_once(|| unsafe { in_children(child) });
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// This process, where forks are watched already.
    #[inline]
    pub fn current() -> Self {
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// How many forks are between the first process that used this library and this one.
    #[inline]
    pub fn forks(self) -> u32 {
        self.0
    }

    /// An error in a child: [`DeviceError::Forked`]. It makes no system call.
    #[inline]
    pub fn check(self) -> Result<(), DeviceError> {
        if self.is_here() {
            Ok(())
        } else {
            Err(DeviceError::Forked)
        }
    }

    /// Whether this is the process.
    #[inline]
    pub fn is_here(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ptr::NonNull;

    /// A child drops its copy of `value` when `length` bytes from `start` on are memory of its own, and must have that afterwards as before.
    /// This process has the value as ever.
    ///
    /// # Safety
    /// All of `value` that is mapped there is not given to children, and what drops it makes system calls alone.
    pub unsafe fn drop_in_child<T>(value: T, start: NonNull<u8>, length: usize) -> T {
        let start = start.as_ptr();
        // SAFETY: the child makes system calls alone, and ends without anything being dropped but what it drops itself.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: where nothing is, or it fails; and then one byte of what was mapped. `_exit` runs nothing.
            unsafe {
                let own = libc::mmap(start.cast(), length, rights, flags, -1, 0);
                if own != start.cast() {
                    libc::_exit(2);
                }
                drop(value);
                own.cast::<u8>().write(1);
                libc::_exit(0);
            }
        }
        let mut status = 0;
        // SAFETY: the child that was just made.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "exit code {}, signal {}", status >> 8, status & 0x7f);
        value
    }
}
