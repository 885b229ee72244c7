//! Private data, from a program and to it.

use std::ffi::c_ulong;

use via::{connections::ACCEPT_ROOM, Return};

use crate::entry::{read, Out};

/// Private data of a program's: copied, because others may write there.
///
/// # Safety
/// `length` bytes, or NULL and none.
pub unsafe fn private_data(data: *const u8, length: c_ulong) -> Result<Vec<u8>, Return> {
    match usize::try_from(length) {
        Ok(0) => Ok(Vec::new()),
        // No message has room for more, but how much it is depends on the message.
        Ok(length) if length <= ACCEPT_ROOM && !data.is_null() => {
            // SAFETY: the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(data, length) }.to_vec())
        }
        _ => Err(Return::InvalidParameter),
    }
}

/// Gives a program private data: all, and how many bytes they are; or only that, if there is too little room.
///
/// # Safety
/// `length` is NULL, or a VIP_ULONG; `to` is NULL, or has that many bytes.
pub unsafe fn put_private_data(data: &[u8], to: *mut u8, length: *mut c_ulong) -> Result<(), Return> {
    // SAFETY: the caller's promise.
    let (room, length_out) = unsafe { (read(length)?, Out::new(length)?) };
    length_out.put(data.len() as c_ulong);
    if data.is_empty() {
        return Ok(());
    }
    if (data.len() as c_ulong) > room {
        return Err(Return::ErrorResource);
    }
    if to.is_null() {
        return Err(Return::InvalidParameter);
    }
    // SAFETY: there is room for so many.
    unsafe { to.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
    Ok(())
}
