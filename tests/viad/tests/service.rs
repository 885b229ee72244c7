//! viad as systemd starts it: with a socket that is open already (LISTEN_FDS), and with somebody who waits to hear that it serves (NOTIFY_SOCKET).

use std::{
    fs::File,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::{UnixDatagram, UnixListener},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use rustix::{
    net::{bind, connect, listen, socket, AddressFamily, SocketAddrUnix, SocketType},
    process::{kill_process, Pid, Signal},
};
use viaduct_driver::credentials::Credentials;
use viaduct_viad_tests::{
    program::program,
    stage::{Process, Stage, LONG},
};
use vipl::Nic;

/// As a service manager does it: descriptors 3 and on are its sockets, and the variables say so to the process that viad becomes.
fn script(sockets: u32) -> String {
    let fourth = if sockets > 1 { "4<&0" } else { "4<&-" };
    format!(
        r#"exec 3<&0 {fourth} </dev/null; export LISTEN_FDS={sockets} LISTEN_PID="${{LISTEN_PID-$$}}"; exec "$@""#
    )
}

fn packets() -> OwnedFd {
    socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket")
}

fn listening_at(path: &Path) -> OwnedFd {
    let made = packets();
    bind(&made, &SocketAddrUnix::new(path).expect("a path")).expect("nobody has it");
    listen(&made, 16).expect("bound");
    made
}

/// viad with this socket of the service manager's, or with so many of it. It logs to `log`.
fn command(given: impl AsFd, sockets: u32, log: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &script(sockets), "sh"])
        .arg(program("viad"))
        .env_remove("LISTEN_PID")
        .stdin(Stdio::from(given.as_fd().try_clone_to_owned().expect("a descriptor")))
        .stderr(File::create(log).expect("a file"));
    command
}

/// What a service manager hears.
struct Manager(UnixDatagram, PathBuf);

impl Manager {
    fn new(folder: &Path) -> Self {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).expect("nobody has it");
        socket.set_read_timeout(Some(LONG)).expect("a time");
        Self(socket, path)
    }

    fn hear(&self) -> String {
        let mut bytes = [0; 4096];
        let length = self.0.recv(&mut bytes).expect("it tells");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}

fn terminate(mut viad: Process) {
    let pid = Pid::from_raw(viad.0.id() as i32).expect("a process");
    kill_process(pid, Signal::TERM).expect("it lives");
    assert!(viad.0.wait().expect("it ends").success());
}

#[test]
fn a_client_that_is_there_first_is_served_and_the_socket_outlives_viad() {
    // A NIC for each viad: the simulator may not have noticed yet that the first one has ended.
    let stage = Stage::with_free(2, 2, "");
    let folder = stage.folder.path();
    let (path, log) = (folder.join("given.sock"), folder.join("given.log"));
    let listener = listening_at(&path);
    let manager = Manager::new(folder);
    let own = folder.join("own.sock");
    for nic in 0..2 {
        // Nobody serves yet.
        let name = format!("viad:{}", path.display());
        let client = thread::spawn(move || Nic::open(&name).map(|nic| nic.attributes().ip.to_string()));
        let viad = command(&listener, 1, &log)
            .args(["--nic", &stage.device(nic), "--socket"])
            .arg(&own)
            .env("NOTIFY_SOCKET", &manager.1)
            .spawn();
        let viad = Process(viad.expect("it starts"));
        let heard = manager.hear();
        assert!(heard.starts_with("READY=1\nSTATUS=serving "), "{heard}");
        assert!(heard.contains(path.to_str().expect("UTF-8")), "{heard}");
        assert_eq!(client.join().expect("no panic").expect("it is served"), format!("10.0.0.{}", nic + 1));
        // The given socket stands in place of the configured one.
        assert!(!own.exists());
        // A client sees that viad is its server, though somebody else has opened the socket.
        let seen = packets();
        connect(&seen, &SocketAddrUnix::new(&path).expect("a path")).expect("it is served");
        let server = Credentials::of_peer(&seen).expect("there is one");
        assert_eq!(server.pid.map(|pid| pid.as_raw_nonzero().get() as u32), Some(viad.0.id()));
        drop(seen);
        terminate(viad);
        assert_eq!(manager.hear(), "STOPPING=1\n");
        assert!(path.exists(), "it is the manager's");
    }
}

#[test]
fn readiness_is_told_when_clients_are_served_and_not_before() {
    let stage = Stage::with_free(1, 1, "");
    let folder = stage.folder.path();
    let (own, manager) = (folder.join("own.sock"), Manager::new(folder));
    let start = |notify: &Path| {
        let viad = Command::new(program("viad"))
            .args(["--nic", &stage.device(0), "--socket"])
            .arg(&own)
            .env("NOTIFY_SOCKET", notify)
            .stderr(File::create(folder.join("own.log")).expect("a file"))
            .spawn();
        Process(viad.expect("it starts"))
    };
    let viad = start(&manager.1);
    let heard = manager.hear();
    assert!(heard.starts_with("READY=1\n"), "{heard}");
    drop(Nic::open(&format!("viad:{}", own.display())).expect("it serves"));
    terminate(viad);
    assert_eq!(manager.hear(), "STOPPING=1\n");
    assert!(!own.exists(), "its own socket goes with it");
}

#[test]
fn what_is_given_must_be_one_listening_socket_of_packets() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let refused = |given: &dyn AsFd, sockets: u32| {
        let nowhere = ["--nic", "vfio-user:/nowhere", "--socket", "/nowhere/either"];
        let status = command(given.as_fd(), sockets, &log).args(nowhere).status().expect("it starts");
        assert!(!status.success());
        std::fs::read_to_string(&log).expect("a log")
    };
    let stream = UnixListener::bind(folder.path().join("stream")).expect("nobody has it");
    let said = refused(&stream, 1);
    assert!(said.contains("ListenSequentialPacket="), "{said}");
    let said = refused(&packets(), 1);
    assert!(said.contains("Accept=no"), "{said}");
    let said = refused(&File::open("/dev/null").expect("it is there"), 1);
    assert!(said.contains("is no socket"), "{said}");
    let said = refused(&listening_at(&folder.path().join("two")), 2);
    assert!(said.contains("has given 2 sockets"), "{said}");
    // One that may be served: what is wrong then is the NIC.
    let fine = listening_at(&folder.path().join("fine"));
    let said = refused(&fine, 1);
    assert!(said.contains("as the NIC"), "{said}");
    // What is another process's is left alone, whatever it is.
    let mut other = command(&stream, 1, &log);
    let other = other.args(["--nic", "vfio-user:/nowhere"]).env("LISTEN_PID", "1").status();
    assert!(!other.expect("it starts").success());
    let said = std::fs::read_to_string(&log).expect("a log");
    assert!(said.contains("as the NIC"), "{said}");
}
