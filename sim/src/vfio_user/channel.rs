//! Messages over a Unix stream socket, with the file descriptors that come beside them.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags};
use viaduct_driver::vfio_user::message::{Header, HEADER_BYTES, MAX_FILES};

use super::nonsense::Nonsense;

/// A message as it came: not yet decoded.
#[derive(Debug)]
pub struct Message {
    /// Its header.
    pub header: Header,
    /// The bytes behind the header.
    pub body: Vec<u8>,
    /// The descriptors beside it.
    pub fds: Vec<OwnedFd>,
    /// More descriptors came than a message may have; the system dropped some.
    pub fds_lost: bool,
}

/// Why there is no next message.
#[derive(Debug)]
pub enum End {
    /// The peer closed, between two messages or in the middle of one.
    Closed,
    /// The size cannot be: where the next message starts is not known.
    Size(Header),
    /// A reply that answers nothing that was asked.
    Nonsense(Nonsense),
    /// The system refused.
    System(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::System(error),
        }
    }
}

/// Waits for the next message.
pub fn receive(stream: &UnixStream) -> Result<Message, End> {
    let mut incoming = Incoming { fds: Vec::new(), fds_lost: false };
    let mut bytes = [0; HEADER_BYTES];
    incoming.fill(stream, &mut bytes)?;
    let header = Header::decode(&bytes);
    let length = header.body().ok_or(End::Size(header))?;
    let mut body = vec![0; length];
    incoming.fill(stream, &mut body)?;
    Ok(Message { header, body, fds: incoming.fds, fds_lost: incoming.fds_lost })
}

/// Sends a whole message. Its header goes out in one piece: QEMU does not take it in two.
pub fn send(stream: &UnixStream, mut message: &[u8]) -> Result<(), End> {
    while !message.is_empty() {
        // No signal when the peer has gone: an error is enough.
        match rustix::net::send(stream, message, SendFlags::NOSIGNAL) {
            Ok(0) => return Err(End::Closed),
            Ok(count) => message = &message[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Ok(())
}

/// Sends as much of a message as the socket takes now: how many bytes.
pub fn send_now(stream: &UnixStream, message: &[u8]) -> Result<usize, End> {
    let mut sent = 0;
    while sent < message.len() {
        match rustix::net::send(stream, &message[sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(0) => return Err(End::Closed),
            Ok(count) => sent += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => break,
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Ok(sent)
}

/// What has come of a message so far.
struct Incoming {
    fds: Vec<OwnedFd>,
    fds_lost: bool,
}

impl Incoming {
    /// Fills `buffer` from the stream and keeps the descriptors on the way.
    fn fill(&mut self, stream: &UnixStream, mut buffer: &mut [u8]) -> Result<(), End> {
        while !buffer.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let received =
                recvmsg(stream, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
            let received = match received {
                Ok(received) => received,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            self.fds_lost |= received.flags.contains(ReturnFlags::CTRUNC);
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(rights) = message {
                    self.fds.extend(rights);
                }
            }
            if self.fds.len() > MAX_FILES {
                self.fds.truncate(MAX_FILES);
                self.fds_lost = true;
            }
            if received.bytes == 0 {
                return Err(End::Closed);
            }
            buffer = &mut buffer[received.bytes..];
        }
        Ok(())
    }
}
