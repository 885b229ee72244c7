//! Hosts that are network namespaces, each with an interface `via0`, `via1` and so on, whose wire is simulated.

use std::{
    fs::File,
    io,
    net::Ipv4Addr,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::Command,
    time::{Duration, Instant},
};

use rustix::{
    net::{
        recv, sendto, socket_with, sockopt, AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags,
        SocketType,
    },
    thread::{move_into_link_name_space, unshare_unsafe, LinkNameSpaceType, UnshareFlags},
};

/// Why hosts with interfaces of their own cannot be here; None: they can.
pub fn obstacle() -> Option<String> {
    if let Err(error) = File::options().read(true).write(true).open("/dev/net/tun") {
        return Some(format!("/dev/net/tun: {error}"));
    }
    let tried = std::thread::spawn(|| {
        // SAFETY: this thread has nothing that is another namespace's.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
    });
    tried.join().expect("no panic").err().map(|error| format!("network namespaces: {error}"))
}

/// The program that is started has a host of its own.
pub fn separate(command: &mut Command) {
    // SAFETY: one system call, in the child before it is the program.
    unsafe {
        command.pre_exec(|| {
            unshare_unsafe(UnshareFlags::NEWNET)?;
            Ok(())
        })
    };
}

/// The IP address of a host.
pub fn ip(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number as u8 + 1)
}

/// A host.
pub struct Host {
    namespace: File,
    number: usize,
}

impl Host {
    /// The host of a process that was started by [`separate`], and has made its interface.
    pub fn of(process: u32, number: usize) -> Self {
        let namespace = File::open(format!("/proc/{process}/ns/net")).expect("it lives");
        Self { namespace, number }
    }

    /// Moves this thread there, and gives the interface its IP address.
    pub fn enter(&self) {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .expect("we are root");
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .expect("a socket");
        let mask = Ipv4Addr::new(255, 255, 255, 0);
        for (what, address) in [(libc::SIOCSIFADDR, ip(self.number)), (libc::SIOCSIFNETMASK, mask)] {
            // SAFETY: numbers: all zeros is one.
            let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
            for (to, from) in request.ifr_name.iter_mut().zip(format!("via{}", self.number).bytes()) {
                *to = from as libc::c_char;
            }
            let mut data = [0; 14];
            for (to, from) in data[2..6].iter_mut().zip(address.octets()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_addr = libc::sockaddr { sa_family: libc::AF_INET as u16, sa_data: data };
            // SAFETY: it reads one `ifreq`.
            let done = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw mut request) };
            assert_eq!(done, 0, "{}", io::Error::last_os_error());
        }
    }
}

/// Echo requests of ICMP's, from the host that this thread was on when it was made.
pub struct Ping(OwnedFd);

impl Ping {
    /// A socket for them.
    #[expect(clippy::new_without_default, reason = "it is of this thread's host")]
    pub fn new() -> Self {
        let icmp = Some(rustix::net::ipproto::ICMP);
        let socket = socket_with(AddressFamily::INET, SocketType::RAW, SocketFlags::CLOEXEC, icmp)
            .expect("we are root");
        let limit = Some(Duration::from_secs(1));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, limit).expect("a socket");
        Self(socket)
    }

    /// Whether the reply of such a request came within a second.
    pub fn answered(&self, to: Ipv4Addr, sequence: u16) -> bool {
        let mut request = [8, 0, 0, 0, 0x56, 0x49, 0, 0, b'v', b'i', b'a', b'!'];
        request[6..8].copy_from_slice(&sequence.to_be_bytes());
        let words = request.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum = words.sum::<u32>();
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        request[2..4].copy_from_slice(&sum.to_be_bytes());
        let start = Instant::now();
        if sendto(&self.0, &request, SendFlags::empty(), &SocketAddrV4::new(to, 0)).is_err() {
            return false;
        }
        while start.elapsed() < Duration::from_secs(1) {
            let mut packet = [0; 128];
            let Ok((length, _)) = recv(&self.0, &mut packet, RecvFlags::empty()) else { return false };
            // Behind the IPv4 header: an echo reply, with what was sent.
            if length >= 32
                && packet[20] == 0
                && packet[24..32] == request[4..12]
                && packet[12..16] == to.octets()
            {
                return true;
            }
        }
        false
    }
}
