//! A program of ours that is to be killed: `viaduct-linux-deaf NIC PORT` waits for a client and sends it a message. For what the client answers its VI has no
//! receive: the NIC says "not ready" each time, so the client's message is never over. The program says what it has come to, a line each, and ends when
//! somebody kills it.

use std::env;
use std::error::Error;
use std::thread;

use vipl::connections::NetAddress;
use vipl::{Descriptor, MemAttributes, Nic, NotReady, ReliabilityLevel, ViAttributes, WITHOUT_END};

/// What it says when it waits for a client.
const LISTENS: &str = "listens";
/// What it says when a message of its client's has found no receive.
const ASKED: &str = "asked";
/// Its memory: a descriptor, and a message.
const BYTES: usize = 4096;
const MESSAGE: usize = 1024;
/// Bytes of the message: ucmatose's.
const SENT: usize = 100;
/// InfiniBand's code of the longest time that a peer waits before it sends again: 655 ms.
const LONGEST: u8 = 0;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, port] = &arguments[..] else { return Err("NIC PORT".into()) };
    let discriminator = port.parse::<u16>()?.to_be_bytes().to_vec();
    let nic = Nic::open(name)?;
    let ptag = nic.create_ptag()?;
    let memory = nic.allocate(BYTES, &MemAttributes::new(&ptag))?;
    let vi = nic.create_vi(&ViAttributes {
        reliability_level: ReliabilityLevel::ReliableDelivery,
        not_ready: NotReady::Stay { timer: LONGEST, retries: WITHOUT_END },
        ..ViAttributes::new(&ptag)
    })?;
    let refused = || -> Result<u64, vipl::Error> {
        Ok(nic.counters()?.iter().filter(|(code, _)| code.name == "RNR_SENT").map(|(_, count)| count).sum())
    };
    let before = refused()?;
    let own = NetAddress { host: nic.attributes().ip.into(), discriminator };
    let listener = nic.connections()?.listen(&own, 1)?;
    println!("{LISTENS}");
    listener.next(None, &|| false)?.accept(&vi, &[])?;
    vi.post_send(Descriptor::new().segment(&memory, MESSAGE, SENT)?.build(&memory, 0)?)?;
    vi.send_wait(None)?;
    while refused()? == before {}
    println!("{ASKED}");
    loop {
        thread::park();
    }
}
