//! TCP/IP beside VIA: two hosts, which are network namespaces, each with the interface of a viad on one simulated wire.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use viaduct_viad_tests::{
    host::{ip, obstacle, Host, Ping},
    program::program,
    skip::skip,
    stage::{connected, until, Stage, BUFFER, LONG},
};
use vipl::Nic;

/// Bytes that go over TCP.
const BYTES: usize = 4 << 20;

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
            let [client, server] = [0, 1].map(|nic| Host::of(stage.viads[nic].0.id(), nic));
            server.enter();
            let listener = TcpListener::bind((ip(1), 7)).expect("its own address");
            client.enter();
            let ping = Ping::new();
            let mut sequence = 0;
            assert!(
                until(LONG, || {
                    sequence += 1;
                    ping.answered(ip(1), sequence)
                }),
                "no echo"
            );
            println!("ping: {sequence} requests to the first reply");
            // Now that addresses are known, each is answered.
            let start = Instant::now();
            let answered = (0..20).filter(|n| ping.answered(ip(1), 1000 + n)).count();
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
