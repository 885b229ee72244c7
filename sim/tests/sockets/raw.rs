//! What a client of bare bytes says, and what it is answered.

use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

use crate::support::client::Message;

pub(super) const EINVAL: u32 = 22;

/// A message's bytes.
pub(super) fn message(id: u16, command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
    Message { id, command, flags, error: 0, body: body.to_vec() }.bytes()
}

/// The error number of a reply, 0 for success, and its body.
pub(super) fn reply(stream: &mut UnixStream) -> Option<(u32, Vec<u8>)> {
    let reply = Message::receive(stream)?;
    assert_eq!(reply.flags & 0xF, 1, "a reply");
    assert_eq!(reply.flags & 0x20 != 0, reply.error != 0);
    Some((reply.error, reply.body))
}

/// Sends a command; the reply.
pub(super) fn ask(stream: &mut UnixStream, command: u16, body: &[u8]) -> Option<(u32, Vec<u8>)> {
    stream.write_all(&message(9, command, 0, body)).ok()?;
    reply(stream)
}

/// The same with files.
pub(super) fn ask_with_fds(
    stream: &mut UnixStream,
    command: u16,
    body: &[u8],
    fds: &[BorrowedFd],
) -> (u32, Vec<u8>) {
    let bytes = message(9, command, 0, body);
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(32))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(fds)));
    let sent = sendmsg(&*stream, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty()).unwrap();
    assert_eq!(sent, bytes.len());
    reply(stream).unwrap()
}

/// Agrees on the version.
pub(super) fn open(stream: &mut UnixStream) {
    let (error, body) = ask(stream, 1, b"\0\0\x01\0{\"capabilities\":{}}\0").unwrap();
    assert_eq!((error, &body[..4]), (0, &[0, 0, 1, 0][..]));
}
