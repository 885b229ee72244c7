//! What a connection through viad costs the two agents, of which its rate comes (`cargo xtask bench --connections` measures that): commands, each of
//! them a round trip to a NIC behind a socket. viad's log tells of each.

use std::{
    fs::File,
    path::PathBuf,
    process::{Command, Stdio},
};

use viaduct_viad_tests::{
    program::program,
    stage::{until, End, Process, Stage, BUFFER, LONG},
};
use vipl::{connections::NetAddress, Error, Nic};

const CONNECTIONS: usize = 20;
/// What an agent in the program takes: `host-driver/src/agent/tests/rate.rs`.
const ALONE: usize = 15 + 1 + 10;
/// Questions for the VI's state on the way: viad's before it connects the VI and before it makes it idle; and the library's, when it hears that it is
/// connected and when it disconnects.
const ASKED: usize = 2 + 2;
/// The end whose peer ends the connection has its VI broken by viad, before its program does that.
const TOLD: usize = 1;

/// A viad, and where its log is.
struct Logged {
    _viad: Process,
    log: PathBuf,
}

impl Logged {
    /// One on a NIC that nobody has, and what programs open.
    fn start(stage: &Stage, nic: usize) -> (Self, Nic) {
        let place = |what: &str| stage.folder.path().join(format!("{what}{nic}"));
        let (socket, log) = (place("own"), place("log"));
        let mut command = Command::new(program("viad"));
        command.args(["--nic", &stage.device(nic), "--socket"]).arg(&socket);
        command.env("VIADUCT_LOG", "warn,viaduct_driver::device_protocol::commands=trace");
        command.stdin(Stdio::null()).stderr(File::create(&log).expect("a file"));
        let viad = Process(command.spawn().expect("it starts"));
        let mut client = None;
        assert!(until(LONG, || {
            client = Nic::open(&format!("viad:{}", socket.display())).ok();
            client.is_some()
        }));
        (Self { _viad: viad, log }, client.expect("it is open"))
    }

    /// Commands of its agent so far.
    fn commands(&self) -> usize {
        std::fs::read_to_string(&self.log).expect("a log").matches(" command ").count()
    }
}

#[test]
fn a_connection_through_viad_costs_its_commands() {
    let stage = Stage::with_free(2, 2, "");
    let [(asks, client), (answers, server)] = [0, 1].map(|nic| Logged::start(&stage, nic));
    let address = |nic: &Nic, discriminator: &str| NetAddress {
        host: nic.attributes().local_nic_address.into(),
        discriminator: discriminator.into(),
    };
    let [from, to] = [address(&client, "client"), address(&server, "server")];
    let ends = [End::new(&client), End::new(&server)];
    let manager = client.connections().expect("it serves");
    // It stays: no request finds nobody.
    let listener = server.connections().expect("it serves").listen(&to, 1).expect("it serves");
    let connect = || {
        ends[1].post_recv(0, BUFFER, 64);
        std::thread::scope(|scope| {
            let accepts = scope.spawn(|| {
                let request = listener.next(Some(LONG), &|| false).expect("somebody asks");
                request.accept(&ends[1].vi, &[]).expect("it answers");
            });
            manager.request(&ends[0].vi, &from, &to, &[], Some(LONG)).expect("it answers");
            accepts.join().expect("no panic");
        });
        ends[0].vi.disconnect().expect("it answers");
        // Each time in this order: the other end hears of it, and then disconnects.
        let flushed = ends[1].vi.recv_wait(Some(LONG));
        assert!(matches!(flushed, Err(Error::Descriptor(_))), "{flushed:?}");
        ends[1].vi.disconnect().expect("it answers");
    };
    // The first one finds out where its peer is.
    connect();
    let before = [&asks, &answers].map(Logged::commands);
    for _ in 0..CONNECTIONS {
        connect();
    }
    let behind = [&asks, &answers].map(Logged::commands);
    let costs = [0, 1].map(|end| behind[end] - before[end]);
    assert_eq!(costs, [ALONE + ASKED, ALONE + ASKED + TOLD].map(|commands| CONNECTIONS * commands));
}
