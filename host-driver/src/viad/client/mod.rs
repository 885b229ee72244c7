//! The library's side: the Kernel Agent that a `viad` is, at the other end of a socket.

mod agent;
mod bell;
mod connections;
mod doorbell;
mod exchange;
mod heap;
mod leased;
mod pools;
mod reports;
mod waiting;
mod watch;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    sync::{atomic::AtomicU32, Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use rustix::net::{
    connect, shutdown, socket_with, sockopt, AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
};

use self::{
    bell::{watch, Bell},
    connections::Heard,
    doorbell::Polled,
    exchange::{exchange, of_number, unexpected},
    heap::Heap,
    leased::Leased,
    pools::Pools,
    waiting::Waiting,
};
use super::{
    doorbell_page::{DoorbellPage, Kind},
    notice::{self, Notice},
    place::{Place, Way},
    protocol::{self, Answer, Request, Welcome},
    sleepers::{Sleepers, Words},
    socket::Buffer,
};
use crate::{
    credentials::Credentials,
    device::{DeviceError, DmaAccess},
    fork::Birth,
    kernel_agent::AgentError,
    memory::{self, Mapping},
    queues::{doorbells::Doorbells, entries::Entries},
    thread,
};

/// How long viad may take to answer. The end of one that died is seen at once; a simulated NIC on a loaded machine is
/// slow, and viad itself gives a silent one up after four seconds.
const ANSWER: Duration = Duration::from_secs(15);
/// What [`crate::kernel_agent::KernelAgent::pause`] sleeps.
const PAUSE: Duration = Duration::from_micros(20);

/// A session with a `viad`. Dropping it gives everything back.
pub struct Client {
    born: Birth,
    bell: Arc<Bell>,
    socket: OwnedFd,
    /// One request at a time, and where its answer comes to.
    turn: Mutex<Buffer>,
    welcome: Welcome,
    arena: Arc<Mapping>,
    /// Memory that viad has a view of.
    pools: Pools,
    /// Arenas of a preloaded allocator, of which viad has a view, too.
    heap: Heap,
    /// The function itself, where viad trusts this process.
    leased: Option<Arc<Leased>>,
    connection_events: Mutex<Heard>,
    /// What the session's page said of errors when they were last fetched: 0 at first, as there.
    events_seen: AtomicU32,
    /// viad says what it raises: the session has descriptors to wait on.
    watched: Mutex<bool>,
}

impl Client {
    /// Opens a session with the viad whose socket is at `path`: [`Place::at`].
    ///
    /// # Errors
    /// As [`Client::open_at`].
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Self>, AgentError> {
        Self::open_at(&Place::at(path.as_ref()))
    }

