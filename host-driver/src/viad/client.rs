//! The library's side: the Kernel Agent that a `viad` is, at the other end of a socket.

use std::{
    hint::spin_loop,
    io,
    net::Ipv4Addr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    sync::{
        atomic::{AtomicBool, AtomicU32, Ordering},
        Arc, Mutex, OnceLock, PoisonError,
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    io::Errno,
    net::{
        connect, shutdown, socket_with, sockopt, AddressFamily, RecvFlags, Shutdown, SocketAddrUnix,
        SocketFlags, SocketType,
    },
};
use viaduct_spec::{doorbell::page, layout::Code, register::counter};

use super::{
    connections::Heard,
    doorbell_page::{DoorbellPage, Kind, TAKEN},
    notice::{self, Notice, EVENTS},
    protocol::{self, Answer, Reply, Request, Welcome},
    sleepers::Sleepers,
    socket,
};
use crate::{
    address::{ConnectionInfo, Mac},
    agent::{vis::ViAttributes, AgentError, Event, Limits, MemoryAttributes, NicKind, LONGEST_SLEEP},
    connection_agent::ConnectionAgent,
    credentials::Credentials,
    device::{DeviceError, DmaAccess, Polling},
    fork::Birth,
    kernel_agent::{CqName, KernelAgent, ViName},
    memory::{self, Mapping},
    queues::{
        cq::{Consumer, Cq},
        doorbells::{Doorbells, Page},
        entries::Entries,
        ring::Ring,
        vi::{Parts, Vi},
        ViState,
    },
    thread,
};

/// How long viad may take to answer. The end of one that died is seen at once; a simulated NIC on a loaded machine is
/// slow, and viad itself gives a silent one up after four seconds.
const ANSWER: Duration = Duration::from_secs(15);
/// What [`KernelAgent::pause`] sleeps.
const PAUSE: Duration = Duration::from_micros(20);
/// Looks at a doorbell that is not taken yet, before others may run.
const SPINS: u32 = 4000;
/// A hosts file that is longer is cut off, in bytes.
const LONGEST_HOSTS: usize = 1 << 20;
/// How often those who sleep are woken when viad has gone: each may be between its look and its sleep.
const LAST_WAKES: u32 = 40;
/// And how long after each other.
const BETWEEN_WAKES: Duration = Duration::from_millis(25);

/// A session with a `viad`. Dropping it gives everything back.
pub struct Client {
    born: Birth,
    bell: Arc<Bell>,
    socket: OwnedFd,
    /// One request at a time.
    turn: Mutex<()>,
    welcome: Welcome,
    arena: Arc<Mapping>,
    pub(super) news: Mutex<Heard>,
    /// What the session's page said of errors when they were last fetched: 0 at first, as there.
    events_seen: AtomicU32,
}

/// What doorbell pages and sleepers have in common.
struct Bell {
    place: String,
    notice: Notice,
    /// The session's own.
    own: Notice,
    wake: OwnedFd,
    /// Why viad is gone, once it is.
    reason: OnceLock<String>,
    gone: AtomicBool,
    sleepers: Sleepers,
}

impl Bell {
    fn check(&self) -> Result<(), DeviceError> {
        if !self.gone.load(Ordering::Relaxed) && !self.notice.has_ended() {
            return Ok(());
        }
        let reason = self.reason.get().map_or("viad ended", String::as_str);
        Err(DeviceError::Gone { place: self.place.clone(), reason: reason.into() })
    }

    /// viad is gone: nobody sleeps on.
    fn end(&self, reason: String) -> DeviceError {
        // The first reason counts.
        let _ = self.reason.set(reason);
        self.gone.store(true, Ordering::SeqCst);
        for notice in [&self.notice, &self.own] {
            (0..=u8::MAX).take_while(|&n| notice.generation(n).is_some()).for_each(|n| notice.wake(n));
        }
        let reason = self.reason.get().cloned().unwrap_or_default();
        DeviceError::Gone { place: self.place.clone(), reason }
    }
}

/// A doorbell page that viad looks at.
struct Polled {
    page: DoorbellPage,
    bell: Arc<Bell>,
}

impl Page for Polled {
    fn store(&self, offset: u64, word: u64) -> Result<(), DeviceError> {
        self.bell.check()?;
        if offset % 8 != 0 || offset >= TAKEN {
            return Err(DeviceError::Refused {
                request: "a doorbell".into(),
                reason: "it is outside its page".into(),
            });
        }
        self.page.word(offset).store(word, Ordering::Release);
        if self.bell.notice.must_wake() {
            // It only fails when it is full, and then it wakes.
            let _ = rustix::io::write(&self.bell.wake, &1u64.to_ne_bytes());
        }
        if self.page.kind() == Kind::Vi && offset == page::RECEIVE {
            self.wait_taken(word)?;
        }
        Ok(())
    }
}

impl Polled {
    /// A receive counts as posted when the call returns, whatever the program then tells its peer, in whatever way: so the
    /// device has its doorbell by then. A forwarder that is awake takes it within microseconds.
    fn wait_taken(&self, word: u64) -> Result<(), DeviceError> {
        let mut looks = 0u32;
        let mut since = None;
        while self.page.word(TAKEN + page::RECEIVE).load(Ordering::Acquire) != word {
            looks = looks.wrapping_add(1);
            if looks < SPINS {
                spin_loop();
            } else {
                // It has no processor, or the device takes nothing.
                if looks < 2 * SPINS {
                    std::thread::yield_now();
                } else {
                    std::thread::sleep(PAUSE);
                }
                self.bell.check()?;
                if since.get_or_insert_with(Instant::now).elapsed() > ANSWER {
                    // Whether it is posted nobody knows: that is the end of the session.
                    return Err(self.bell.end("its NIC takes no doorbells".into()));
                }
            }
        }
        Ok(())
    }
}

impl Client {
    /// Opens a session with the viad whose socket is at `path`.
    ///
    /// # Errors
    /// [`DeviceError::Gone`] when nobody answers there; [`AgentError::Remote`] with viad's reason when it does not want to.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Self>, AgentError> {
        Self::open_of(path, None)
    }

    /// The same, of a viad that may run as `user`, beside root and this process's user.
    ///
    /// # Errors
    /// As [`Client::open`].
    pub fn open_of(path: impl AsRef<Path>, user: Option<u32>) -> Result<Arc<Self>, AgentError> {
        let path = path.as_ref();
        let place = path.display().to_string();
        let gone = |reason: String| DeviceError::Gone { place: place.clone(), reason };
        let system = |request: &str| {
            let request = request.to_string();
            move |source: io::Error| DeviceError::System { request, source }
        };
        let memories = memory::own()?;
        let connected = (|| -> io::Result<OwnedFd> {
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            connect(&socket, &SocketAddrUnix::new(path)?)?;
            sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER))?;
            Ok(socket)
        })();
        let socket = connected.map_err(|error| gone(format!("connect: {error}")))?;
        let server = Credentials::of_peer(&socket).map_err(system("SO_PEERCRED"))?;
        server.check_server_of(user).map_err(gone)?;
        let hello = Request::Hello { magic: protocol::MAGIC, version: protocol::VERSION };
        let files = [memories[0].as_fd(), memories[1].as_fd()];
        let (reply, files) = exchange(&socket, &hello, &files).map_err(gone)?;
        let welcome = match reply? {
            Answer::Welcome(welcome) => welcome,
            other => return Err(gone(unexpected(&other)).into()),
        };
        let [notice, own, arena, wake] = four(files).map_err(gone)?;
        let map = |file: BorrowedFd<'_>, length, access| {
            Mapping::of(file, length, access).map_err(|error| gone(format!("its memory: {error}")))
        };
        let page = |file: OwnedFd| -> Result<Notice, DeviceError> {
            let page = map(file.as_fd(), notice::BYTES, DmaAccess::Read)?;
            Notice::of(page).ok_or_else(|| gone("its notice page is short".into()))
        };
        let (notice, own) = (page(notice)?, page(own)?);
        let arena = Arc::new(map(arena.as_fd(), welcome.arena as usize, DmaAccess::ReadWrite)?);
        let watched = socket.try_clone().map_err(system("a descriptor"))?;
        let bell = Arc::new(Bell {
            place: place.clone(),
            notice,
            own,
            wake,
            reason: OnceLock::new(),
            gone: AtomicBool::new(false),
            sleepers: Sleepers::default(),
        });
        let told = Arc::clone(&bell);
        thread::spawn("viad-watch", move || watch(&watched, &told)).map_err(system("a thread"))?;
        let born = Birth::now();
        let (turn, news, events_seen) = (Mutex::new(()), Mutex::default(), AtomicU32::new(0));
        Ok(Arc::new(Self { born, bell, socket, turn, welcome, arena, news, events_seen }))
    }

    pub(super) fn call(&self, request: &Request) -> Result<(Answer, Vec<OwnedFd>), AgentError> {
        self.born.check()?;
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.bell.check()?;
        let (reply, files) = exchange(&self.socket, request, &[]).map_err(|reason| {
            // Whatever comes later would be taken for another's answer.
            let _ = shutdown(&self.socket, Shutdown::Both);
            self.bell.end(reason)
        })?;
        Ok((reply?, files))
    }

    /// viad answers what was not asked.
    pub(super) fn wrong(&self, answer: &Answer) -> AgentError {
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.bell.end(unexpected(answer)).into()
    }

    /// How often viad has said so in the session's own page.
    pub(super) fn told(&self, what: u8) -> u32 {
        self.bell.own.generation(what).unwrap_or_default()
    }

    /// Sleeps until viad says so again, at most for `timeout`; not when it is gone. It may wake early.
    pub(super) fn sleep_untold(&self, what: u8, seen: u32, timeout: Duration) {
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

    fn page(&self, kind: Kind, file: Option<OwnedFd>) -> Result<Doorbells, AgentError> {
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
            // viad gives everything back, and the watch ends.
            let _ = shutdown(&self.socket, Shutdown::Both);
        }
    }
}

