//! One client: what it asks, one request after the other, in a thread of its own.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    io::Errno,
    net::RecvFlags,
    time::Timespec,
};
use viaduct_driver::{
    agent::vis::NewVi,
    kernel_agent::{connection_agent::ConnectorError, AgentError, ErrorClass, KernelAgent},
    viad::{
        protocol::{self, Answer, Malformed, Refusal, Reply, Request, Welcome},
        socket,
    },
};

use crate::{
    accounts::{Quota, Share},
    connections::Connections,
    nic::Nic,
    peer::Peer,
    table::{Range, Table},
};

/// How long a client may take to say hello.
const HELLO: Duration = Duration::from_secs(5);

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
pub enum End {
    /// The client closed the socket.
    #[error("the client closed it")]
    Closed,
    /// The client's process ended.
    #[error("its process ended")]
    Dead,
    /// viad ends.
    #[error("viad ends")]
    Stopped,
    /// What it sent is no request.
    #[error("it sent what is no request: {0}")]
    Malformed(#[from] Malformed),
    /// Out of turn.
    #[error("{0}")]
    Protocol(&'static str),
    /// It did not say hello in time.
    #[error("it did not say hello within five seconds")]
    Silent,
    /// The socket.
    #[error("its socket: {0}")]
    Socket(#[from] io::Error),
}

/// Serves a client until it ends.
pub fn serve(nic: &Arc<Nic>, socket: &OwnedFd) -> Result<(), End> {
    let peer = Peer::of(socket)?;
    let (pid, uid) = (peer.pid.as_raw_nonzero(), peer.uid);
    // What the driver says for it says whose it is.
    let _in_session = tracing::debug_span!("session", pid, uid).entered();
    tracing::info!(pid, uid, "a client");
    let result = talk(nic, socket, peer);
    match &result {
        Err(End::Malformed(_) | End::Protocol(_) | End::Silent) => {
            let reason = result.as_ref().err().map(ToString::to_string);
            tracing::warn!(pid, uid, reason, "session closed");
        }
        result => {
            tracing::info!(pid, uid, reason = result.as_ref().err().map(ToString::to_string), "session ended")
        }
    }
    result
}

fn talk(nic: &Arc<Nic>, socket: &OwnedFd, peer: Peer) -> Result<(), End> {
    throttle(nic, &peer);
    // From here on it counts, whether it says hello or not.
    let share = match nic.accounts.take(peer.uid, Quota::Session, 1) {
        Ok(share) => share,
        Err(error) => {
            tracing::warn!(%error, "a client is refused");
            return reply(socket, &Err(error.into()), &[]);
        }
    };
    wait(nic, socket, &peer, Some(HELLO))?;
    let (bytes, files) = receive(socket)?;
    let mut table = match hello(nic, peer, share, &bytes, files)? {
        Ok((table, welcome, [own, arena])) => {
            let files = [nic.notice_file.as_fd(), own.as_fd(), arena.as_fd(), table.wake().as_fd()];
            reply(socket, &Ok(Answer::Welcome(welcome)), &files)?;
            table
        }
        Err(error) => {
            tracing::warn!(%error, "a client is refused");
            return reply(socket, &Err(error.into()), &[]);
        }
    };
    loop {
        wait(nic, socket, table.peer(), None)?;
        let (bytes, files) = receive(socket)?;
        let request: Request = protocol::decode(&bytes)?;
        if files.len() != usize::from(matches!(request, Request::SharePool(_))) {
            return Err(End::Protocol(
                "it sent descriptors with a request that takes none, or not the one that goes with a pool",
            ));
        }
        throttle(nic, table.peer());
        match answer(nic, socket, &mut table, request.clone(), &files)? {
            Ok((answer, files)) => {
                let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
                reply(socket, &Ok(answer), &files)?;
            }
            Err(error) => {
                tracing::debug!(?request, %error, "refused");
                if error.class() == ErrorClass::Gone {
                    nic.end(&error.to_string());
                }
                reply(socket, &Err(error.into()), &[])?;
            }
        }
    }
}

/// A request counts.
fn throttle(nic: &Nic, peer: &Peer) {
    let pause = nic.throttles.take(peer.uid, Instant::now());
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
}

/// A session that has begun: what its client is told, and the descriptors of its own notice page and its arena.
type Begun = (Table, Welcome, [OwnedFd; 2]);

/// A first message, and its descriptors: two, or none.
fn hello(
    nic: &Arc<Nic>,
    peer: Peer,
    session: Share,
    bytes: &[u8],
    files: Vec<OwnedFd>,
) -> Result<Result<Begun, AgentError>, End> {
    let Request::Hello { magic, version } = protocol::decode(bytes)? else {
        return Err(End::Protocol("its first request is not Hello"));
    };
    if magic != protocol::MAGIC {
        return Err(End::Protocol("it is no library of viad's"));
    }
    let refuse = |text: String| Ok(Err(AgentError::Remote { class: ErrorClass::Parameter, text }));
    if version != protocol::VERSION {
        let own = protocol::VERSION;
        return refuse(format!(
            "this viad speaks version {own} of its protocol, the library version {version}"
        ));
    }
    let memories = match files.is_empty() {
        true => None,
        false => match <[OwnedFd; 2]>::try_from(files) {
            Ok(memories) => Some(memories),
            Err(_) => {
                return Err(End::Protocol(
                    "its Hello comes with neither two descriptors of its memory nor none",
                ))
            }
        },
    };
    if let Some([written, read]) = &memories {
        if !peer.is_memory(written, true) || !peer.is_memory(read, false) {
            return refuse(format!(
                "the descriptors with Hello are not /proc/{}/mem, read-write and read-only: it must be opened by the process that connects",
                peer.pid.as_raw_nonzero()
            ));
        }
    }
    let made = Table::new(Arc::clone(nic), peer, memories, session).map(|(table, files)| {
        let welcome = Welcome {
            kind: nic.agent.kind(),
            limits: nic.client_limits(),
            mac: nic.agent.mac(),
            ip: nic.agent.ip(),
            bytes: nic.agent.dma_bytes().min(nic.accounts.limit(Quota::Bytes)),
            vectors: nic.agent.vectors(),
            arena: table.arena_bytes() as u32,
            polling: nic.agent.device().polling(),
        };
        (table, welcome, files)
    });
    Ok(made)
}

type Answered = Result<(Answer, Vec<OwnedFd>), AgentError>;

/// `files` has the descriptor of a pool, and else nothing.
fn answer(
    nic: &Nic,
    socket: &OwnedFd,
    table: &mut Table,
    request: Request,
    files: &[OwnedFd],
) -> Result<Answered, End> {
    let plain = |answer: Answer| (answer, Vec::new());
    let done = |()| plain(Answer::Done);
    let handle = |handle| plain(Answer::Handle(handle));
    Ok(match request {
        Request::Hello { .. } => return Err(End::Protocol("it said Hello twice")),
        Request::CreateTag => table.create_tag().map(|tag| plain(Answer::Tag(tag))),
        Request::DestroyTag(tag) => table.destroy_tag(tag).map(done),
        Request::Register { address, length, attributes } => {
            table.register(Range { address, length, attributes }).map(handle)
        }
        Request::SharePool(bytes) => match files {
            [file] => table.share_pool(bytes, file).map(|pool| plain(Answer::Pool(pool))),
            _ => return Err(End::Protocol("its pool comes without a descriptor")),
        },
        Request::DropPool(pool) => table.drop_pool(pool).map(done),
        Request::RegisterShared { pool, offset, address, length, attributes } => {
            table.register_shared(pool, offset, Range { address, length, attributes }).map(handle)
        }
        Request::Function => {
            table.function(socket).map(|(function, files)| (Answer::Function(function), files))
        }
        Request::RegisterLeased { iova, address, length, read_only, attributes } => {
            table.register_leased(iova, read_only, Range { address, length, attributes }).map(handle)
        }
        Request::EndLease => table.end_lease().map(done),
        Request::Deregister(handle) => table.deregister(handle).map(done),
        Request::SetMemoryAttributes(handle, attributes) => {
            table.set_memory_attributes(handle, attributes).map(done)
        }
        Request::MemoryAttributes(handle) => {
            table.memory_attributes(handle).map(|attributes| plain(Answer::Attributes(attributes)))
        }
        Request::CreateVi(attributes) => table.create_vi(attributes).map(|(new, file)| {
            let NewVi { name, info, send, receive, vectors } = new;
            let rings = [send.offset() as u32, receive.offset() as u32];
            (Answer::Vi { name, info, rings, vectors }, file.into_iter().collect())
        }),
        Request::SetViAttributes(vi, attributes, anew) => {
            table.set_vi_attributes(vi, attributes, anew).map(|info| plain(Answer::Info(info)))
        }
        Request::ConnectVi(vi, peer) => table.connect_vi(vi, &peer).map(done),
        Request::BreakVi(vi) => table.break_vi(vi).map(done),
        Request::IdleVi(vi) => table.idle_vi(vi).map(|info| plain(Answer::Info(info))),
        Request::ViState(vi) => table.vi_state(vi).map(|state| plain(Answer::State(state))),
        Request::DestroyVi(vi) => table.destroy_vi(vi).map(done),
        Request::CreateCq(entries) => table
            .create_cq(entries as usize)
            .map(|(name, vector, files)| (Answer::Cq { name, vector }, files)),
        Request::ResizeCq(cq, entries) => table
            .resize_cq(cq, entries as usize)
            .map(|(written, file)| (Answer::Resized { written }, vec![file])),
        Request::DestroyCq(cq) => table.destroy_cq(cq).map(done),
        Request::TakeEvents => table.take_events().map(|events| plain(Answer::Events(events))),
        Request::Check => nic.agent.check().map(done),
        Request::Time => nic.agent.time().map(|time| plain(Answer::Time(time))),
        Request::Counters => nic
            .agent
            .counters()
            .map(|counters| plain(Answer::Counters(counters.into_iter().map(|(_, value)| value).collect()))),
        Request::Listen(name) => table.listen(name, None).map(|listener| plain(Answer::Listener(listener))),
        Request::ListenForAll(name, backlog) => {
            table.listen(name, Some(backlog)).map(|listener| plain(Answer::Listener(listener)))
        }
        Request::Unlisten(listener) => table.unlisten(listener).map(done),
        Request::Connect(ask) => managed(table.connect(ask, Connections::connect).map(Answer::Connection)),
        Request::PeerRequest(ask) => {
            managed(table.connect(ask, Connections::peer_request).map(Answer::Connection))
        }
        Request::Accept(id, vi, data) => managed(table.accept(id, vi, &data).map(|()| Answer::Done)),
        Request::Reject(id, data) => managed(table.reject(id, &data).map(|()| Answer::Done)),
        Request::Disconnect(id) => table.disconnect(id).map(done),
        Request::Sessions(from) => Ok(plain(Answer::Sessions(nic.records.sessions(table.peer().uid, from)))),
        Request::Vis(session, from) => match nic.records.find(table.peer().uid, session) {
            Some(record) => {
                let state = |vi| KernelAgent::vi_state(&*nic.agent, vi);
                let progress = |vi| nic.connections.progress(vi);
                Ok(plain(Answer::Vis(record.vis(from, state, progress))))
            }
            None => {
                let text = format!("there is no session {session}, or it is another user's");
                Err(AgentError::Remote { class: ErrorClass::Parameter, text })
            }
        },
        Request::Totals => Ok(plain(Answer::Totals(nic.records.totals(table.session())))),
        Request::Hosts(from) => Ok(plain(Answer::Hosts(hosts(nic, from)))),
        Request::Watch => table.watch().map(|file| (Answer::Watched, vec![file])),
        Request::TakeConnectionEvents => Ok(plain(Answer::ConnectionEvents(table.take_connection_events()))),
    })
}

/// A piece of the hosts file.
fn hosts(nic: &Nic, from: u32) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open(&nic.config.hosts).ok()?;
    let mut piece = vec![0; protocol::LONGEST / 2];
    let length = file.read_at(&mut piece, from.into()).ok()?;
    piece.truncate(length);
    Some(piece)
}

/// The answer of the connection manager.
fn managed(result: Result<Answer, ConnectorError>) -> Answered {
    match result {
        Ok(answer) => Ok((answer, Vec::new())),
        Err(ConnectorError::Manager(error)) => Ok((Answer::Unconnected(error), Vec::new())),
        Err(ConnectorError::Agent(error)) => Err(error),
    }
}

/// Waits for a request.
fn wait(nic: &Nic, socket: &OwnedFd, peer: &Peer, limit: Option<Duration>) -> Result<(), End> {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let mut files = [
        PollFd::new(socket, PollFlags::IN),
        PollFd::new(&peer.pidfd, PollFlags::IN),
        PollFd::new(&nic.stop, PollFlags::IN),
    ];
    loop {
        match poll(&mut files, limit.as_ref()) {
            Ok(0) => return Err(End::Silent),
            Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
            Ok(_) => break,
        }
    }
    let [request, dead, stopped] = files.map(|file| !file.revents().is_empty());
    match (dead, stopped, request) {
        // A child of a fork may still have the socket.
        (true, ..) => Err(End::Dead),
        (_, true, _) => Err(End::Stopped),
        _ => Ok(()),
    }
}

fn receive(socket: &OwnedFd) -> Result<(Vec<u8>, Vec<OwnedFd>), End> {
    let (bytes, files) = socket::receive(socket, RecvFlags::DONTWAIT)?;
    if bytes.is_empty() {
        return Err(End::Closed);
    }
    Ok((bytes, files))
}

fn reply(socket: &OwnedFd, reply: &Reply, files: &[std::os::fd::BorrowedFd<'_>]) -> Result<(), End> {
    let bytes = protocol::encode(reply).or_else(|error| {
        let class = ErrorClass::Resource;
        protocol::encode(&Reply::Err(Refusal { class, text: format!("viad's answer: {error}") }))
    })?;
    Ok(socket::send(socket, &bytes, files)?)
}