    /// Opens a session with the viad at a place.
    ///
    /// # Errors
    /// [`DeviceError::Gone`] when nobody answers there; [`AgentError::Remote`] with viad's reason when it does not want to.
    #[tracing::instrument(level = "debug", skip_all, fields(place = ?at), err(level = "debug"))]
    pub fn open_at(at: &Place) -> Result<Arc<Self>, AgentError> {
        let place = at.socket.display().to_string();
        let gone = |reason: String| DeviceError::Gone { place: place.clone(), reason };
        let system = |request: &str| {
            let request = request.to_string();
            move |source: io::Error| DeviceError::System { request, source }
        };
        // What is not needed is not handed over.
        let memories = match at.way {
            Way::Private => Vec::from(memory::own()?),
            Way::Pools | Way::Trusted => Vec::new(),
        };
        let connected = (|| -> io::Result<OwnedFd> {
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            connect(&socket, &SocketAddrUnix::new(at.socket.as_path())?)?;
            sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER))?;
            Ok(socket)
        })();
        let socket = connected.map_err(|error| gone(format!("connect: {error}")))?;
        let server = Credentials::of_peer(&socket).map_err(system("SO_PEERCRED"))?;
        server.check_server_of(at.user).map_err(gone)?;
        let hello = Request::Hello { magic: protocol::MAGIC, version: protocol::VERSION };
        let mut buffer = Buffer::default();
        let files: Vec<BorrowedFd<'_>> = memories.iter().map(AsFd::as_fd).collect();
        let (reply, files) = exchange(&socket, &mut buffer, &hello, &files).map_err(gone)?;
        let welcome = match reply? {
            Answer::Welcome(welcome) => welcome,
            other => return Err(gone(unexpected(&other)).into()),
        };
        let [notice, own, arena, wake] = of_number(files).map_err(gone)?;
        let map = |file: BorrowedFd<'_>, length, access| {
            Mapping::of(file, length, access).map_err(|error| gone(format!("its memory: {error}")))
        };
        let page = |file: OwnedFd| -> Result<Notice, DeviceError> {
            let page = map(file.as_fd(), notice::BYTES, DmaAccess::Read)?;
            Notice::of(page).ok_or_else(|| gone("its notice page is short".into()))
        };
        let (notice, own) = (page(notice)?, page(own)?);
        let arena = Arc::new(map(arena.as_fd(), welcome.arena as usize, DmaAccess::ReadWrite)?);
        let leased = match at.way {
            Way::Trusted => Some(Arc::new(Leased::ask(&socket, &mut buffer, server.pid, &gone)?)),
            Way::Private | Way::Pools => None,
        };
        let watched = socket.try_clone().map_err(system("a descriptor"))?;
        let bell = Arc::new(Bell {
            place: place.clone(),
            notice,
            own,
            wake,
            reason: OnceLock::new(),
            gone: AtomicU32::new(0),
            sleepers: Sleepers::default(),
            waiting: Waiting::default(),
        });
        let (told, held) = (Arc::clone(&bell), leased.clone());
        let body = move || watch(&watched, &told, held.as_deref());
        thread::spawn("viad-watch", body).map_err(system("a thread"))?;
        tracing::debug!(kind = ?welcome.kind, mac = %welcome.mac, ip = %welcome.ip, "a session with viad");
        let born = Birth::now();
        let (turn, connection_events, events_seen) =
            (Mutex::new(buffer), Mutex::default(), AtomicU32::new(0));
        let (watched, pools, heap) = (Mutex::new(false), Pools::default(), Heap::default());
        Ok(Arc::new(Self {
            born,
            bell,
            socket,
            turn,
            welcome,
            arena,
            pools,
            heap,
            leased,
            connection_events,
            events_seen,
            watched,
        }))
    }

    pub(super) fn call(&self, request: &Request) -> Result<(Answer, Vec<OwnedFd>), AgentError> {
        self.call_with(request, &[])
    }

    fn call_with(
        &self,
        request: &Request,
        files: &[BorrowedFd<'_>],
    ) -> Result<(Answer, Vec<OwnedFd>), AgentError> {
        self.born.check()?;
        let mut buffer = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.bell.check()?;
        tracing::debug!(?request, "asks viad");
        let (reply, files) = exchange(&self.socket, &mut buffer, request, files).map_err(|reason| {
            // Whatever comes later would be taken for another's answer.
            let _ = shutdown(&self.socket, Shutdown::Both);
            self.bell.end(reason)
        })?;
        let answer =
            reply.inspect_err(|refusal| tracing::debug!(?request, reason = refusal.text, "viad refuses"))?;
        Ok((answer, files))
    }

    /// viad answers what was not asked.
    pub(super) fn wrong(&self, answer: &Answer) -> AgentError {
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.bell.end(unexpected(answer)).into()
    }

    /// How often viad has said so in the session's own page.
    pub(super) fn notices(&self, what: u8) -> u32 {
        self.bell.own.generation(what).unwrap_or_default()
    }

    /// Sleeps until viad says so again, at most for `timeout`; not when it is gone. It may wake early.
    pub(super) fn sleep_until_notice(&self, what: u8, seen: u32, timeout: Duration) {
        if self.bell.check().is_ok() {
            self.bell.own.sleep(what, seen, timeout);
        }
    }

    /// Whether viad is there, as far as one knows without asking.
    pub(super) fn check_here(&self) -> Result<(), AgentError> {
        self.born.check()?;
        Ok(self.bell.check()?)
    }

    fn broken(&self, reason: impl ToString) -> AgentError {
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.bell.end(reason.to_string()).into()
    }

    pub(super) fn done(&self, request: &Request) -> Result<(), AgentError> {
        match self.call(request)?.0 {
            Answer::Done => Ok(()),
            other => Err(self.wrong(&other)),
        }
    }

    /// The handle that viad gives for memory.
    fn handle(&self, request: &Request) -> Result<u32, AgentError> {
        match self.call(request)?.0 {
            Answer::Handle(handle) => Ok(handle),
            other => Err(self.wrong(&other)),
        }
    }

    /// The doorbells of the VI or completion queue with an index: the function's own, or a page that viad looks at.
    fn page(&self, kind: Kind, index: u16, file: Option<OwnedFd>) -> Result<Doorbells, AgentError> {
        if let Some(leased) = &self.leased {
            return Ok(leased.doorbells(kind, index));
        }
        let file = file.ok_or_else(|| self.broken("a doorbell page is missing"))?;
        let page = DoorbellPage::of(kind, file.as_fd()).map_err(|e| self.broken(e))?;
        Ok(Doorbells::of_page(Polled { page, bell: Arc::clone(&self.bell) }))
    }

    fn entries(&self, file: Option<OwnedFd>, entries: usize) -> Result<Entries, AgentError> {
        let file = file.ok_or_else(|| self.broken("a ring is missing"))?;
        let bytes = Entries::bytes(entries).ok_or(AgentError::Entries(entries))?;
        let memory = Mapping::of(file.as_fd(), bytes, DmaAccess::ReadWrite).map_err(|e| self.broken(e))?;
        Entries::over(Arc::new(memory), entries).ok_or(AgentError::Entries(entries))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.born.is_here() {
            self.end_lease();
            // viad gives everything back, and the watch ends.
            let _ = shutdown(&self.socket, Shutdown::Both);
        }
    }
}
