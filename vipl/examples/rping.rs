//! rping of Linux' librdmacm with a VI at the other end: `rping NIC` serves one `rping -c -a IP`, `rping NIC IP` asks an `rping -s`.
//!
//! In each round the client tells where its source is; the server reads it by RDMA, and says so; the client tells where its sink is; the server
//! writes there what it has read, and says so. What is told has 16 bytes, big-endian: address, key (VIA's MemoryHandle), and length.

use std::net::Ipv4Addr;

use vipl::{
    connections::NetAddress, Descriptor, DescriptorBuilder, ReliabilityLevel, Remote, Vi, ViAttributes,
    ViState,
};

mod common;
use common::{End, Result};

/// rping's port. A discriminator of two bytes is a port of rdma_cm's.
const PORT: u16 = 7174;
/// Pings of a client.
const PINGS: usize = 10;
/// Bytes of a client's ping: as many as `rping -s` has room for, if it is not told otherwise.
const PING: usize = 64;
/// Bytes of what is told.
const TOLD: usize = 16;
/// Where it lies: two places to receive, and one to send. Their descriptors are at the start of the memory, 64 bytes each.
const HEARD: [usize; 2] = [4096, 4160];
const SAID: usize = 4224;
/// Where data lies: of a client's that is read, of a server's whatever it has read.
const SOURCE: usize = 8192;
/// Bytes of it, at most.
const ROOM: usize = 64 << 10;
/// Where a client's data comes back.
const SINK: usize = SOURCE + ROOM;

/// Where so many bytes of one side are.
#[derive(Clone, Copy)]
struct Place {
    remote: Remote,
    length: usize,
}

/// One end of a conversation.
struct Talk<'a> {
    end: &'a End,
    vi: Vi,
    heard: usize,
}

impl<'a> Talk<'a> {
    /// A VI as rdma_cm's programs are taken to have: of Reliable Delivery. Two receives are posted before the peer can send.
    fn new(end: &'a End) -> Result<Self> {
        let vi = end.nic.create_vi(&ViAttributes {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            enable_rdma_write: true,
            enable_rdma_read: true,
            ..ViAttributes::new(&end.ptag)
        })?;
        let talk = Self { end, vi, heard: 0 };
        talk.listen(0)?;
        talk.listen(1)?;
        Ok(talk)
    }

    fn listen(&self, place: usize) -> Result<()> {
        Ok(self.vi.post_recv(self.end.describe(64 * place, HEARD[place], TOLD)?)?)
    }

    fn carry(&self, work: DescriptorBuilder) -> Result<()> {
        self.vi.post_send(work.build(&self.end.memory, 128)?)?;
        self.vi.send_wait(None)?;
        Ok(())
    }

    fn tell(&self, place: Place) -> Result<()> {
        let Place { remote, length } = place;
        let mut told = [0; TOLD];
        told[..8].copy_from_slice(&remote.address.to_be_bytes());
        told[8..12].copy_from_slice(&remote.handle.to_be_bytes());
        told[12..].copy_from_slice(&u32::try_from(length)?.to_be_bytes());
        self.end.memory.write(SAID, &told)?;
        self.carry(Descriptor::new().segment(&self.end.memory, SAID, TOLD)?)
    }

    /// What the peer tells next. None: it has gone.
    fn hear(&mut self) -> Result<Option<Place>> {
        match self.vi.recv_wait(None) {
            Ok(received) if received.length() == TOLD => {}
            Ok(received) => return Err(format!("a message of {} bytes", received.length()).into()),
            Err(_) if self.vi.query()?.state != ViState::Connected => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let place = self.heard % 2;
        let told = self.end.read(HEARD[place], TOLD)?;
        self.heard += 1;
        self.listen(place)?;
        let address = u64::from_be_bytes(told[..8].try_into()?);
        let handle = u32::from_be_bytes(told[8..12].try_into()?);
        let length = u32::from_be_bytes(told[12..].try_into()?) as usize;
        Ok(Some(Place { remote: Remote { address, handle }, length }))
    }
}

fn at(host: Ipv4Addr, discriminator: &[u8]) -> NetAddress {
    NetAddress { host: host.into(), discriminator: discriminator.to_vec() }
}

fn serve(end: &End) -> Result<()> {
    let mut talk = Talk::new(end)?;
    let own = at(end.nic.attributes().ip, &PORT.to_be_bytes());
    let listener = end.nic.connections()?.listen(&own, 1)?;
    println!("{}", end.nic.attributes().ip);
    listener.next(None, &|| false)?.accept(&talk.vi, &[])?;
    let mut pings = 0;
    // The client ends it.
    while let Some(source) = talk.hear()? {
        if source.length > ROOM {
            return Err(format!("a ping of {} bytes", source.length).into());
        }
        talk.carry(Descriptor::rdma_read(source.remote).segment(&end.memory, SOURCE, source.length)?)?;
        talk.tell(source)?;
        let Some(sink) = talk.hear()? else { break };
        talk.carry(Descriptor::rdma_write(sink.remote).segment(&end.memory, SOURCE, source.length)?)?;
        talk.tell(sink)?;
        pings += 1;
    }
    println!("{pings} pings served");
    Ok(talk.vi.disconnect()?)
}

fn ask(end: &End, server: Ipv4Addr) -> Result<()> {
    let mut talk = Talk::new(end)?;
    let (own, server) = (at(end.nic.attributes().ip, b"rping"), at(server, &PORT.to_be_bytes()));
    let connections = end.nic.connections()?;
    loop {
        match connections.request(&talk.vi, &own, &server, &[], None) {
            // It does not listen yet.
            Err(vipl::Error::NoMatch) => {}
            answer => break answer.map(drop)?,
        }
    }
    for ping in 0..PINGS {
        // rping's are C strings.
        let mut text: Vec<u8> = (0..PING).map(|n| b'A' + ((n + ping) % 26) as u8).collect();
        text[PING - 1] = 0;
        end.memory.write(SOURCE, &text)?;
        for place in [SOURCE, SINK] {
            talk.tell(Place { remote: end.memory.remote(place)?, length: PING })?;
            talk.hear()?.ok_or("the server has gone")?;
        }
        if end.read(SINK, PING)? != text {
            return Err(format!("ping {ping} has come back as another").into());
        }
    }
    println!("{PINGS} pings of {PING} bytes came back");
    Ok(talk.vi.disconnect()?)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let open = |nic: &str| End::open(nic, SINK + ROOM);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [nic] => serve(&open(nic)?),
        [nic, server] => ask(&open(nic)?, server.parse()?),
        _ => Err("rping NIC [IP]".into()),
    }
}
