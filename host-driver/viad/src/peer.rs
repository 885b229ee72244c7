//! The process at the other end of a socket: who it is, whether it lives, and what it may do with its own memory.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    fs::{fcntl_getfl, fstatfs, OFlags, PROC_SUPER_MAGIC},
    io::Errno,
    process::{pidfd_open, Pid, PidfdFlags},
    time::Timespec,
};
use viaduct_driver::{credentials::Credentials, device::DmaAccess, memory};

/// A client's process.
#[derive(Debug)]
pub struct Peer {
    /// Its number, while it lives.
    pub pid: Pid,
    /// Its user.
    pub uid: u32,
    /// Readable when it has ended; names the process and not its number.
    pub pidfd: OwnedFd,
}

impl Peer {
    /// The process that connected a socket.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let Credentials { pid, uid } = Credentials::of_peer(&socket)?;
        let pid =
            pid.ok_or_else(|| io::Error::other("its process is in a PID namespace that viad does not see"))?;
        let pidfd = match peer_pidfd(&socket) {
            Some(pidfd) => pidfd,
            // An older kernel: from here on the number is not another's, and it was not in the moment before.
            None => pidfd_open(pid, PidfdFlags::empty())?,
        };
        Ok(Self { pid, uid, pidfd })
    }

    /// Whether a descriptor is this process's own `/proc/self/mem`, opened for writing or not.
    pub fn is_memory(&self, file: &OwnedFd, writable: bool) -> bool {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let own = format!("/proc/{}/mem", self.pid.as_raw_nonzero());
        let mode = fcntl_getfl(file).is_ok_and(|flags| {
            let mode = flags & OFlags::RWMODE;
            mode == if writable { OFlags::RDWR } else { OFlags::RDONLY }
        });
        let procfs = fstatfs(file).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC);
        mode && procfs && fs::read_link(path).is_ok_and(|path| path.as_os_str() == own.as_str())
    }

    /// What it may do with all of `start .. end`.
    pub fn access(&self, start: u64, end: u64) -> Result<DmaAccess, memory::MemoryError> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid.as_raw_nonzero()))?;
        // It lives still: so the number was its own when that was read.
        if !lives(&self.pidfd) {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        memory::access_in(&maps, start, end)
    }

    /// Waits for its end; false: `stop` is readable first.
    pub fn wait_end(&self, stop: &OwnedFd) -> bool {
        let mut files = [PollFd::new(&self.pidfd, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        loop {
            match poll(&mut files, None) {
                Err(Errno::INTR) => {}
                Ok(_) => return !files[0].revents().is_empty(),
                // A process of which nobody can be asked is not known to have ended.
                Err(_) => return false,
            }
        }
    }
}

/// Whether a process lives.
fn lives(pidfd: &OwnedFd) -> bool {
    let mut files = [PollFd::new(pidfd, PollFlags::IN)];
    matches!(poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
}

/// SO_PEERPIDFD, Linux 6.5.
fn peer_pidfd(socket: impl AsFd) -> Option<OwnedFd> {
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut pidfd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `pidfd`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut pidfd).cast(),
            &raw mut length,
        )
    };
    // SAFETY: a new descriptor, and nobody else's.
    (result == 0 && pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::event::{eventfd, EventfdFlags};

    use super::*;

    #[test]
    fn a_process_is_waited_for_until_it_or_viad_ends() {
        let mut process = Command::new("sleep").arg("60").spawn().expect("it starts");
        let pid = Pid::from_child(&process);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("it lives");
        let peer = Peer { pid, uid: 0, pidfd };
        let event = |count| eventfd(count, EventfdFlags::CLOEXEC).expect("an eventfd");
        assert!(!peer.wait_end(&event(1)), "viad ends, and it lives");
        process.kill().expect("it lives");
        assert!(peer.wait_end(&event(0)));
        process.wait().expect("it has ended");
    }
}
