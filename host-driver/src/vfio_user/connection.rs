//! A connection to a server of the protocol: commands, and their replies.

use std::{
    io::{self, IoSlice, IoSliceMut, Read},
    mem::MaybeUninit,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{
        connect, recvmsg, sendmsg, socket_with, sockopt, AddressFamily, RecvAncillaryBuffer,
        RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        SocketAddrUnix, SocketFlags, SocketType,
    },
};

use super::message::{Header, Request, HEADER_BYTES, MAX_FILES};
use crate::{credentials::Credentials, fork::Birth};

/// The longest reply that the client takes. Nothing that it asks for comes near.
pub(super) const MAX_REPLY_BYTES: usize = 64 * 1024;

/// A connection to a server.
pub(super) struct Connection {
    pub(super) born: Birth,
    stream: UnixStream,
    next_id: u16,
    timeout: Duration,
    /// Why the server is gone, once it is.
    gone: Option<String>,
}

/// How a call failed.
pub(super) enum Failure {
    /// The server said no, with an errno or 0. The connection goes on.
    Refused(u32),
    /// This is a child of the process that opened it.
    Forked,
    /// The connection is of no use any more.
    Gone(String),
}

impl Connection {
    /// One on which nothing has been said yet. `timeout`: how long a reply may take; the stream's own time-outs are the same.
    pub(super) fn new(stream: UnixStream, timeout: Duration) -> Self {
        Self { born: Birth::now(), stream, next_id: 0, timeout, gone: None }
    }

    /// Who is at its other end.
    pub(super) fn peer(&self) -> io::Result<Credentials> {
        Credentials::of_peer(&self.stream)
    }

