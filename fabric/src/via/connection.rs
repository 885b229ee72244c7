//! How an endpoint comes to its connection, and ends it.

use std::{
    ffi::{c_int, c_void},
    mem::size_of,
    sync::Arc,
};

use vipl::connections::Endpoint as Connectable;

use crate::via::{
    address::{self, BYTES},
    endpoint::{Endpoint, Handle, Open},
    error::Errno,
    ffi,
    link::State,
    offer, unsupported,
};

/// The functions of an endpoint that have to do with its connection.
pub static OPS: ffi::fi_ops_cm = ffi::fi_ops_cm {
    size: size_of::<ffi::fi_ops_cm>(),
    setname: Some(unsupported::setname),
    getname: Some(getname),
    getpeer: Some(getpeer),
    connect: Some(connect),
    listen: Some(unsupported::listen),
    accept: Some(accept),
    reject: Some(unsupported::reject),
    shutdown: Some(shutdown),
    join: Some(unsupported::join),
};

impl Endpoint {
    /// Begins a connection, by `begin`: only once.
    fn begin(&self, begin: impl FnOnce(&Open) -> Result<(), Errno>) -> Result<(), Errno> {
        let open = self.enable()?;
        if !self.link.change(State::Idle, State::Connecting) {
            return Err(Errno::IS_CONNECTED);
        }
        let begun = begin(open);
        if begun.is_err() {
            // Nothing has come of it, and it may be tried again.
            self.link.change(State::Connecting, State::Idle);
        }
        begun
    }
}

/// A VI as the connection manager has it.
fn connectable(open: &Open) -> Arc<dyn Connectable> {
    Arc::clone(&open.vi) as _
}

/// Data of the program's with a connection.
///
/// # Errors
/// [`Errno::INVALID`]: more than go with one.
///
/// # Safety
/// So many bytes, which stay as long as they are used.
pub unsafe fn data<'a>(data: *const c_void, length: usize) -> Result<&'a [u8], Errno> {
    if length > offer::CM_DATA {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's promise.
    unsafe { ffi::slice(data.cast::<u8>(), length) }
}

/// # Safety
/// As libfabric calls it, with an endpoint, an address or NULL, and so many bytes.
unsafe extern "C" fn connect(
    endpoint: *mut ffi::fid_ep,
    peer: *const c_void,
    bytes: *const c_void,
    length: usize,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let endpoint = unsafe { Handle::at(endpoint) }?;
        // SAFETY: as above.
        let data = unsafe { data(bytes, length) }?;
        let (eq, from, known) = {
            let setup = endpoint.setup();
            (setup.eq.clone().ok_or(Errno::NO_EQ)?, setup.from, setup.to)
        };
        let to = match peer.is_null() {
            true => known.ok_or(Errno::INVALID)?,
            // SAFETY: as above: libfabric says no length, an address has one.
            false => unsafe { address::read(peer, BYTES) }?,
        };
        endpoint.begin(|open| {
            let (local, remote) = (address::of_via(from), address::of_via(to));
            Ok(eq.queue().connect(connectable(open), &local, &remote, data, None, endpoint.number)?)
        })?;
        endpoint.setup().to = Some(to);
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with an endpoint that was made of a request, and so many bytes.
unsafe extern "C" fn accept(endpoint: *mut ffi::fid_ep, bytes: *const c_void, length: usize) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let endpoint = unsafe { Handle::at(endpoint) }?;
        // SAFETY: as above.
        let data = unsafe { data(bytes, length) }?;
        let request = endpoint.setup().request.take().ok_or(Errno::INVALID)?;
        let begun = endpoint.begin(|open| Ok(request.accept(connectable(open), data, endpoint.number)?));
        if begun.is_err() {
            // The other side has heard nothing, and the program may try again.
            endpoint.setup().request = Some(request);
        }
        begun
    })
}

/// # Safety
/// As libfabric calls it, with an endpoint.
unsafe extern "C" fn shutdown(endpoint: *mut ffi::fid_ep, flags: u64) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let endpoint = unsafe { Handle::at(endpoint) }?;
        if flags != 0 {
            return Err(Errno::FLAGS);
        }
        let open = endpoint.enabled()?;
        let eq = endpoint.setup().eq.clone().ok_or(Errno::NO_EQ)?;
        match endpoint.link.state() {
            State::Idle => Err(Errno::NOT_CONNECTED),
            State::Connecting | State::Connected | State::Broken | State::Over => {
                endpoint.disconnect(&eq, open);
                Ok(())
            }
        }
    })
}

/// # Safety
/// As libfabric calls it, with an endpoint and a place for its address.
unsafe extern "C" fn getname(fid: *mut ffi::fid, place: *mut c_void, length: *mut usize) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let from = unsafe { Handle::at(fid.cast()) }?.setup().from;
        // SAFETY: as above.
        unsafe { address::write(from, place, length) }
    })
}

/// # Safety
/// As libfabric calls it, with an endpoint and a place for its peer's address.
unsafe extern "C" fn getpeer(endpoint: *mut ffi::fid_ep, place: *mut c_void, length: *mut usize) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let to = unsafe { Handle::at(endpoint) }?.setup().to.ok_or(Errno::NOT_CONNECTED)?;
        // SAFETY: as above.
        unsafe { address::write(to, place, length) }
    })
}
