//! libfabric's types and constants, as its headers on this machine have them, and how this crate answers its calls.

use std::{
    ffi::{c_char, c_int, CStr},
    panic::{catch_unwind, AssertUnwindSafe},
    ptr::NonNull,
};

use crate::via::error::Errno;

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unsafe_op_in_unsafe_fn,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "bindgen writes it"
)]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/libfabric.rs"));
}
pub use bindings::*;

/// FI_SHARED_CONTEXT, which is an expression that bindgen does not take over.
pub const SHARED_CONTEXT: usize = usize::MAX;

/// Flags that libfabric's own providers pass each other, and its headers reserve (fabric.h: 60 - 63). Those of ofi_rxm are wishes: memory that no cache
/// is to keep, messages before others. There is no cache here, and no other order.
pub const BETWEEN_PROVIDERS: u64 = 0xf << 60;

/// Runs the body of a call that answers 0 or an error. No panic leaves it.
pub fn answer(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.negative(),
        Err(_) => Errno::OTHER.negative(),
    }
}

/// [`answer`], for a call that answers how many bytes or entries there are.
pub fn count(body: impl FnOnce() -> Result<usize, Errno>) -> isize {
    match catch_unwind(AssertUnwindSafe(body)) {
        // No buffer of a program's has more bytes.
        Ok(Ok(count)) => isize::try_from(count).unwrap_or(isize::MAX),
        Ok(Err(error)) => error.negative() as isize,
        Err(_) => Errno::OTHER.negative() as isize,
    }
}

/// [`count`], for a call that answers 0 or an error.
pub fn done(body: impl FnOnce() -> Result<(), Errno>) -> isize {
    count(|| body().map(|()| 0))
}

/// Where a program wants a result. Who makes something for it looks at this first: what is made for a place that is none would be nobody's.
pub struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    /// A place of the program's.
    ///
    /// # Errors
    /// NULL.
    ///
    /// # Safety
    /// NULL, or a place for a `T` that the call alone uses in which this is.
    pub unsafe fn at(place: *mut T) -> Result<Self, Errno> {
        NonNull::new(place).map(Self).ok_or(Errno::INVALID)
    }

    /// Puts the result there.
    pub fn put(self, value: T) {
        // SAFETY: the promise of who has called `at`.
        unsafe { self.0.as_ptr().write(value) }
    }
}

/// Puts a result where the program wants it.
///
/// # Errors
/// NULL.
///
/// # Safety
/// NULL, or a place for a `T` that this call alone uses.
pub unsafe fn put<T>(place: *mut T, value: T) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    unsafe { Place::at(place) }?.put(value);
    Ok(())
}

/// What a pointer of the program's points to.
///
/// # Errors
/// NULL.
///
/// # Safety
/// NULL, or a `T` that nobody changes as long as the reference is used.
pub unsafe fn read<'a, T>(pointer: *const T) -> Result<&'a T, Errno> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Errno::INVALID)
}

/// An array of the program's.
///
/// # Errors
/// NULL, unless it has no items.
///
/// # Safety
/// NULL, or `count` items that nobody changes as long as the slice is used.
pub unsafe fn slice<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Errno> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// Copies a text into a buffer of the program's, cut to its length.
///
/// # Safety
/// NULL, or `length` bytes that this call alone uses.
pub unsafe fn copy_text(text: &CStr, buffer: *mut c_char, length: usize) {
    if buffer.is_null() || length == 0 {
        return;
    }
    let count = text.count_bytes().min(length - 1);
    // SAFETY: the caller's promise: there are more bytes than `count`.
    unsafe {
        buffer.copy_from(text.as_ptr(), count);
        buffer.add(count).write(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_panic_leaves_and_errors_are_negative() {
        assert_eq!(answer(|| panic!("on purpose")), -256);
        assert_eq!(count(|| panic!("on purpose")), -256);
        assert_eq!((answer(|| Ok(())), done(|| Ok(())), count(|| Ok(7))), (0, 0, 7));
        assert_eq!(answer(|| Err(Errno::INVALID)), -libc::EINVAL);
        assert_eq!(count(|| Err(Errno::AGAIN)), -(libc::EAGAIN as isize));
    }

    #[test]
    fn null_is_an_error_and_an_empty_array_is_none() {
        // SAFETY: NULL is allowed, as is what is here.
        unsafe {
            assert_eq!(put(std::ptr::null_mut::<u32>(), 1), Err(Errno::INVALID));
            assert_eq!(read(std::ptr::null::<u32>()), Err(Errno::INVALID));
            assert_eq!(slice(std::ptr::null::<u32>(), 1), Err(Errno::INVALID));
            assert_eq!(slice(std::ptr::null::<u32>(), 0), Ok(&[][..]));
            assert_eq!(slice([1, 2].as_ptr(), 2), Ok(&[1, 2][..]));
        }
    }

    #[test]
    fn a_text_is_cut_to_the_buffer() {
        let mut buffer = [7; 4];
        // SAFETY: the array's own bytes, and NULL.
        unsafe {
            copy_text(c"ab", std::ptr::null_mut(), 4);
            copy_text(c"ab", buffer.as_mut_ptr(), 4);
            assert_eq!(buffer, [b'a' as c_char, b'b' as c_char, 0, 7]);
            copy_text(c"abcdef", buffer.as_mut_ptr(), 4);
        }
        assert_eq!(buffer, [b'a' as c_char, b'b' as c_char, b'c' as c_char, 0]);
    }

    #[test]
    fn libfabrics_flags_are_64_bits_wide() {
        // As its manual has them: a wrong width would be another type, and this would not compile.
        let flags: [u64; 3] = [FI_MSG, FI_RX_CQ_DATA, FI_CONTEXT];
        assert_eq!(flags, [1 << 1, 1 << 56, 1 << 59]);
    }
}