    /// Sends a request and returns its reply's body.
    pub(super) fn call(
        &mut self,
        request: &Request<'_>,
        files: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, Failure> {
        let sent = self.send(request, false, files)?;
        self.answer(sent, None)
    }

    /// [`Connection::call`], whose answer may have a file with it.
    pub(super) fn call_for_file(
        &mut self,
        request: &Request<'_>,
    ) -> Result<(Vec<u8>, Option<OwnedFd>), Failure> {
        let sent = self.send(request, false, &[])?;
        let mut file = None;
        Ok((self.answer(sent, Some(&mut file))?, file))
    }

    fn answer(&mut self, sent: Header, file: Option<&mut Option<OwnedFd>>) -> Result<Vec<u8>, Failure> {
        let answer = self.receive(sent, file).map_err(|reason| Failure::Gone(self.end(reason)))?;
        answer.map_err(Failure::Refused)
    }

    /// Sends a request that has no reply.
    pub(super) fn post(&mut self, request: &Request<'_>) -> Result<(), Failure> {
        self.send(request, true, &[]).map(drop)
    }

    fn send(
        &mut self,
        request: &Request<'_>,
        posted: bool,
        files: &[BorrowedFd<'_>],
    ) -> Result<Header, Failure> {
        self.born.check().map_err(|_| Failure::Forked)?;
        if let Some(reason) = &self.gone {
            return Err(Failure::Gone(reason.clone()));
        }
        let header = Header::command(self.next_id, request.command(), posted);
        self.next_id = header.id.wrapping_add(1);
        match send_all(&self.stream, &header.message(&request.body()), files) {
            Ok(()) => Ok(header),
            Err(error) => Err(Failure::Gone(self.end(describe(&error, "takes nothing")))),
        }
    }

    /// The outer error ends the connection; the inner one is the server's errno.
    fn receive(
        &mut self,
        sent: Header,
        file: Option<&mut Option<OwnedFd>>,
    ) -> Result<Result<Vec<u8>, u32>, String> {
        let mut header = [0; HEADER_BYTES];
        let deadline = Instant::now() + self.timeout;
        let read = |error: io::Error| describe(&error, "does not answer");
        // A file comes with the first byte.
        let first = match file {
            Some(file) => match read_with_file(&self.stream, &mut header, file).map_err(read)? {
                0 => return Err(read(io::ErrorKind::UnexpectedEof.into())),
                count => count,
            },
            None => 0,
        };
        read_by(&self.stream, &mut header[first..], deadline).map_err(read)?;
        let header = Header::decode(&header);
        let mut body = vec![0; check_reply(header, sent)?];
        read_by(&self.stream, &mut body, deadline).map_err(read)?;
        Ok(if header.is_failure() { Err(header.error) } else { Ok(body) })
    }

    /// Ends the connection; the first reason stays.
    pub(super) fn end(&mut self, reason: String) -> String {
        // The server may be alive and only confused: the end of the stream tells it to let go of
        // the memory that it was given.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        self.gone.get_or_insert(reason).clone()
    }
}

/// Bytes of the body behind the header of the reply to a command. Anything else is an error: there is never more than one command under way, and the
/// server has no reason to send commands of its own.
fn check_reply(reply: Header, sent: Header) -> Result<usize, String> {
    let Header { id, command, size, flags, .. } = reply;
    if !reply.is_reply() || (id, command) != (sent.id, sent.command) {
        return Err(format!(
            "it sent message {id} (command {command}, flags {flags:#x}) where the reply to command {} {} was due",
            sent.command, sent.id
        ));
    }
    match reply.body() {
        Some(bytes) if size as usize <= MAX_REPLY_BYTES => Ok(bytes),
        _ => Err(format!("it announced a reply of {size} bytes to command {command}")),
    }
}

/// Connects, in `timeout` at most; replies are waited for as long.
pub(super) fn connect_within(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(timeout))?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(timeout))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Sends `bytes`, file descriptors with the first of them. A server that is gone is an error, never
/// a SIGPIPE: the program may have its own idea of that signal.
fn send_all(stream: &UnixStream, mut bytes: &[u8], mut files: &[BorrowedFd<'_>]) -> io::Result<()> {
    while !bytes.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::Error::other("no room for the file descriptors"));
        }
        match sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => {
                bytes = &bytes[count..];
                files = &[];
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fills `bytes`. The socket's own time-out limits each read; the deadline limits a server that
/// sends a byte now and then.
fn read_by(mut stream: &UnixStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match stream.read(&mut bytes[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled < bytes.len() && Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

/// What an I/O error says about the server.
fn describe(error: &io::Error, slow: &str) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            "it closed the connection".into()
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!("it {slow}"),
        _ => error.to_string(),
    }
}

/// Reads some of `bytes`, and the first file that comes with them.
fn read_with_file(stream: &UnixStream, bytes: &mut [u8], file: &mut Option<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = loop {
        // A signal's handler may come first.
        match recvmsg(stream, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            read => break read?,
        }
    };
    for came in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = came {
            // More than one is nobody's.
            for one in files {
                file.get_or_insert(one);
            }
        }
    }
    Ok(read.bytes)
}

#[cfg(test)]
mod tests {
    use super::{super::message::Command, *};

    #[test]
    fn only_the_reply_to_the_command_is_taken() {
        let sent = Header::command(7, Command::RegionRead, false);
        let ask = |id, command, size, flags| check_reply(Header { id, command, size, flags, error: 0 }, sent);
        assert_eq!(ask(7, 9, 40, 1), Ok(24));
        assert_eq!(ask(7, 9, 16, 0x21), Ok(0));
        for (what, wrong) in [
            ("another id", ask(8, 9, 40, 1)),
            ("another command", ask(7, 10, 40, 1)),
            ("a command", ask(7, 9, 40, 0)),
            ("shorter than a header", ask(7, 9, 15, 1)),
            ("absurdly long", ask(7, 9, MAX_REPLY_BYTES as u32 + 1, 1)),
            ("longer than anything", ask(7, 9, u32::MAX, 1)),
        ] {
            assert!(wrong.is_err(), "{what}");
        }
    }
}
