//! Messages: sends and receives.

use std::{ffi::c_void, mem::size_of, ptr::null_mut};

use vipl::{Descriptor, Direction};

use crate::via::{
    endpoint::Handle,
    error::Errno,
    ffi::{self, FI_INJECT, FI_MORE, FI_MSG, FI_REMOTE_CQ_DATA, FI_SEND},
    object::Word,
    offer::{self, RX_FLAGS, TX_FLAGS},
    operation::{Operation, Told},
    pieces::{inject as copy, Pieces},
};

/// The functions of an endpoint for messages. Its peer is the only one: addresses are not looked at.
pub static OPS: ffi::fi_ops_msg = ffi::fi_ops_msg {
    size: size_of::<ffi::fi_ops_msg>(),
    recv: Some(recv),
    recvv: Some(recvv),
    recvmsg: Some(recvmsg),
    send: Some(send),
    sendv: Some(sendv),
    sendmsg: Some(sendmsg),
    inject: Some(inject),
    senddata: Some(senddata),
    injectdata: Some(injectdata),
};

/// What is to be sent or received.
struct Message {
    pieces: *const ffi::iovec,
    descriptors: *mut *mut c_void,
    count: usize,
    context: Word,
    /// Flags of the operation; None: those of the endpoint.
    flags: Option<u64>,
    data: Option<u64>,
    /// It was injected: nobody hears of it.
    is_silent: bool,
}

impl Message {
    fn plain(
        pieces: *const ffi::iovec,
        descriptors: *mut *mut c_void,
        count: usize,
        context: *mut c_void,
    ) -> Self {
        Self { pieces, descriptors, count, context: Word(context), flags: None, data: None, is_silent: false }
    }

    /// # Safety
    /// As libfabric calls what posts: an endpoint, and the pieces, which stay until the operation is complete; their descriptors.
    unsafe fn receive(&self, endpoint: *mut ffi::fid_ep) -> isize {
        ffi::done(|| {
            // SAFETY: the caller's promise.
            let endpoint = unsafe { Handle::at(endpoint) }?;
            let flags = known(self.flags.unwrap_or(endpoint.offer.flags[1]), RX_FLAGS | FI_MORE)?;
            let (open, bound) = endpoint.to_receive()?;
            // SAFETY: as above.
            let pieces = unsafe { Pieces::of(self.pieces, self.descriptors, self.count) }?;
            // SAFETY: as above: there is a list, or nothing is in it.
            let first = unsafe { ffi::slice(self.pieces, self.count) }?.first();
            let buffer = Word(first.map_or(null_mut(), |piece| piece.iov_base));
            let operation = Operation::receive(self.context, buffer, Told::of(flags, bound.is_selective));
            let length = pieces.length()?;
            open.work.post(&open.vi, Direction::Receive, 1, |_, _| {
                Ok((operation, pieces.describe(Descriptor::new(), 0, length)?))
            })
        })
    }

    /// # Safety
    /// As [`Message::receive`]; of what is injected the pieces need not stay, and have no descriptors.
    unsafe fn send(&self, endpoint: *mut ffi::fid_ep) -> isize {
        ffi::done(|| {
            // SAFETY: the caller's promise.
            let endpoint = unsafe { Handle::at(endpoint) }?;
            let flags = self.flags.unwrap_or(endpoint.offer.flags[0]);
            let flags = known(flags, TX_FLAGS | FI_MORE | FI_REMOTE_CQ_DATA)?;
            let (open, bound) = endpoint.to_send()?;
            let is_copied = self.is_silent || flags & FI_INJECT != 0;
            let pieces = match is_copied {
                true => None,
                // SAFETY: as above.
                false => Some(unsafe { Pieces::of(self.pieces, self.descriptors, self.count) }?),
            };
            let length = pieces.as_ref().map_or(Ok(0), Pieces::length)?;
            if length > offer::MESSAGE {
                return Err(Errno::MESSAGE_SIZE);
            }
            let told = told(self.is_silent, flags, bound.is_selective);
            let operation = Operation::send(self.context, FI_MSG | FI_SEND, told);
            open.work.post(&open.vi, Direction::Send, 1, |_, room| {
                let descriptor = Descriptor::new();
                let descriptor = match &pieces {
                    Some(pieces) => pieces.describe(descriptor, 0, length)?,
                    // SAFETY: as above.
                    None => unsafe { copy(descriptor, self.pieces, self.count, room) }?,
                };
                Ok((operation, with_data(descriptor, self.data)))
            })
        })
    }
}

/// Flags that are all known, without those that are for other providers.
///
/// # Errors
/// [`Errno::FLAGS`].
pub fn known(flags: u64, all: u64) -> Result<u64, Errno> {
    let flags = flags & !ffi::BETWEEN_PROVIDERS;
    match flags & !all == 0 {
        true => Ok(flags),
        false => Err(Errno::FLAGS),
    }
}

