//! A client of the protocol alone, that says what it likes.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::net::{connect, socket_with, AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};
use viaduct_driver::viad::{
    place::{Place, Way},
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

    /// Connects and says hello, with its memory: what it is told, and the descriptors of the notice page, its own notice page, its arena and the
    /// eventfd.
    ///
    /// # Panics
    /// It is refused.
    pub fn hello(path: impl AsRef<Path>) -> (Self, Welcome, Vec<OwnedFd>) {
        Self::hello_at(&Place::at(path.as_ref()))
    }

    /// As [`Raw::hello`], in the way that a place says.
    ///
    /// # Panics
    /// It is refused.
    pub fn hello_at(place: &Place) -> (Self, Welcome, Vec<OwnedFd>) {
        match Self::greet(place) {
            (raw, Some((Ok(Answer::Welcome(welcome)), files))) => (raw, welcome, files),
            (_, other) => panic!("{other:?}"),
        }
    }

    /// As [`Raw::hello_at`]; what comes back is whatever viad answers, if it does.
    pub fn greet(place: &Place) -> (Self, Option<(Reply, Vec<OwnedFd>)>) {
        let raw = Self::connect(&place.socket);
        let open =
            |write| std::fs::OpenOptions::new().read(true).write(write).open("/proc/self/mem").expect("ours");
        let memories = match place.way {
            Way::Private => vec![open(true), open(false)],
            Way::Pools | Way::Trusted => Vec::new(),
        };
        let memories: Vec<_> = memories.iter().map(AsFd::as_fd).collect();
        let hello = protocol::encode(&Request::Hello { magic: protocol::MAGIC, version: protocol::VERSION });
        // Who is refused is told so before it has said anything: then the socket takes no more, and has that to read behind its error.
        let _ = socket::send(&raw.socket, &hello.expect("short"), &memories);
        let answer = raw.receive().or_else(|| raw.receive());
        (raw, answer)
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
