//! A C allocator to preload: `LD_PRELOAD=libvipl_heap.so`. Large allocations lie in arenas, which are memfds of sealed size, so that libvipl can give them to viad when
//! the program registers memory there. Small ones are the C library's, as without it.
//!
//! Nothing here allocates: it would call itself. In its unit tests it is nobody's allocator.

mod arenas;
mod fork;
mod lock;
mod system;
#[cfg(test)]
mod tests;

use std::{
    ffi::{c_int, c_void},
    mem::transmute,
    ptr::null_mut,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{
    arenas::{Arenas, PAGE},
    system::{set_errno, Errno},
};

/// Allocations of so many bytes and more lie in arenas: VIADUCT_HEAP_LEAST, a page if it is not set.
static LEAST: AtomicUsize = AtomicUsize::new(PAGE);

// The C library's own, under names that nobody interposes.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn __libc_free(start: *mut c_void);
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

/// Before the program begins.
extern "C" fn start() {
    // SAFETY: nobody changes the environment yet; the text ends with a zero.
    let least = unsafe {
        let text = libc::getenv(c"VIADUCT_HEAP_LEAST".as_ptr());
        if text.is_null() {
            0
        } else {
            libc::strtoull(text, null_mut(), 10) as usize
        }
    };
    if least > 0 {
        LEAST.store(least.max(PAGE), Ordering::Relaxed);
    }
    fork::watch();
}

/// An allocation in an arena, zero; None: it is the C library's affair.
fn large(size: usize, alignment: usize) -> Option<*mut c_void> {
    if size < LEAST.load(Ordering::Relaxed) {
        return None;
    }
    let _errno = Errno::keep();
    Arenas::lock().allocate(size, alignment).map(|start| start as *mut c_void)
}

fn no_memory() -> *mut c_void {
    set_errno(libc::ENOMEM);
    null_mut()
}

/// malloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: the C library's own.
    large(size, PAGE).unwrap_or_else(|| unsafe { __libc_malloc(size) })
}

/// calloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return no_memory() };
    // SAFETY: the C library's own.
    large(bytes, PAGE).unwrap_or_else(|| unsafe { __libc_calloc(count, size) })
}

/// free(3).
///
/// # Safety
/// An allocation, or null.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn free(start: *mut c_void) {
    if !Arenas::has(start as usize) {
        // SAFETY: the caller's promise.
        return unsafe { __libc_free(start) };
    }
    let _errno = Errno::keep();
    // Nobody else may have it meanwhile, so the system takes it back without the lock.
    let run = Arenas::lock().find(start as usize);
    run.forget();
    Arenas::lock().release(run);
}

/// realloc(3).
///
/// # Safety
/// An allocation, or null.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    let is_large = Arenas::has(old as usize);
    let resized = || {
        let _errno = Errno::keep();
        Arenas::lock().resize(old as usize, size)
    };
    if !is_large && (old.is_null() || size < LEAST.load(Ordering::Relaxed)) {
        // SAFETY: the caller's promise.
        return if old.is_null() { malloc(size) } else { unsafe { __libc_realloc(old, size) } };
    }
    if is_large && size == 0 {
        // SAFETY: the caller's promise.
        unsafe { free(old) };
        return null_mut();
    }
    if is_large && size >= LEAST.load(Ordering::Relaxed) && resized() {
        return old;
    }
    // SAFETY: an allocation.
    let bytes = unsafe { malloc_usable_size(old) };
    let new = malloc(size);
    if !new.is_null() {
        // SAFETY: both have as many bytes, and are apart; the old one is the caller's to give.
        unsafe {
            new.cast::<u8>().copy_from_nonoverlapping(old.cast(), bytes.min(size));
            free(old);
        }
    }
    new
}

/// reallocarray(3).
///
/// # Safety
/// As [`realloc`].
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn reallocarray(old: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return no_memory() };
    // SAFETY: the caller's promise.
    unsafe { realloc(old, bytes) }
}

/// memalign(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: the C library's own.
    large(size, alignment).unwrap_or_else(|| unsafe { __libc_memalign(alignment, size) })
}

/// aligned_alloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        set_errno(libc::EINVAL);
        return null_mut();
    }
    memalign(alignment, size)
}

/// posix_memalign(3).
///
/// # Safety
/// There is room for the address.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || alignment % size_of::<usize>() != 0 {
        return libc::EINVAL;
    }
    let _errno = Errno::keep();
    let start = memalign(alignment, size);
    if start.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's promise.
    unsafe { to.write(start) };
    0
}

/// valloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn valloc(size: usize) -> *mut c_void {
    memalign(PAGE, size)
}

/// pvalloc(3).
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn pvalloc(size: usize) -> *mut c_void {
    size.max(1).checked_next_multiple_of(PAGE).map_or_else(no_memory, |size| memalign(PAGE, size))
}

/// malloc_usable_size(3).
///
/// # Safety
/// An allocation, or null.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_usable_size(start: *mut c_void) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if Arenas::has(start as usize) {
        return Arenas::lock().find(start as usize).bytes();
    }
    let mut next = NEXT.load(Ordering::Relaxed);
    if next == 0 {
        // SAFETY: a name; the C library's has no other name than this.
        next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()) } as usize;
        NEXT.store(next, Ordering::Relaxed);
    }
    if next == 0 {
        system::end(c"vipl_heap: this C library has no malloc_usable_size\n");
    }
    // SAFETY: the C library's function of this name.
    let next: unsafe extern "C" fn(*mut c_void) -> usize = unsafe { transmute(next) };
    // SAFETY: the caller's promise.
    unsafe { next(start) }
}

/// An arena, for who registers memory in it.
#[repr(C)]
pub struct Arena {
    /// First byte.
    start: u64,
    /// Bytes.
    length: u64,
    /// No other arena of this process's has or had it.
    serial: u64,
    /// Its memfd: a descriptor of the caller's.
    file: c_int,
}

/// The arena in which an address lies: 0; or why there is none: ENOENT, the address is nobody's here; EBADF, the program has closed the arena's descriptor; ESTALE, the arena was
/// made before a fork, and is this process's alone; EMFILE and ENFILE, no descriptor is left.
///
/// # Safety
/// There is room for the arena.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn viaduct_heap_arena(address: *const c_void, to: *mut Arena) -> c_int {
    match Arenas::lock().share(address as usize) {
        Ok(arena) => {
            // SAFETY: the caller's promise.
            unsafe { to.write(arena) };
            0
        }
        Err(errno) => errno,
    }
}
