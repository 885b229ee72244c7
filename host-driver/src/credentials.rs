//! Who is at the other end of a Unix socket.

use std::{
    io,
    os::fd::{AsFd, AsRawFd},
};

use rustix::process::{geteuid, Pid};

/// The process at the other end, as it was when it connected or listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credentials {
    /// Its number; None: it is in a PID namespace that this process does not see.
    pub pid: Option<Pid>,
    /// Its user.
    pub uid: u32,
}

impl Credentials {
    /// Asks the kernel (SO_PEERCRED).
    pub fn of_peer(socket: impl AsFd) -> io::Result<Self> {
        let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let socket = socket.as_fd().as_raw_fd();
        let place = (&raw mut found).cast();
        // SAFETY: `found` has as many bytes as `length` says, and both live through the call. The wrapper of rustix is not for
        // this: it takes the number for a Pid, which is never 0, and that of a process that cannot be seen from here is.
        let result =
            unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { pid: Pid::from_raw(found.pid), uid: found.uid })
    }

    /// Whether it may have this process's memory: a server of root's, or of this process's own user.
    ///
    /// # Errors
    /// Why not. Whoever binds a path first would otherwise read and write all memory of those who open it.
    pub fn check_server(&self) -> Result<(), String> {
        self.check_server_of(None)
    }

    /// The same, or a server of `user`'s, if the NIC's name says so.
    ///
    /// # Errors
    /// As [`Credentials::check_server`].
    pub fn check_server_of(&self, user: Option<u32>) -> Result<(), String> {
        self.check_server_for(geteuid().as_raw(), user)
    }

    fn check_server_for(&self, own: u32, user: Option<u32>) -> Result<(), String> {
        let uid = self.uid;
        if uid == 0 || uid == own || user == Some(uid) {
            return Ok(());
        }
        let named =
            user.map_or_else(|| "and the NIC's name names no other".into(), |user| format!("nor {user}"));
        Err(format!(
            "its server runs as user {uid}, who is neither root nor this process's user {own}, {named}: it would reach memory of this process"
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_pair_is_of_this_process() {
        let (one, _other) = UnixStream::pair().expect("sockets");
        let peer = Credentials::of_peer(&one).expect("a socket has a peer");
        assert_eq!((peer.pid, peer.uid), (Some(rustix::process::getpid()), geteuid().as_raw()));
        peer.check_server().expect("this user's");
    }

    #[test]
    fn memory_is_for_root_and_for_oneself() {
        let server_of = |uid, user| Credentials { pid: None, uid }.check_server_for(1000, user);
        let server = |uid| server_of(uid, None);
        assert!(server(0).is_ok() && server(1000).is_ok());
        // A user who is named may have it, too, and no other.
        assert!(server_of(992, Some(992)).is_ok() && server_of(0, Some(992)).is_ok());
        let refused = server_of(993, Some(992)).expect_err("another user");
        assert!(refused.contains("user 993") && refused.contains("nor 992"), "{refused}");
        let refused = server(1001).expect_err("another user");
        assert!(refused.contains("user 1001") && refused.contains("user 1000"), "{refused}");
    }
}