/// One question and its answer.
fn exchange(
    socket: &OwnedFd,
    request: &Request,
    files: &[BorrowedFd<'_>],
) -> Result<(Reply, Vec<OwnedFd>), String> {
    let bytes = protocol::encode(request).map_err(|error| format!("a request: {error}"))?;
    let sent = socket::send(socket, &bytes, files);
    // viad may have said why it does not want us, before it closed the socket: that is behind the error that there is then, once.
    let received = match socket::receive(socket, RecvFlags::empty()) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
            socket::receive(socket, RecvFlags::empty())
        }
        received => received,
    };
    let (bytes, files) = match (sent, received) {
        (_, Ok(received)) if !received.0.is_empty() => received,
        (Err(error), _) => return Err(format!("it takes no request: {error}")),
        (Ok(()), received) => received.map_err(|error| format!("it does not answer: {error}"))?,
    };
    if bytes.is_empty() {
        return Err("viad ended, or closed the session (its log says why)".into());
    }
    let reply = protocol::decode(&bytes).map_err(|error| format!("its answer: {error}"))?;
    Ok((reply, files))
}

fn unexpected(answer: &Answer) -> String {
    format!("it answered what was not asked: {answer:?}")
}

fn four(files: Vec<OwnedFd>) -> Result<[OwnedFd; 4], String> {
    files.try_into().map_err(|files: Vec<_>| format!("it sent {} descriptors, not four", files.len()))
}

