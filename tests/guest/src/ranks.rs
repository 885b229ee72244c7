//! A process with a NIC of viad's, and a ball between two of them: each checks every byte of every ball.

use std::{io::Write, sync::Arc, time::Duration};

use anyhow::{bail, ensure, Context, Result};
use vipl::{
    connections::{Connections, NetAddress},
    Descriptor, Mac, MemAttributes, Nic, Region, Vi, ViAttributes,
};

use crate::{
    bench::{read, LIMIT},
    child::REFUSED,
    memory::{Pages, PAGE},
};

/// What a process says when it has its NIC.
pub const OPEN: &str = "open";
/// What a process says when the ball has been there and back.
pub const PLAYING: &str = "playing";
/// Bytes of the ball: three packets.
const BALL: usize = 3000;
/// Where it is sent from; it comes into the two pages before that by turns. Descriptors are in the first page.
const SEND: usize = 3 * PAGE;

/// One end.
struct Rank {
    vi: Vi,
    memory: Region,
    nic: Nic,
    connections: Arc<dyn Connections>,
    /// The memory, where it is not the library's: behind the region.
    _own: Pages,
}

impl Rank {
    /// Opens a NIC of viad's. A program that viad trusts registers memory of its own; any other is refused that, says the reason, and has
    /// the library allocate it.
    fn open(name: &str) -> Result<Self> {
        let nic = Nic::open(name)?;
        let ptag = nic.create_ptag()?;
        let attributes = MemAttributes::new(&ptag);
        let own = Pages::filled(4, 0)?;
        // SAFETY: the pages are dropped behind the region, and accessed by the region's copies alone.
        let registered = unsafe { nic.register(own.start(), own.length(), &attributes) };
        let memory = match (name.contains("way=trusted"), registered) {
            (true, registered) => registered.context("a trusted program registers any memory")?,
            (false, Err(error)) => {
                println!("{REFUSED}{error}");
                nic.allocate(4 * PAGE, &attributes)?
            }
            (false, Ok(_)) => bail!("viad has registered memory of a program whom it does not trust"),
        };
        let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
        let connections = nic.connections()?;
        Ok(Self { vi, memory, nic, connections, _own: own })
    }

    fn address(&self, host: Mac, discriminator: &str) -> NetAddress {
        NetAddress { host: host.into(), discriminator: discriminator.into() }
    }

    fn own(&self, discriminator: &str) -> NetAddress {
        self.address(self.nic.attributes().local_nic_address, discriminator)
    }

    /// A descriptor in a slot of the first page, for the ball at `data`.
    fn descriptor(&self, slot: usize, data: usize) -> Result<Descriptor> {
        Ok(Descriptor::new().segment(&self.memory, data, BALL)?.build(&self.memory, 64 * slot)?)
    }

    /// Ready for the balls of an even and an odd number.
    fn ready(&self) -> Result<()> {
        for turn in 0..2 {
            self.vi.post_recv(self.descriptor(turn, PAGE * (1 + turn))?)?;
        }
        Ok(())
    }

    /// Takes a ball, and is ready for the one after the next.
    fn take(&self, turn: u64) -> Result<()> {
        let ball = self.vi.recv_wait(Some(LIMIT)).with_context(|| format!("ball {turn}"))?;
        ensure!(ball.length() == BALL, "ball {turn} has {} bytes", ball.length());
        let data = PAGE * (1 + turn as usize % 2);
        ensure!(read(&self.memory, data, BALL)? == bytes(turn), "ball {turn} has other bytes");
        Ok(self.vi.post_recv(ball)?)
    }

    fn send(&self, turn: u64, descriptor: Descriptor) -> Result<Descriptor> {
        self.memory.write(SEND, &bytes(turn))?;
        self.vi.post_send(descriptor)?;
        self.vi.send_wait(Some(LIMIT)).with_context(|| format!("ball {turn} is sent"))
    }
}

/// The bytes of a ball.
fn bytes(turn: u64) -> Vec<u8> {
    (0..BALL as u64).map(|n| (n.wrapping_mul(7) ^ turn) as u8).collect()
}

/// Says something at once.
pub fn say(what: &str) -> Result<()> {
    println!("{what}");
    Ok(std::io::stdout().flush()?)
}

/// Waits for somebody with a ball, and returns each.
pub fn give_back(name: &str, balls: Option<u64>) -> Result<()> {
    let rank = Rank::open(name)?;
    rank.ready()?;
    say(OPEN)?;
    let request = rank.connections.wait(&rank.own("ball"), Some(LIMIT), &|| false)?;
    request.accept(&rank.vi, &[])?;
    let mut send = rank.descriptor(2, SEND)?;
    for turn in 0..balls.unwrap_or(u64::MAX) {
        rank.take(turn)?;
        send = rank.send(turn, send)?;
    }
    // The other one ends it.
    rank.vi.recv_wait(Some(LIMIT)).map(drop).unwrap_or_default();
    Ok(rank.vi.disconnect()?)
}

/// Serves the ball to who waits at a NIC.
pub fn serve(name: &str, peer: Mac, balls: Option<u64>) -> Result<()> {
    let rank = Rank::open(name)?;
    rank.ready()?;
    let to = rank.address(peer, "ball");
    loop {
        match rank.connections.request(&rank.vi, &rank.own("server"), &to, &[], Some(LIMIT)) {
            // It does not wait yet.
            Err(vipl::Error::NoMatch) => std::thread::sleep(Duration::from_millis(50)),
            asked => break drop(asked?),
        }
    }
    let mut send = rank.descriptor(2, SEND)?;
    for turn in 0..balls.unwrap_or(u64::MAX) {
        send = rank.send(turn, send)?;
        rank.take(turn)?;
        if turn == 0 {
            say(PLAYING)?;
        }
    }
    Ok(rank.vi.disconnect()?)
}
