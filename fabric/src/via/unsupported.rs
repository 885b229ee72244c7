//! Calls that libfabric makes without asking whether they are there, and that this provider does not offer: each answers -FI_ENOSYS.

use std::{
    ffi::{c_char, c_int, c_void},
    mem::size_of,
};

use crate::via::ffi;

macro_rules! unsupported {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)*) => {$(
        /// It answers -FI_ENOSYS.
        ///
        /// # Safety
        /// It looks at none of its arguments.
        pub unsafe extern "C" fn $name($(_: $argument),*) -> $answer {
            -libc::ENOSYS as $answer
        }
    )*};
}

unsupported! {
    close(*mut ffi::fid) -> c_int;
    bind(*mut ffi::fid, *mut ffi::fid, u64) -> c_int;
    control(*mut ffi::fid, c_int, *mut c_void) -> c_int;
    ops_open(*mut ffi::fid, *const c_char, u64, *mut *mut c_void, *mut c_void) -> c_int;
    tostr(*const ffi::fid, *mut c_char, usize) -> c_int;
    ops_set(*mut ffi::fid, *const c_char, u64, *mut c_void, *mut c_void) -> c_int;

    wait_open(*mut ffi::fid_fabric, *mut ffi::fi_wait_attr, *mut *mut ffi::fid_wait) -> c_int;

    av_open(*mut ffi::fid_domain, *mut ffi::fi_av_attr, *mut *mut ffi::fid_av, *mut c_void) -> c_int;
    scalable_ep(*mut ffi::fid_domain, *mut ffi::fi_info, *mut *mut ffi::fid_ep, *mut c_void) -> c_int;
    cntr_open(*mut ffi::fid_domain, *mut ffi::fi_cntr_attr, *mut *mut ffi::fid_cntr, *mut c_void) -> c_int;
    poll_open(*mut ffi::fid_domain, *mut ffi::fi_poll_attr, *mut *mut ffi::fid_poll) -> c_int;
    stx_ctx(*mut ffi::fid_domain, *mut ffi::fi_tx_attr, *mut *mut ffi::fid_stx, *mut c_void) -> c_int;
    srx_ctx(*mut ffi::fid_domain, *mut ffi::fi_rx_attr, *mut *mut ffi::fid_ep, *mut c_void) -> c_int;

    cancel(*mut ffi::fid, *mut c_void) -> isize;
    setopt(*mut ffi::fid, c_int, c_int, *const c_void, usize) -> c_int;
    tx_ctx(*mut ffi::fid_ep, c_int, *mut ffi::fi_tx_attr, *mut *mut ffi::fid_ep, *mut c_void) -> c_int;
    rx_ctx(*mut ffi::fid_ep, c_int, *mut ffi::fi_rx_attr, *mut *mut ffi::fid_ep, *mut c_void) -> c_int;
    size_left(*mut ffi::fid_ep) -> isize;

    setname(*mut ffi::fid, *mut c_void, usize) -> c_int;
    getpeer(*mut ffi::fid_ep, *mut c_void, *mut usize) -> c_int;
    connect(*mut ffi::fid_ep, *const c_void, *const c_void, usize) -> c_int;
    listen(*mut ffi::fid_pep) -> c_int;
    accept(*mut ffi::fid_ep, *const c_void, usize) -> c_int;
    reject(*mut ffi::fid_pep, *mut ffi::fid, *const c_void, usize) -> c_int;
    shutdown(*mut ffi::fid_ep, u64) -> c_int;
    join(*mut ffi::fid_ep, *const c_void, u64, *mut *mut ffi::fid_mc, *mut c_void) -> c_int;
}

/// The table that each object has, with nothing but its end.
pub const fn ops(close: unsafe extern "C" fn(*mut ffi::fid) -> c_int) -> ffi::fi_ops {
    ffi::fi_ops {
        size: size_of::<ffi::fi_ops>(),
        close: Some(close),
        bind: Some(bind),
        control: Some(control),
        ops_open: Some(ops_open),
        tostr: Some(tostr),
        ops_set: Some(ops_set),
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    #[test]
    fn what_is_not_there_says_so_and_looks_at_nothing() {
        // SAFETY: they look at nothing.
        unsafe {
            assert_eq!(cancel(null_mut(), null_mut()), -(libc::ENOSYS as isize));
            assert_eq!(ops_open(null_mut(), std::ptr::null(), 0, null_mut(), null_mut()), -libc::ENOSYS);
        }
    }
}