/// Ends with the session. When viad is gone, those who sleep are woken.
fn watch(socket: &OwnedFd, bell: &Bell) {
    let mut files = [PollFd::new(socket, PollFlags::RDHUP)];
    while let Err(Errno::INTR) = poll(&mut files, None) {}
    for _ in 0..LAST_WAKES {
        bell.end("viad ended, or closed the session (its log says why)".into());
        std::thread::sleep(BETWEEN_WAKES);
    }
}

impl KernelAgent for Client {
    fn kind(&self) -> NicKind {
        self.welcome.kind
    }

    fn limits(&self) -> Limits {
        self.welcome.limits
    }

    fn mac(&self) -> Mac {
        self.welcome.mac
    }

    fn ip(&self) -> Ipv4Addr {
        self.welcome.ip
    }

    fn dma_bytes(&self) -> u64 {
        self.welcome.bytes
    }

    fn check(&self) -> Result<(), AgentError> {
        self.done(&Request::Check)
    }

    fn check_here(&self) -> Result<(), AgentError> {
        Client::check_here(self)
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }

    fn polling(&self) -> Polling {
        self.welcome.polling
    }

    fn vectors(&self) -> u8 {
        self.welcome.vectors
    }

    fn generation(&self, vector: u8) -> Option<u64> {
        let Bell { notice, sleepers, .. } = &*self.bell;
        (vector < self.welcome.vectors).then(|| sleepers.generation(notice, vector)).flatten()
    }

    fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool {
        let start = Instant::now();
        loop {
            if self.generation(vector) != Some(seen) {
                return true;
            }
            let left = timeout.saturating_sub(start.elapsed());
            // Who asks next whether the NIC still answers hears that viad is gone.
            if left.is_zero() || self.bell.check().is_err() {
                return false;
            }
            self.bell.sleepers.sleep(&self.bell.notice, vector, seen, left);
        }
    }

    fn wake(&self, vector: u8) {
        self.bell.sleepers.wake(&self.bell.notice, vector);
    }

    fn hold_off(&self, _vector: u8, _holdoff: Duration) -> Result<(), AgentError> {
        Err(DeviceError::Refused {
            request: "interrupt moderation".into(),
            reason: "the vectors of a viad's NIC are common to its clients: its configuration sets it".into(),
        }
        .into())
    }

    fn create_tag(&self) -> Result<u16, AgentError> {
        match self.call(&Request::CreateTag)?.0 {
            Answer::Tag(tag) => Ok(tag),
            other => Err(self.wrong(&other)),
        }
    }

    fn destroy_tag(&self, tag: u16) -> Result<(), AgentError> {
        self.done(&Request::DestroyTag(tag))
    }

    unsafe fn register(
        &self,
        address: usize,
        length: usize,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        let request = Request::Register { address: address as u64, length: length as u64, attributes };
        match self.call(&request)?.0 {
            Answer::Handle(handle) => Ok(handle),
            other => Err(self.wrong(&other)),
        }
    }

    fn deregister(&self, handle: u32) -> Result<(), AgentError> {
        self.done(&Request::Deregister(handle))
    }

    fn set_memory_attributes(&self, handle: u32, attributes: MemoryAttributes) -> Result<(), AgentError> {
        self.done(&Request::SetMemoryAttributes(handle, attributes))
    }

