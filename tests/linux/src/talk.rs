//! The VIA program's end of a conversation: a VI with two receives for short messages, as rping has them.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Result};
use vipl::{Descriptor, DescriptorBuilder, NotReady, ReliabilityLevel, Remote, Vi, ViAttributes, ViState};

use crate::rping::server_at;
use crate::stage::{End, Stage, OWN_IP};

/// How long one thing may take, RTL on a machine that does other things.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Bytes of what client and server tell each other: an address, a key and a length, big-endian.
pub const TOLD: usize = 16;
/// Where the descriptors of the first talk lie, two receives and a send.
const DESCRIPTORS: usize = 0;
/// Where what is told lies: two places to receive, and one to send.
const MESSAGES: usize = 32 << 10;
/// Bytes of one of these places.
const PLACE: usize = 64;
/// Places of a talk.
const PLACES: usize = 3;
/// Where data lies that is read or written, or comes from the peer.
pub const SOURCE: usize = 64 << 10;
/// Where the peer writes.
pub const SINK: usize = 192 << 10;
/// All of it.
pub const BYTES: usize = 320 << 10;

/// What one end tells the other: where `length` bytes of it are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The memory.
    pub remote: Remote,
    /// Bytes.
    pub length: usize,
}

impl Told {
    fn bytes(self) -> [u8; TOLD] {
        let mut bytes = [0; TOLD];
        bytes[..8].copy_from_slice(&self.remote.address.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.remote.handle.to_be_bytes());
        bytes[12..].copy_from_slice(&(self.length as u32).to_be_bytes());
        bytes
    }

    fn of(bytes: &[u8; TOLD]) -> Self {
        let address = u64::from_be_bytes(std::array::from_fn(|n| bytes[n]));
        let [handle, length] = [8, 12].map(|at| u32::from_be_bytes(std::array::from_fn(|n| bytes[at + n])));
        Self { remote: Remote { address, handle }, length: length as usize }
    }
}

/// A VI with two receives for what is told.
pub struct Talk<'a> {
    /// Its NIC, and its memory.
    pub end: &'a End,
    /// The VI.
    pub vi: Vi,
    /// Its number among those that share the memory.
    number: usize,
    /// How many messages have been taken.
    taken: usize,
}

impl<'a> Talk<'a> {
    /// A VI that is idle, and ready to hear.
    pub fn new(end: &'a End, reliability_level: ReliabilityLevel) -> Result<Self> {
        Self::of_several(end, 0, reliability_level)
    }

    /// The same, with places of its own for what is told: one of up to 100 talks. They share the memory that is read and written.
    pub fn of_several(end: &'a End, number: usize, reliability_level: ReliabilityLevel) -> Result<Self> {
        let talk = Self { number, ..Self::deaf(end, reliability_level, NotReady::Break)? };
        talk.listen()?;
        Ok(talk)
    }

    /// A VI that is idle, and has no receives yet.
    pub fn deaf(end: &'a End, reliability_level: ReliabilityLevel, not_ready: NotReady) -> Result<Self> {
        let vi = end.nic.create_vi(&ViAttributes {
            reliability_level,
            not_ready,
            enable_rdma_write: true,
            enable_rdma_read: true,
            mtu: end.mtu,
            ..ViAttributes::new(&end.ptag)
        })?;
        Ok(Self { end, vi, number: 0, taken: 0 })
    }

    /// Starts `rping -c` in the guest, with these options, and accepts its connection.
    pub fn meet_client(&self, stage: &mut Stage, options: &str) -> Result<()> {
        let listener = self.end.nic.connections()?.listen(&server_at(OWN_IP), 1)?;
        stage.guest.start_command("rping", &format!("rping -c -a {OWN_IP} {options}"))?;
        Ok(listener.next(Some(LIMIT), &|| false)?.accept(&self.vi, &[])?)
    }

    /// Posts the receives.
    pub fn listen(&self) -> Result<()> {
        (0..2).try_for_each(|place| self.post_receive(place))
    }

    /// Where a place is among those of its kind.
    fn place(&self, place: usize) -> usize {
        PLACE * (PLACES * self.number + place)
    }

    fn post_receive(&self, place: usize) -> Result<()> {
        let receive = Descriptor::new().segment(&self.end.memory, MESSAGES + self.place(place), TOLD)?;
        Ok(self.vi.post_recv(receive.build(&self.end.memory, DESCRIPTORS + self.place(place))?)?)
    }

    /// Posts a send, a read or a write, and waits for it.
    ///
    /// # Errors
    /// It completes in error, or not at all.
    pub fn carry(&self, descriptor: DescriptorBuilder) -> Result<()> {
        self.post_send(descriptor)?;
        self.vi.send_wait(Some(LIMIT))?;
        Ok(())
    }

    fn post_send(&self, descriptor: DescriptorBuilder) -> Result<()> {
        Ok(self.vi.post_send(descriptor.build(&self.end.memory, DESCRIPTORS + self.place(2))?)?)
    }

    /// Tells the peer.
    pub fn tell(&self, told: Told) -> Result<()> {
        self.carry(self.message(told)?)
    }

    /// Tells the peer what it ends at. Nobody waits for the acknowledgement: where that is lost, the peer is gone before it could send it again, and the
    /// message completes in error though it has arrived.
    pub fn tell_last(&self, told: Told) -> Result<()> {
        self.post_send(self.message(told)?)
    }

    fn message(&self, told: Told) -> Result<DescriptorBuilder> {
        self.end.memory.write(MESSAGES + self.place(2), &told.bytes())?;
        Ok(Descriptor::new().segment(&self.end.memory, MESSAGES + self.place(2), TOLD)?)
    }

    /// Tells the peer where `length` bytes at `offset` are.
    pub fn tell_place(&self, offset: usize, length: usize) -> Result<()> {
        self.tell(Told { remote: self.end.memory.remote(offset)?, length })
    }

    /// What the peer tells next.
    pub fn hear(&mut self) -> Result<Told> {
        let receive = self.vi.recv_wait(Some(LIMIT))?;
        ensure!(receive.length() == TOLD, "a message of {} bytes", receive.length());
        let place = self.taken % 2;
        let mut bytes = [0; TOLD];
        self.end.memory.read(MESSAGES + self.place(place), &mut bytes)?;
        self.taken += 1;
        self.post_receive(place)?;
        Ok(Told::of(&bytes))
    }

    /// Reads what the peer has told of into [`SOURCE`].
    pub fn read(&self, told: Told) -> Result<()> {
        self.carry(Descriptor::rdma_read(told.remote).segment(&self.end.memory, SOURCE, told.length)?)
    }

    /// Writes what is at [`SOURCE`] there.
    pub fn write(&self, told: Told) -> Result<()> {
        self.carry(Descriptor::rdma_write(told.remote).segment(&self.end.memory, SOURCE, told.length)?)
    }

    /// Waits until the peer has ended the connection.
    ///
    /// # Errors
    /// It does not.
    pub fn until_over(&self) -> Result<()> {
        let start = Instant::now();
        while self.vi.query()?.state == ViState::Connected {
            ensure!(start.elapsed() < LIMIT, "the peer does not end the connection");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}
