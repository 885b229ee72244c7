//! Messages with descriptors on a `SOCK_SEQPACKET` socket: one packet each.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use super::protocol::LONGEST;

/// The most descriptors beside a message.
pub const MOST_FILES: usize = 4;

/// Sends a message. It does not wait: a peer that lets its replies pile up is [`io::ErrorKind::WouldBlock`].
pub fn send(socket: impl AsFd, message: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = rustix::io::retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(message)], &mut control, flags))?;
    if sent != message.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

/// Room for the longest message. Who receives many has it once: to clear it costs more than all else of a short message.
pub struct Buffer(Box<[u8]>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; LONGEST].into())
    }
}

/// Receives a message into the buffer, and its descriptors; empty at the end of the stream. It waits as long as the socket does.
///
/// # Errors
/// The system's; a message that is too long, or has too many descriptors.
pub fn receive(
    socket: impl AsFd,
    Buffer(bytes): &mut Buffer,
    flags: RecvFlags,
) -> io::Result<(&[u8], Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        match recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut control, flags) {
            Err(rustix::io::Errno::INTR) => {}
            result => break result?,
        }
    };
    // Whatever came is closed, if it is not taken here.
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::other("a message that is longer, or has more descriptors, than any has"));
    }
    Ok((&bytes[..received.bytes], files))
}
