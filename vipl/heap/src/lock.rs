//! A lock that allocates nothing, and that the one thread of a child can open that its parent has closed.

use std::{
    ptr::null,
    sync::atomic::{AtomicU32, Ordering},
};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// And somebody may sleep.
const AWAITED: u32 = 2;

/// A lock.
pub struct Lock(AtomicU32);

impl Lock {
    /// A lock that is open.
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Waits until it is open, and closes it.
    pub fn close(&self) {
        if self.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        while self.0.swap(AWAITED, Ordering::Acquire) != FREE {
            // SAFETY: it sleeps while the word says so, and not for ever.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    AWAITED,
                    null::<libc::timespec>(),
                );
            }
        }
    }

    /// Opens it.
    pub fn open(&self) {
        if self.0.swap(FREE, Ordering::Release) == AWAITED {
            // SAFETY: it wakes one who sleeps.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                )
            };
        }
    }
}