    fn memory_attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        match self.call(&Request::MemoryAttributes(handle))?.0 {
            Answer::Attributes(attributes) => Ok(attributes),
            other => Err(self.wrong(&other)),
        }
    }

    fn create_vi(self: Arc<Self>, attributes: ViAttributes) -> Result<Vi, AgentError> {
        let (answer, files) = self.call(&Request::CreateVi(attributes))?;
        let Answer::Vi { name, info, rings, vectors } = answer else { return Err(self.wrong(&answer)) };
        let ring = |offset: u32, log2| {
            Ring::new(&self.arena, offset as usize, log2)
                .ok_or_else(|| self.broken("a ring outside the arena"))
        };
        let parts = Parts {
            send: ring(rings[0], attributes.send_log2)?,
            receive: ring(rings[1], attributes.receive_log2)?,
            vectors,
            doorbells: self.page(Kind::Vi, files.into_iter().next())?,
        };
        Ok(Vi::new(self, name, info, parts))
    }

    fn set_vi_attributes(
        &self,
        vi: ViName,
        attributes: ViAttributes,
        anew: bool,
    ) -> Result<ConnectionInfo, AgentError> {
        match self.call(&Request::SetViAttributes(vi, attributes, anew))?.0 {
            Answer::Info(info) => Ok(info),
            other => Err(self.wrong(&other)),
        }
    }

    fn connect_vi(&self, vi: ViName, peer: &ConnectionInfo) -> Result<(), AgentError> {
        self.done(&Request::ConnectVi(vi, *peer))
    }

    fn break_vi(&self, vi: ViName) -> Result<(), AgentError> {
        self.done(&Request::BreakVi(vi))
    }

    fn idle_vi(&self, vi: ViName) -> Result<ConnectionInfo, AgentError> {
        match self.call(&Request::IdleVi(vi))?.0 {
            Answer::Info(info) => Ok(info),
            other => Err(self.wrong(&other)),
        }
    }

    fn vi_state(&self, vi: ViName) -> Result<ViState, AgentError> {
        match self.call(&Request::ViState(vi))?.0 {
            Answer::State(state) => Ok(state),
            other => Err(self.wrong(&other)),
        }
    }

    fn destroy_vi(&self, vi: ViName) -> Result<(), AgentError> {
        self.done(&Request::DestroyVi(vi))
    }

    fn create_cq(self: Arc<Self>, entries: usize) -> Result<Cq, AgentError> {
        let count = u32::try_from(entries).map_err(|_| AgentError::Entries(entries))?;
        let (answer, files) = self.call(&Request::CreateCq(count))?;
        let Answer::Cq { name, vector } = answer else { return Err(self.wrong(&answer)) };
        let mut files = files.into_iter();
        let ring = self.entries(files.next(), entries)?;
        let consumer = Consumer::new(self.page(Kind::Cq, files.next())?, ring);
        Ok(Cq::new(self, name, vector, consumer))
    }

    fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(Entries, u32), AgentError> {
        let count = u32::try_from(entries).map_err(|_| AgentError::Entries(entries))?;
        let (answer, files) = self.call(&Request::ResizeCq(cq, count))?;
        let Answer::Resized { written } = answer else { return Err(self.wrong(&answer)) };
        Ok((self.entries(files.into_iter().next(), entries)?, written))
    }

    fn destroy_cq(&self, cq: CqName) -> Result<(), AgentError> {
        self.done(&Request::DestroyCq(cq))
    }

    fn take_events(&self) -> Result<Vec<Event>, AgentError> {
        match self.call(&Request::TakeEvents)?.0 {
            Answer::Events(events) => Ok(events),
            other => Err(self.wrong(&other)),
        }
    }

    fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, AgentError> {
        let start = Instant::now();
        loop {
            // viad raises it when it has the events. What it was raised for before the last fetch has been fetched.
            let seen = self.told(EVENTS);
            let events = match seen == self.events_seen.load(Ordering::Relaxed) {
                true => {
                    self.check_here()?;
                    Vec::new()
                }
                false => {
                    let events = self.take_events()?;
                    self.events_seen.store(seen, Ordering::Relaxed);
                    events
                }
            };
            let left = timeout.saturating_sub(start.elapsed());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            self.sleep_untold(EVENTS, seen, left.min(LONGEST_SLEEP));
        }
    }

    fn connections(self: Arc<Self>) -> Result<Arc<dyn ConnectionAgent>, AgentError> {
        Ok(self)
    }

    fn hosts(&self) -> Result<Option<String>, AgentError> {
        let mut text = Vec::new();
        loop {
            match self.call(&Request::Hosts(text.len() as u32))?.0 {
                Answer::Hosts(None) => return Ok(None),
                Answer::Hosts(Some(piece)) if piece.is_empty() || text.len() > LONGEST_HOSTS => {
                    return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
                }
                Answer::Hosts(Some(piece)) => text.extend(piece),
                other => return Err(self.wrong(&other)),
            }
        }
    }

    fn time(&self) -> Result<u32, AgentError> {
        match self.call(&Request::Time)?.0 {
            Answer::Time(time) => Ok(time),
            other => Err(self.wrong(&other)),
        }
    }

    fn counters(&self) -> Result<Vec<(&'static Code, u64)>, AgentError> {
        static CODES: &[Code] = counter::CODES.codes;
        match self.call(&Request::Counters)?.0 {
            Answer::Counters(values) => Ok(CODES.iter().zip(values).collect()),
            other => Err(self.wrong(&other)),
        }
    }
}
