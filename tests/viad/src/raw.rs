//! A client of the protocol alone, that says what it likes.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::net::{connect, socket_with, AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};
use viaduct_driver::viad::{
    protocol::{self, Answer, Reply, Request, Welcome},
    socket::{self, Buffer},
};

/// The client's end.
pub struct Raw {
    /// Its socket.
    pub socket: OwnedFd,
}

impl Raw {
    /// Connects, and says nothing.
    pub fn connect(path: impl AsRef<Path>) -> Self {
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("one");
        connect(&socket, &SocketAddrUnix::new(path.as_ref()).expect("a path")).expect("it serves");
        Self { socket }
    }

    /// Connects and says hello: what it is told, and the descriptors of the notice page, its own notice page, its arena and the eventfd.
    ///
    /// # Panics
    /// It is refused.
    pub fn hello(path: impl AsRef<Path>) -> (Self, Welcome, Vec<OwnedFd>) {
        let open =
            |write| std::fs::OpenOptions::new().read(true).write(write).open("/proc/self/mem").expect("ours");
        let memories = [open(true), open(false)];
        Self::hello_with(path, &memories.each_ref().map(AsFd::as_fd))
    }

    /// The same, but it hands over no memory of its own.
    ///
    /// # Panics
    /// It is refused.
    pub fn hello_without_memory(path: impl AsRef<Path>) -> Self {
        Self::hello_with(path, &[]).0
    }

    fn hello_with(path: impl AsRef<Path>, files: &[BorrowedFd<'_>]) -> (Self, Welcome, Vec<OwnedFd>) {
        let raw = Self::connect(path);
        let hello = Request::Hello { magic: protocol::MAGIC, version: protocol::VERSION };
        match raw.ask_with(&hello, files) {
            (Ok(Answer::Welcome(welcome)), files) => (raw, welcome, files),
            other => panic!("{other:?}"),
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// The session has ended.
    pub fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        socket::send(&self.socket, bytes, &[])
    }

    /// The next reply; None: the session has ended.
    pub fn receive(&self) -> Option<(Reply, Vec<OwnedFd>)> {
        let mut buffer = Buffer::default();
        let (bytes, files) = socket::receive(&self.socket, &mut buffer, RecvFlags::empty()).ok()?;
        (!bytes.is_empty()).then(|| (protocol::decode(bytes).expect("viad's"), files))
    }

    /// Asks, and has the answer.
    ///
    /// # Panics
    /// The session has ended.
    pub fn ask(&self, request: &Request) -> (Reply, Vec<OwnedFd>) {
        self.ask_with(request, &[])
    }

    /// Asks, with descriptors, and has the answer.
    ///
    /// # Panics
    /// The session has ended.
    pub fn ask_with(&self, request: &Request, files: &[BorrowedFd<'_>]) -> (Reply, Vec<OwnedFd>) {
        let bytes = protocol::encode(request).expect("short");
        socket::send(&self.socket, &bytes, files).expect("it listens");
        self.receive().unwrap_or_else(|| panic!("no answer to {request:?}"))
    }
}
