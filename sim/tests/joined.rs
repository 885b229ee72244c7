//! Switches of two simulators that are one Ethernet: a port of the one is joined to a port of the other by TCP, as socat does it between machines.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use viaduct_sim::setup::{Kind, Setup};
use vipl::connections::NetAddress;
use vipl::{Descriptor, MemAttributes, Nic, Region, ReliabilityLevel, Vi, ViAttributes};

use crate::support::Simulator;

const LONG: Option<Duration> = Some(Duration::from_secs(60));
/// Bytes of a message: 59 packets.
const MESSAGE: usize = 60_000;
/// Where the message lies, behind the descriptors.
const DATA: usize = 4096;

/// A machine's simulator: one NIC, and a port.
fn simulator() -> Simulator {
    let mut setup = Setup { nics: 1, kinds: vec![Kind::Model], ..Setup::default() };
    setup.network.ports = 1;
    Simulator::start(setup.build().unwrap())
}

/// Carries bytes between a port and a machine, both ways, until one of them ends.
fn relay(port: UnixStream, machine: TcpStream) {
    let (to_port, to_machine) = (port.try_clone().unwrap(), machine.try_clone().unwrap());
    thread::spawn(move || {
        let _ = io::copy(&mut &port, &mut &to_machine);
        // Its own end may be gone.
        let _ = to_machine.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let _ = io::copy(&mut &machine, &mut &to_port);
        let _ = to_port.shutdown(Shutdown::Both);
    });
}

/// Joins the ports of two machines.
fn join(simulators: [&Simulator; 2]) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let asks = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let machines = [asks, listener.accept().unwrap().0];
    for (simulator, machine) in simulators.into_iter().zip(machines) {
        machine.set_nodelay(true).unwrap();
        relay(UnixStream::connect(simulator.port(0)).unwrap(), machine);
    }
}

/// A VI on a machine's NIC, and memory that its peer may read.
struct End {
    nic: Nic,
    memory: Region,
    vi: Vi,
}

impl End {
    fn new(simulator: &Simulator, number: u8) -> Self {
        let name = simulator.name(0);
        let nic = Nic::open(&format!("{name},mac=02:00:00:00:00:0{number},ip={}", ip(number))).unwrap();
        let tag = nic.create_ptag().unwrap();
        let rights = MemAttributes { enable_rdma_read: true, ..MemAttributes::new(&tag) };
        let memory = nic.allocate(DATA + MESSAGE, &rights).unwrap();
        let vi = nic.create_vi(&ViAttributes {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            enable_rdma_read: true,
            ..ViAttributes::new(&tag)
        });
        Self { nic, memory, vi: vi.unwrap() }
    }

    fn message(&self) -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE];
        self.memory.read(DATA, &mut bytes).unwrap();
        bytes
    }

    /// A descriptor of the message.
    fn work(&self) -> Descriptor {
        Descriptor::new().segment(&self.memory, DATA, MESSAGE).unwrap().build(&self.memory, 0).unwrap()
    }
}

fn ip(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number)
}

fn at(number: u8) -> NetAddress {
    NetAddress { host: ip(number).into(), discriminator: vec![number] }
}

#[test]
fn messages_pass_between_simulators_whose_ports_tcp_joins() {
    let simulators = [simulator(), simulator()];
    join(simulators.each_ref());
    let [client, server] = [(0, 1), (1, 2)].map(|(n, number)| End::new(&simulators[n], number));
    let listener = server.nic.connections().unwrap().listen(&at(2), 1).unwrap();
    server.vi.post_recv(server.work()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| listener.next(LONG, &|| false).unwrap().accept(&server.vi, &[]).unwrap());
        client.nic.connections().unwrap().request(&client.vi, &at(1), &at(2), &[], LONG).unwrap();
    });
    let sent: Vec<u8> = (0..MESSAGE).map(|n| (n % 251) as u8).collect();
    client.memory.write(DATA, &sent).unwrap();
    client.vi.post_send(client.work()).unwrap();
    assert_eq!(server.vi.recv_wait(LONG).unwrap().length(), MESSAGE);
    client.vi.send_wait(LONG).unwrap();
    assert!(server.message() == sent, "what has arrived is not what was sent");

    // A read has its answer come the other way.
    let kept: Vec<u8> = (0..MESSAGE).map(|n| (n % 241) as u8).collect();
    server.memory.write(DATA, &kept).unwrap();
    let read = Descriptor::rdma_read(server.memory.remote(DATA).unwrap());
    let read = read.segment(&client.memory, DATA, MESSAGE).unwrap().build(&client.memory, 0).unwrap();
    client.vi.post_send(read).unwrap();
    client.vi.send_wait(LONG).unwrap();
    assert!(client.message() == kept, "what was read is not what is there");
    for simulator in &simulators {
        let status = simulator.handle().status().unwrap();
        assert!(status.ports[0].link.sent > 59 && status.ports[0].link.received > 59, "{:?}", status.ports);
        assert_eq!((status.ports[0].lost, status.fabric.overflow), (0, 0));
    }
}
