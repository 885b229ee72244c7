//! Requests for connections, between FI_CONNREQ and fi_accept or fi_reject: what `fi_info.handle` points to.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    ptr::null_mut,
};

use vipl::connections::ConnectionRequest;

use crate::via::{
    address,
    error::Errno,
    ffi,
    object::{self, Object},
    unsupported,
};

/// Somebody asks, and nobody has decided.
type Pending = Object<ffi::fid, ConnectionRequest>;

static OPS: ffi::fi_ops = unsupported::ops(unsupported::close);

/// Keeps a request until the program decides. Whoever has the pointer takes it, by [`take`] or [`forget`].
pub fn keep(request: ConnectionRequest) -> *mut ffi::fid {
    Pending::give(object::fid::<ffi::fid>(null_mut(), &OPS), request)
}

/// The request that a pointer of a program's stands for.
///
/// # Errors
/// NULL, or something else.
///
/// # Safety
/// NULL, an object of libfabric's, or what [`keep`] has made and nobody has taken. It is not used any more.
pub unsafe fn take(handle: *mut ffi::fid) -> Result<ConnectionRequest, Errno> {
    // SAFETY: the caller's promise.
    unsafe { Pending::take(handle) }
}

/// Rejects a request that nobody has heard of. NULL is none.
///
/// # Safety
/// As [`take`].
pub unsafe fn forget(handle: *mut ffi::fid) {
    // SAFETY: the caller's promise. Dropping it rejects.
    drop(unsafe { take(handle) });
}

/// Whether a pointer stands for a request.
///
/// # Safety
/// As [`take`].
pub unsafe fn is_one(handle: *mut ffi::fid) -> bool {
    // SAFETY: the caller's promise.
    unsafe { object::is_of(handle, ffi::FI_CLASS_CONNREQ as usize) }
}

/// Who asks: its host, and the port that its discriminator is.
pub fn peer(request: &ConnectionRequest) -> SocketAddrV4 {
    let ip: Ipv4Addr = request.remote_ip();
    SocketAddrV4::new(ip, address::port_of(&request.remote().discriminator))
}
