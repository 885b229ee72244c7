//! viad under a service manager, as systemd's sd_listen_fds(3) and sd_notify(3) describe it: the socket that it is given, and what it tells.

use std::{
    ffi::OsStr,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
};

use anyhow::{bail, ensure, Context, Result};
use rustix::net::{
    getsockname,
    sockopt::{socket_acceptconn, socket_domain, socket_type},
    AddressFamily, SocketAddrUnix, SocketType,
};
use sd_notify::NotifyState;

/// The socket that the service manager has opened for this process; none if there is no such manager, or it has opened none. It is to be
/// called once: the socket is the caller's.
///
/// # Errors
/// More than one socket; something else than a listening Unix socket of sequential packets, which is what clients speak.
pub fn listener() -> Result<Option<OwnedFd>> {
    let mut given = sd_notify::listen_fds().context("LISTEN_FDS, which the service manager sets")?;
    let count = given.len();
    let Some(file) = given.next() else {
        return Ok(None);
    };
    ensure!(count == 1, "the service manager has given {count} sockets, and viad serves one: a .socket unit has one Listen line");
    // SAFETY: the manager has opened it for this process, as LISTEN_PID says, and nothing else here knows of it.
    let socket = unsafe { OwnedFd::from_raw_fd(file) };
    let what = "the descriptor that the service manager has given";
    let kind = (|| Ok::<_, rustix::io::Errno>((socket_domain(&socket)?, socket_type(&socket)?)))();
    let kind = kind.with_context(|| format!("{what} is no socket"))?;
    if kind != (AddressFamily::UNIX, SocketType::SEQPACKET) {
        bail!(
            "{what} is no Unix socket of sequential packets: the .socket unit needs ListenSequentialPacket="
        );
    }
    ensure!(socket_acceptconn(&socket)?, "{what} does not listen: the .socket unit needs Accept=no");
    Ok(Some(socket))
}

/// The path of a listening socket.
///
/// # Errors
/// It has none.
pub fn path(socket: &OwnedFd) -> Result<PathBuf> {
    let address = SocketAddrUnix::try_from(getsockname(socket)?)?;
    let path = address.path().context("the socket has no path, and clients need one")?;
    Ok(OsStr::from_bytes(path.to_bytes()).into())
}

/// Tells the service manager that clients are served from now on.
pub fn tell_ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Tells the service manager that viad ends.
pub fn tell_stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Without a manager, nothing is told.
fn tell(state: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager (NOTIFY_SOCKET) is not told");
    }
}