/// Whom the completion of what sends is told to.
pub fn told(is_silent: bool, flags: u64, is_selective: bool) -> Told {
    match is_silent {
        true => Told::Never,
        false => Told::of(flags, is_selective),
    }
}

/// A descriptor with remote CQ data, of which there are four bytes.
pub fn with_data(descriptor: vipl::DescriptorBuilder, data: Option<u64>) -> vipl::DescriptorBuilder {
    match data {
        Some(data) => descriptor.immediate(data as u32),
        None => descriptor,
    }
}

/// One piece of memory.
pub fn piece(buffer: *const c_void, length: usize) -> ffi::iovec {
    ffi::iovec { iov_base: buffer.cast_mut(), iov_len: length }
}

/// # Safety
/// As [`Message::receive`].
unsafe extern "C" fn recv(
    endpoint: *mut ffi::fid_ep,
    buffer: *mut c_void,
    length: usize,
    mut descriptor: *mut c_void,
    _: u64,
    context: *mut c_void,
) -> isize {
    let piece = piece(buffer, length);
    // SAFETY: the caller's promise.
    unsafe { Message::plain(&piece, &mut descriptor, 1, context).receive(endpoint) }
}

/// # Safety
/// As [`Message::receive`].
unsafe extern "C" fn recvv(
    endpoint: *mut ffi::fid_ep,
    pieces: *const ffi::iovec,
    descriptors: *mut *mut c_void,
    count: usize,
    _: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { Message::plain(pieces, descriptors, count, context).receive(endpoint) }
}

/// # Safety
/// As [`Message::receive`], with a message.
unsafe extern "C" fn recvmsg(endpoint: *mut ffi::fid_ep, message: *const ffi::fi_msg, flags: u64) -> isize {
    // SAFETY: the caller's promise.
    let Some(message) = (unsafe { message.as_ref() }) else { return Errno::INVALID.negative() as isize };
    let plain = Message::plain(message.msg_iov, message.desc, message.iov_count, message.context);
    // SAFETY: as above.
    unsafe { Message { flags: Some(flags), ..plain }.receive(endpoint) }
}

/// # Safety
/// As [`Message::send`].
unsafe extern "C" fn send(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    mut descriptor: *mut c_void,
    _: u64,
    context: *mut c_void,
) -> isize {
    let piece = piece(buffer, length);
    // SAFETY: the caller's promise.
    unsafe { Message::plain(&piece, &mut descriptor, 1, context).send(endpoint) }
}

/// # Safety
/// As [`Message::send`].
unsafe extern "C" fn sendv(
    endpoint: *mut ffi::fid_ep,
    pieces: *const ffi::iovec,
    descriptors: *mut *mut c_void,
    count: usize,
    _: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { Message::plain(pieces, descriptors, count, context).send(endpoint) }
}

/// # Safety
/// As [`Message::send`], with a message.
unsafe extern "C" fn sendmsg(endpoint: *mut ffi::fid_ep, message: *const ffi::fi_msg, flags: u64) -> isize {
    // SAFETY: the caller's promise.
    let Some(message) = (unsafe { message.as_ref() }) else { return Errno::INVALID.negative() as isize };
    let plain = Message::plain(message.msg_iov, message.desc, message.iov_count, message.context);
    let data = (flags & FI_REMOTE_CQ_DATA != 0).then_some(message.data);
    // SAFETY: as above.
    unsafe { Message { flags: Some(flags), data, ..plain }.send(endpoint) }
}

/// # Safety
/// As [`Message::send`].
unsafe extern "C" fn inject(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    _: u64,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { silent(endpoint, buffer, length, None) }
}

/// # Safety
/// As [`Message::send`].
unsafe extern "C" fn senddata(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    mut descriptor: *mut c_void,
    data: u64,
    _: u64,
    context: *mut c_void,
) -> isize {
    let piece = piece(buffer, length);
    let plain = Message::plain(&piece, &mut descriptor, 1, context);
    // SAFETY: the caller's promise.
    unsafe { Message { data: Some(data), ..plain }.send(endpoint) }
}

/// # Safety
/// As [`Message::send`].
unsafe extern "C" fn injectdata(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    data: u64,
    _: u64,
) -> isize {
    // SAFETY: the caller's promise.
    unsafe { silent(endpoint, buffer, length, Some(data)) }
}

/// # Safety
/// As [`Message::send`].
unsafe fn silent(
    endpoint: *mut ffi::fid_ep,
    buffer: *const c_void,
    length: usize,
    data: Option<u64>,
) -> isize {
    let piece = piece(buffer, length);
    let plain = Message::plain(&piece, null_mut(), 1, null_mut());
    // SAFETY: the caller's promise.
    unsafe { Message { flags: Some(0), data, is_silent: true, ..plain }.send(endpoint) }
}
