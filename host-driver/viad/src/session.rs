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
    kernel_agent::{AgentError, ErrorClass},
    viad::{
        protocol::{self, Answer, Malformed, Refusal, Reply, Request, Welcome},
        socket::{self, Buffer},
    },
};

use crate::{
    accounts::{Quota, Share},
    nic::Nic,
    peer::Peer,
    table::Table,
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
pub fn serve(nic: &Arc<Nic>, socket: OwnedFd) -> Result<(), End> {
    let socket = Arc::new(socket);
    let peer = Peer::of(&socket)?;
    let (pid, uid) = (peer.pid.as_raw_nonzero(), peer.uid);
    // What the driver says for it says whose it is.
    let _in_session = tracing::debug_span!("session", pid, uid).entered();
    tracing::info!(pid, uid, "a client");
    let result = talk(nic, &socket, peer);
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

fn talk(nic: &Arc<Nic>, socket: &Arc<OwnedFd>, peer: Peer) -> Result<(), End> {
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
    let mut buffer = Buffer::default();
    let (bytes, files) = receive(socket, &mut buffer)?;
    let mut table = match hello(nic, socket, peer, share, bytes, files)? {
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
        let (bytes, mut files) = receive(socket, &mut buffer)?;
        let request: Request = protocol::decode(bytes)?;
        if files.len() != usize::from(request.has_file()) {
            return Err(End::Protocol(
                "it sent descriptors with a request that takes none, or not the one that goes with its request",
            ));
        }
        throttle(nic, table.peer());
        match table.answer(request.clone(), files.pop()) {
            Ok((answer, files)) => {
                let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
                reply(socket, &Ok(answer), &files)?;
            }
            Err(error) => {
                tracing::debug!(?request, %error, "refused");
                if error.class() == ErrorClass::Gone {
                    nic.fail(&error);
                    if nic.agent.can_end_in_order() {
                        // First its VIs end, then it hears of that.
                        return Err(End::Stopped);
                    }
                    nic.agent.stop_dma();
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
    socket: &Arc<OwnedFd>,
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
    let made =
        Table::new(Arc::clone(nic), Arc::clone(socket), peer, memories, session).map(|(table, files)| {
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

fn receive<'a>(socket: &OwnedFd, buffer: &'a mut Buffer) -> Result<(&'a [u8], Vec<OwnedFd>), End> {
    let (bytes, files) = socket::receive(socket, buffer, RecvFlags::DONTWAIT)?;
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
