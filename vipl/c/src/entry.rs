//! What every entry point does: no panic leaves it, a forked child gets an error, and pointers are looked at before they are used.
//!
//! Posts and looks have a fast path without [`call`]. Nothing in it panics, and a panic would end the process. Their handles name nothing
//! in a forked child, so it need not ask whether it is one. What it does not do, the slow path does; that is a function of the C interface, too,
//! so that it is jumped to.

use std::{
    ffi::c_ulong,
    panic::{catch_unwind, AssertUnwindSafe},
    ptr::NonNull,
    sync::{
        atomic::{AtomicU32, Ordering},
        Mutex, MutexGuard, Once, PoisonError,
    },
    time::Duration,
};

use via::{Error, Return};
use viaduct_driver::fork::{in_children, Birth};

use crate::types::VipReturn;

/// Forks before the process that has opened NICs. In a child of its, handles, threads and locks are the parent's.
static FORKS: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

/// From now on a child of this process gets errors: [`call`] says so. What is tried before finds no handle there: `child` sees to that, which only
/// stores to atomics.
pub fn watch_forks(child: extern "C" fn()) {
    WATCH.call_once(|| {
        FORKS.store(Birth::now().forks(), Ordering::Relaxed);
        // SAFETY: the handler only stores to atomics, as who calls has promised.
        unsafe { in_children(child) };
    });
}

/// Whether this process is a child of the one that has opened NICs.
fn is_child() -> bool {
    Birth::current().forks() != FORKS.load(Ordering::Relaxed)
}

/// Runs the body of an entry point.
pub fn call(body: impl FnOnce() -> Result<(), Return>) -> VipReturn {
    let code = if is_child() {
        Return::ErrorResource
    } else {
        // After a panic of the body its locks are taken all the same: no step leaves what they guard half changed.
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(())) => Return::Success,
            Ok(Err(code)) => code,
            Err(_) => Return::ErrorResource,
        }
    };
    code as VipReturn
}

/// [`call`], for what answers something else than a code.
pub fn value<T>(otherwise: T, body: impl FnOnce() -> Option<T>) -> T {
    if is_child() {
        return otherwise;
    }
    catch_unwind(AssertUnwindSafe(body)).ok().flatten().unwrap_or(otherwise)
}

/// Takes a lock, also after a thread has panicked with it: no step leaves what it guards half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// VIA's code for an error.
pub fn code(error: Error) -> Return {
    error.code()
}

/// Where a result goes. C programs need not align it.
pub struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// NULL, or a place for a `T` that this call alone uses.
    pub unsafe fn new(pointer: *mut T) -> Result<Self, Return> {
        NonNull::new(pointer).map(Self).ok_or(Return::InvalidParameter)
    }

    pub fn put(&self, value: T) {
        // SAFETY: `new`.
        unsafe { self.0.as_ptr().write_unaligned(value) };
    }
}

/// What a pointer points to.
///
/// # Safety
/// NULL, or a `T`.
pub unsafe fn read<T: Copy>(pointer: *const T) -> Result<T, Return> {
    let pointer = NonNull::new(pointer.cast_mut()).ok_or(Return::InvalidParameter)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { pointer.as_ptr().read_unaligned() })
}

/// A time-out. 0xFFFFFFFF and ~0UL are for ever: None.
pub fn timeout(milliseconds: c_ulong) -> Option<Duration> {
    let infinite = milliseconds == c_ulong::from(u32::MAX) || milliseconds == c_ulong::MAX;
    (!infinite).then(|| Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_panic_leaves() {
        assert_eq!(call(|| panic!("on purpose")), Return::ErrorResource as VipReturn);
        assert_eq!(value(7, || panic!("on purpose")), 7);
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(call(|| Err(Return::Timeout)), 4);
    }

    #[test]
    fn both_infinities_are_for_ever() {
        assert_eq!(timeout(0xffff_ffff), None);
        assert_eq!(timeout(c_ulong::MAX), None);
        assert_eq!(timeout(0xffff_fffe), Some(Duration::from_millis(0xffff_fffe)));
        assert_eq!(timeout(0), Some(Duration::ZERO));
    }
}
