//! Options of endpoints.

use std::{
    ffi::{c_int, c_void},
    mem::size_of,
};

use crate::via::{error::Errno, ffi, offer};

/// An option of an endpoint, or of a passive one: how much data may come with a connection.
///
/// # Safety
/// As libfabric calls it, with a place for the option, and its size.
pub unsafe extern "C" fn getopt(
    _: *mut ffi::fid,
    level: c_int,
    option: c_int,
    place: *mut c_void,
    length: *mut usize,
) -> c_int {
    ffi::answer(|| {
        if level as u32 != ffi::FI_OPT_ENDPOINT || option as u32 != ffi::FI_OPT_CM_DATA_SIZE {
            return Err(Errno::NO_OPTION);
        }
        // SAFETY: the caller's promise.
        if *unsafe { ffi::read(length) }? < size_of::<usize>() {
            return Err(Errno::TOO_SMALL);
        }
        // SAFETY: as above.
        unsafe {
            ffi::put(place.cast::<usize>(), offer::CM_DATA)?;
            ffi::put(length, size_of::<usize>())
        }
    })
}
