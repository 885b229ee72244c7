//! A program of ours that is to be killed: it keeps its peer in the middle of a message, which its VI has no receive for and answers with "not ready".
//!
//! `viaduct-linux-deaf NIC PORT` waits for a client, and sends it a message; `viaduct-linux-deaf NIC PORT SERVER` asks a server for a connection, and tells it
//! of memory, as rping's client does. It says what it has come to, a line each, and ends by no other's doing than whoever kills it.

use std::env;
use std::error::Error;
use std::net::Ipv4Addr;
use std::thread;

use vipl::connections::NetAddress;
use vipl::{Descriptor, MemAttributes, Nic, NotReady, ReliabilityLevel, ViAttributes, WITHOUT_END};

/// What it says when it waits for a client.
const LISTENS: &str = "listens";
/// What it says when a message of its peer's has found no receive.
const ASKED: &str = "asked";
/// Its memory: a descriptor, a message, and data that may be read.
const BYTES: usize = 4096;
const MESSAGE: usize = 1024;
const DATA: usize = 2048;
/// Bytes of what a client tells, and of the data.
const TOLD: usize = 16;
const LENGTH: u32 = 64;
/// Bytes of a server's message: ucmatose's.
const SENT: usize = 100;
/// InfiniBand's code of the longest time that a peer waits before it sends again: 655 ms.
const LONGEST: u8 = 0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, port, server @ ..] = &arguments[..] else { return Err("NIC PORT [SERVER]".into()) };
    let discriminator = port.parse::<u16>()?.to_be_bytes().to_vec();
    let nic = Nic::open(name)?;
    let ptag = nic.create_ptag()?;
    let memory =
        nic.allocate(BYTES, &MemAttributes { enable_rdma_read: true, ..MemAttributes::new(&ptag) })?;
    let vi = nic.create_vi(&ViAttributes {
        reliability_level: ReliabilityLevel::ReliableDelivery,
        not_ready: NotReady::Stay { timer: LONGEST, retries: WITHOUT_END },
        enable_rdma_read: true,
        ..ViAttributes::new(&ptag)
    })?;
    let refused = || -> Result<u64, vipl::Error> {
        Ok(nic.counters()?.iter().filter(|(code, _)| code.name == "RNR_SENT").map(|(_, count)| count).sum())
    };
    let before = refused()?;
    let connections = nic.connections()?;
    let own = NetAddress { host: nic.attributes().ip.into(), discriminator };
    let length = if let [server, ..] = server {
        let peer = NetAddress { host: server.parse::<Ipv4Addr>()?.into(), ..own.clone() };
        connections.request(&vi, &own, &peer, &[], None)?;
        let data = memory.remote(DATA)?;
        memory.write(MESSAGE, &data.address.to_be_bytes())?;
        memory.write(MESSAGE + 8, &data.handle.to_be_bytes())?;
        memory.write(MESSAGE + 12, &LENGTH.to_be_bytes())?;
        TOLD
    } else {
        let listener = connections.listen(&own, 1)?;
        println!("{LISTENS}");
        listener.next(None, &|| false)?.accept(&vi, &[])?;
        SENT
    };
    vi.post_send(Descriptor::new().segment(&memory, MESSAGE, length)?.build(&memory, 0)?)?;
    vi.send_wait(None)?;
    while refused()? == before {}
    println!("{ASKED}");
    loop {
        thread::park();
    }
}
