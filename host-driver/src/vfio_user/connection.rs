//! A connection to a server of the protocol: commands, and their replies.

use std::{
    io::{self, IoSlice, Read},
    mem::MaybeUninit,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::{Duration, Instant},
};

use rustix::net::{
    connect, sendmsg, socket_with, sockopt, AddressFamily, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use super::{
    mapped,
    message::{self, Command},
};
use crate::{credentials::Credentials, fork::Birth};

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

    /// Sends a command and returns its reply's body.
    pub(super) fn call(
        &mut self,
        command: Command,
        body: &[&[u8]],
        files: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, Failure> {
        let id = self.send(command, false, body, files)?;
        self.answer(id, command, None)
    }

    /// [`Connection::call`], whose answer may have a file with it.
    pub(super) fn call_for_file(
        &mut self,
        command: Command,
        body: &[&[u8]],
    ) -> Result<(Vec<u8>, Option<OwnedFd>), Failure> {
        let id = self.send(command, false, body, &[])?;
        let mut file = None;
        Ok((self.answer(id, command, Some(&mut file))?, file))
    }

    fn answer(
        &mut self,
        id: u16,
        command: Command,
        file: Option<&mut Option<OwnedFd>>,
    ) -> Result<Vec<u8>, Failure> {
        let answer = self.receive(id, command, file).map_err(|reason| Failure::Gone(self.end(reason)))?;
        answer.map_err(Failure::Refused)
    }

    /// Sends a command that has no reply.
    pub(super) fn post(&mut self, command: Command, body: &[&[u8]]) -> Result<(), Failure> {
        self.send(command, true, body, &[]).map(drop)
    }

    fn send(
        &mut self,
        command: Command,
        posted: bool,
        body: &[&[u8]],
        files: &[BorrowedFd<'_>],
    ) -> Result<u16, Failure> {
        self.born.check().map_err(|_| Failure::Forked)?;
        if let Some(reason) = &self.gone {
            return Err(Failure::Gone(reason.clone()));
        }
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let message = message::command(id, command, posted, body);
        let sent = send_all(&self.stream, &message, files);
        match sent {
            Ok(()) => Ok(id),
            Err(error) => Err(Failure::Gone(self.end(describe(&error, "takes nothing")))),
        }
    }

    /// The outer error ends the connection; the inner one is the server's errno.
    fn receive(
        &mut self,
        id: u16,
        command: Command,
        file: Option<&mut Option<OwnedFd>>,
    ) -> Result<Result<Vec<u8>, u32>, String> {
        let mut header = [0; message::HEADER_BYTES];
        let deadline = Instant::now() + self.timeout;
        let read = |error: io::Error| describe(&error, "does not answer");
        // A file comes with the first byte.
        let first = match file {
            Some(file) => match mapped::read_with_file(&self.stream, &mut header, file).map_err(read)? {
                0 => return Err(read(io::ErrorKind::UnexpectedEof.into())),
                count => count,
            },
            None => 0,
        };
        read_by(&self.stream, &mut header[first..], deadline).map_err(read)?;
        let reply = message::reply(&header, id, command)?;
        let mut body = vec![0; reply.body];
        read_by(&self.stream, &mut body, deadline).map_err(read)?;
        Ok(match reply.failed {
            Some(errno) => Err(errno),
            None => Ok(body),
        })
    }

    /// Ends the connection; the first reason stays.
    pub(super) fn end(&mut self, reason: String) -> String {
        // The server may be alive and only confused: the end of the stream tells it to let go of
        // the memory that it was given.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        self.gone.get_or_insert(reason).clone()
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
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(message::MAX_FILES))];
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
