//! TCP/IP beside VIA: two hosts, which are network namespaces, each with the interface of a viad on one simulated wire.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    net::{
        recv, sendto, socket_with, sockopt, AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags,
        SocketType,
    },
    thread::{move_into_link_name_space, LinkNameSpaceType},
};
use viaduct_viad_tests::{
    program::program,
    skip::skip,
    stage::{connected, until, Stage, BUFFER, LONG},
};
use vipl::Nic;

/// Bytes that go over TCP.
const BYTES: usize = 4 << 20;

/// Why hosts with interfaces of their own cannot be here; None: they can.
fn obstacle() -> Option<String> {
    if let Err(error) = File::options().read(true).write(true).open("/dev/net/tun") {
        return Some(format!("/dev/net/tun: {error}"));
    }
    let tried = std::thread::spawn(|| {
        // SAFETY: this thread has nothing that is another namespace's.
        unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }
    });
    tried.join().expect("no panic").err().map(|error| format!("network namespaces: {error}"))
}

/// Moves this thread to the host of a viad.
fn go_to(stage: &Stage, nic: usize) {
    let path = format!("/proc/{}/ns/net", stage.viads[nic].0.id());
    let host = File::open(path).expect("it lives");
    move_into_link_name_space(host.as_fd(), Some(LinkNameSpaceType::Network)).expect("we are root");
}

fn ip(nic: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, nic as u8 + 1)
}

/// Gives the interface of this thread's host its address, which is the NIC's too, and its network.
fn set_address(nic: usize) {
    let socket =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None).expect("a socket");
    for (what, address) in
        [(libc::SIOCSIFADDR, ip(nic)), (libc::SIOCSIFNETMASK, Ipv4Addr::new(255, 255, 255, 0))]
    {
        // SAFETY: numbers: all zeros is one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(format!("via{nic}").bytes()) {
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

/// An echo request of ICMP's, and whether its reply came within a second.
fn ping(socket: &OwnedFd, to: Ipv4Addr, sequence: u16) -> bool {
    let mut request = [8, 0, 0, 0, 0x56, 0x49, 0, 0, b'v', b'i', b'a', b'!'];
    request[6..8].copy_from_slice(&sequence.to_be_bytes());
    let words = request.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    let start = Instant::now();
    if sendto(socket, &request, SendFlags::empty(), &SocketAddrV4::new(to, 0)).is_err() {
        return false;
    }
    while start.elapsed() < Duration::from_secs(1) {
        let mut packet = [0; 128];
        let Ok((length, _)) = recv(socket, &mut packet, RecvFlags::empty()) else { return false };
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

fn byte(n: usize) -> u8 {
    (n.wrapping_mul(2_654_435_761) >> 13) as u8
}

#[test]
fn two_hosts_ping_and_transfer_over_tcp_while_via_traffic_runs() {
    if let Some(reason) = obstacle() {
        return skip(reason);
    }
    let stage = Stage::with_interfaces(2);
    let done = AtomicBool::new(false);
    let mut messages = 0u32;
    std::thread::scope(|scope| {
        let hosts = scope.spawn(|| {
            // Also when it panics.
            struct End<'a>(&'a AtomicBool);
            impl Drop for End<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
            let _end = End(&done);
            go_to(&stage, 1);
            set_address(1);
            let listener = TcpListener::bind((ip(1), 7)).expect("its own address");
            go_to(&stage, 0);
            set_address(0);
            let socket = socket_with(
                AddressFamily::INET,
                SocketType::RAW,
                SocketFlags::CLOEXEC,
                Some(rustix::net::ipproto::ICMP),
            )
            .expect("we are root");
            let limit = Some(Duration::from_secs(1));
            sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, limit).expect("a socket");
            let mut sequence = 0;
            assert!(
                until(LONG, || {
                    sequence += 1;
                    ping(&socket, ip(1), sequence)
                }),
                "no echo"
            );
            println!("ping: {sequence} requests to the first reply");
            // Now that addresses are known, each is answered.
            let start = Instant::now();
            let answered = (0..20).filter(|n| ping(&socket, ip(1), 1000 + n)).count();
            println!("ping: {answered} of 20, {:?} each", start.elapsed() / 20);
            assert!(answered >= 18, "{answered} of 20");

            let start = Instant::now();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let (mut stream, from) = listener.accept().expect("it connects");
                    assert_eq!(from.ip(), ip(0));
                    let mut bytes = Vec::new();
                    stream.read_to_end(&mut bytes).expect("all of it");
                    assert!(bytes.len() == BYTES && bytes.iter().enumerate().all(|(n, &is)| is == byte(n)));
                    stream.write_all(b"all of it").expect("it listens");
                });
                let to = SocketAddr::from((ip(1), 7));
                let mut stream = TcpStream::connect_timeout(&to, LONG).expect("it listens");
                stream.set_read_timeout(Some(LONG)).expect("a socket");
                let bytes: Vec<u8> = (0..BYTES).map(byte).collect();
                stream.write_all(&bytes).expect("it reads");
                stream.shutdown(std::net::Shutdown::Write).expect("a socket");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).expect("it answers");
                assert_eq!(answer, "all of it");
            });
            println!("TCP: {BYTES} bytes in {:?}", start.elapsed());
        });
        let nics = [0, 1].map(|nic| Nic::open(&stage.name(nic)).expect("it serves"));
        let (one, other) = connected(&nics[0], &nics[1]);
        while !done.load(Ordering::Relaxed) || messages == 0 {
            other.post_recv(1, BUFFER, 8192);
            let message = messages.to_le_bytes().repeat(1500);
            one.send(0, BUFFER, &message);
            other.vi.recv_wait(Some(LONG)).expect("it arrives");
            assert_eq!(other.bytes(BUFFER, message.len()), message);
            one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
            messages += 1;
        }
        hosts.join().expect("the hosts talk");
    });
    println!("{messages} messages meanwhile");
    assert!(messages > 20, "{messages} messages");
}

#[test]
fn an_interface_that_cannot_be_is_said_so() {
    let stage = Stage::with_free(1, 1, "");
    let start = |name: &str| {
        let output = Command::new(program("viad"))
            .args(["--nic", &stage.device(0), "--tap", name, "--socket"])
            .arg(stage.socket(0))
            .output()
            .expect("it starts");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = start("no/name");
    assert!(said.contains("\"no/name\"") && said.contains("no name of a network interface"), "{said}");
}
