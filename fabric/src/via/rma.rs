//! Remote memory access: RDMA writes and reads.

use std::{ffi::c_void, mem::size_of, ptr::null_mut};

use vipl::{Descriptor, Direction, Remote};

use crate::via::{
    endpoint::Handle,
    error::Errno,
    ffi::{self, FI_INJECT, FI_MORE, FI_READ, FI_REMOTE_CQ_DATA, FI_RMA, FI_WRITE},
    message::{known, piece, told, with_data},
    object::Word,
    offer::{self, TX_FLAGS},
    operation::Operation,
    pieces::{inject as copy, Pieces},
};

/// The most bytes of one descriptor; a longer access has several. In tests it is less, so that some are longer.
pub const PART: usize = if cfg!(test) { 4096 } else { offer::MESSAGE };

/// The functions of an endpoint for remote memory.
pub static OPS: ffi::fi_ops_rma = ffi::fi_ops_rma {
    size: size_of::<ffi::fi_ops_rma>(),
    read: Some(read),
    readv: Some(readv),
    readmsg: Some(readmsg),
    write: Some(write),
    writev: Some(writev),
    writemsg: Some(writemsg),
    inject: Some(inject),
    writedata: Some(writedata),
    injectdata: Some(injectdata),
};

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

/// An access to a peer's memory.
struct Access {
    way: Way,
    pieces: *const ffi::iovec,
    descriptors: *mut *mut c_void,
    count: usize,
    /// Where it begins there, and the key of the region.
    address: u64,
    key: u64,
    context: Word,
    /// Flags of the operation; None: those of the endpoint.
    flags: Option<u64>,
    data: Option<u64>,
    /// It was injected: nobody hears of it.
    is_silent: bool,
}

impl Access {
    fn plain(
        way: Way,
        (pieces, descriptors, count): (*const ffi::iovec, *mut *mut c_void, usize),
        (address, key): (u64, u64),
        context: *mut c_void,
    ) -> Self {
        let (context, flags, data, is_silent) = (Word(context), None, None, false);
        Self { way, pieces, descriptors, count, address, key, context, flags, data, is_silent }
    }

    /// An access as a program has described it.
    ///
    /// # Safety
    /// NULL, or a description, with one remote piece at most.
    unsafe fn of(way: Way, message: *const ffi::fi_msg_rma, flags: u64) -> Result<Self, Errno> {
        // SAFETY: the caller's promise.
        let message = unsafe { ffi::read(message) }?;
        // SAFETY: as above.
        let [remote] = unsafe { ffi::slice(message.rma_iov, message.rma_iov_count) }? else {
            return Err(Errno::INVALID);
        };
        let data = (way == Way::Write && flags & FI_REMOTE_CQ_DATA != 0).then_some(message.data);
        let memory = (message.msg_iov, message.desc, message.iov_count);
        let plain = Self::plain(way, memory, (remote.addr, remote.key), message.context);
        Ok(Self { flags: Some(flags), data, ..plain })
    }

    /// Posts it: as one descriptor, or as many as it takes when it is longer than one may be.
    ///
    /// # Safety
    /// As libfabric calls what posts: an endpoint, and the pieces, which stay until the operation is complete; their descriptors. Of what is
    /// injected the pieces need not stay, and have no descriptors.
    unsafe fn post(&self, endpoint: *mut ffi::fid_ep) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        let endpoint = unsafe { Handle::at(endpoint) }?;
        let flags = self.flags.unwrap_or(endpoint.offer.flags[0]);
        let flags = known(flags, TX_FLAGS | FI_MORE | FI_REMOTE_CQ_DATA)?;
        let (open, bound) = endpoint.to_send()?;
        let handle = u32::try_from(self.key).map_err(|_| Errno::INVALID)?;
        let is_copied = self.way == Way::Write && (self.is_silent || flags & FI_INJECT != 0);
        let pieces = match is_copied {
            true => None,
            // SAFETY: as above.
            false => Some(unsafe { Pieces::of(self.pieces, self.descriptors, self.count) }?),
        };
        let length = pieces.as_ref().map_or(Ok(0), Pieces::length)?;
        let parts = cut(length, PART);
        let kind = match self.way {
            Way::Read => FI_RMA | FI_READ,
            Way::Write => FI_RMA | FI_WRITE,
        };
        let told = told(self.is_silent, flags, bound.is_selective);
        let operation = Operation::send(self.context, kind, told);
        open.work.post(&open.vi, Direction::Send, parts, |part, room| {
            let skip = part * PART;
            let address = self.address.checked_add(skip as u64).ok_or(Errno::INVALID)?;
            let place = Remote { address, handle };
            let descriptor = match self.way {
                Way::Read => Descriptor::rdma_read(place),
                Way::Write => Descriptor::rdma_write(place),
            };
            let descriptor = match &pieces {
                Some(pieces) => pieces.describe(descriptor, skip, (length - skip).min(PART))?,
                // SAFETY: as above.
                None => unsafe { copy(descriptor, self.pieces, self.count, room) }?,
            };
            let is_last = part + 1 == parts;
            let data = self.data.filter(|_| is_last);
            Ok((Operation { goes_on: !is_last, ..operation }, with_data(descriptor, data)))
        })
    }

    /// [`Access::post`], as a call answers it.
    ///
    /// # Safety
    /// As [`Access::post`].
    unsafe fn call(&self, endpoint: *mut ffi::fid_ep) -> isize {
        // SAFETY: the caller's promise.
        ffi::done(|| unsafe { self.post(endpoint) })
    }
}

/// In how many parts of `most` bytes an access of this length goes: in one at least.
fn cut(length: usize, most: usize) -> usize {
    length.div_ceil(most).max(1)
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn read(
    endpoint: *mut ffi::fid_ep,
    buffer: *mut c_void,
    length: usize,
    mut descriptor: *mut c_void,
    _: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let piece = piece(buffer, length);
    let access = Access::plain(Way::Read, (&piece, &mut descriptor, 1), (address, key), context);
    // SAFETY: the caller's promise.
    unsafe { access.call(endpoint) }
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn readv(
    endpoint: *mut ffi::fid_ep,
    pieces: *const ffi::iovec,
    descriptors: *mut *mut c_void,
    count: usize,
    _: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let access = Access::plain(Way::Read, (pieces, descriptors, count), (address, key), context);
    // SAFETY: the caller's promise.
    unsafe { access.call(endpoint) }
}

/// # Safety
/// As [`Access::post`], with a description.
unsafe extern "C" fn readmsg(
    endpoint: *mut ffi::fid_ep,
    message: *const ffi::fi_msg_rma,
    flags: u64,
) -> isize {
    // SAFETY: the caller's promise.
    ffi::done(|| unsafe { Access::of(Way::Read, message, flags)?.post(endpoint) })
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn write(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    mut descriptor: *mut c_void,
    _: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let piece = piece(buffer, length);
    let access = Access::plain(Way::Write, (&piece, &mut descriptor, 1), (address, key), context);
    // SAFETY: the caller's promise.
    unsafe { access.call(endpoint) }
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn writev(
    endpoint: *mut ffi::fid_ep,
    pieces: *const ffi::iovec,
    descriptors: *mut *mut c_void,
    count: usize,
    _: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let access = Access::plain(Way::Write, (pieces, descriptors, count), (address, key), context);
    // SAFETY: the caller's promise.
    unsafe { access.call(endpoint) }
}

/// # Safety
/// As [`Access::post`], with a description.
unsafe extern "C" fn writemsg(
    endpoint: *mut ffi::fid_ep,
    message: *const ffi::fi_msg_rma,
    flags: u64,
) -> isize {
    // SAFETY: the caller's promise.
    ffi::done(|| unsafe { Access::of(Way::Write, message, flags)?.post(endpoint) })
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn inject(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    _: u64,
    address: u64,
    key: u64,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { silent(endpoint, (buffer, length), (address, key), None) }
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn writedata(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    mut descriptor: *mut c_void,
    data: u64,
    _: u64,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let piece = piece(buffer, length);
    let plain = Access::plain(Way::Write, (&piece, &mut descriptor, 1), (address, key), context);
    // SAFETY: the caller's promise.
    unsafe { Access { data: Some(data), ..plain }.call(endpoint) }
}

/// # Safety
/// As [`Access::post`].
unsafe extern "C" fn injectdata(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    data: u64,
    _: u64,
    address: u64,
    key: u64,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { silent(endpoint, (buffer, length), (address, key), Some(data)) }
}

/// # Safety
/// As [`Access::post`].
unsafe fn silent(
    endpoint: *mut ffi::fid_ep,
    (buffer, length): (*const c_void, usize),
    place: (u64, u64),
    data: Option<u64>,
) -> isize {
    let piece = piece(buffer, length);
    let plain = Access::plain(Way::Write, (&piece, null_mut(), 1), place, null_mut());
    // SAFETY: the caller's promise.
    unsafe { Access { flags: Some(0), data, is_silent: true, ..plain }.call(endpoint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_cut_where_a_descriptor_ends_and_one_without_bytes_is_one() {
        assert_eq!([0, 1, 10, 11, 20, 21].map(|length| cut(length, 10)), [1, 1, 1, 2, 2, 3]);
    }
}
