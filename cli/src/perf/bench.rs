//! One side of a measurement: its memory, its descriptors, and the check of the first message of each size.

use anyhow::{anyhow, bail, ensure, Result};
use serde::{Deserialize, Serialize};
use vipl::{Descriptor, DescriptorBuilder, Error, MemAttributes, Nic, Region, Remote, Vi};

use super::{
    figures::Rates,
    terms::{Operation, Terms},
};
use crate::{
    peer::{End, Names, Needs, Options},
    stop::Stop,
};

/// Bytes of a descriptor's place.
const DESCRIPTOR: usize = 64;
/// Credits that may be under way. Each stands for half a queue: there are two, and with an odd depth a third.
const CREDITS: usize = 4;

/// Which side it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It waits for the client.
    Server,
    /// It asks, measures and tells.
    Client,
}

/// A control message of one side to the other.
#[derive(Debug, Serialize, Deserialize)]
pub enum PerfMessage {
    /// Where its memory is, as addresses and handles: what the peer writes to, and what it reads.
    Memory([(u64, u32); 2]),
    /// It waits for the next step.
    Ready,
    /// The first message is as it should be; or the place of its first byte that is not, that byte, and what it should be.
    Checked(Option<(u32, u8, u8)>),
    /// It has sent all messages of a size, at these rates.
    Finished(Rates),
}

/// A side.
pub struct Bench {
    /// Its end of the connection.
    pub end: End,
    /// Which side it is.
    pub role: Role,
    /// It sleeps in place of polling.
    pub sleep: bool,
    terms: Terms,
    descriptors: Region,
    /// What its messages hold, and the peer reads.
    source: Region,
    /// What the peer writes to, and its own reads go to.
    target: Region,
    /// The peer's target and source.
    remote: [Remote; 2],
    /// Sends for credits that are not posted.
    credits: Vec<Descriptor>,
}

impl Bench {
    /// A side that is not connected, with its receives posted.
    ///
    /// # Errors
    /// A size that the NIC has not; no memory; the NIC's.
    pub fn new(
        nic: Nic,
        options: &Options,
        terms: Terms,
        role: Role,
        sleep: bool,
        stop: &Stop,
    ) -> Result<Self> {
        let names = match role {
            Role::Server => Names { own: "server", other: "client" },
            Role::Client => Names { own: "client", other: "server" },
        };
        let depth = usize::from(terms.depth);
        let reads = terms.operation == Operation::Read;
        let needs = Needs {
            names,
            message: terms.largest(),
            sends: depth + CREDITS,
            receives: depth + CREDITS,
            shared: true,
            rdma: [reads, terms.operation == Operation::Write],
        };
        let end = End::new(nic, options, &needs, stop)?;
        let local = MemAttributes::new(&end.ptag);
        let bytes = terms.largest() as usize;
        let source = MemAttributes { enable_rdma_read: reads, ..local.clone() };
        let target = MemAttributes { enable_rdma_write: needs.rdma[1], ..local.clone() };
        let descriptors = end.nic.allocate((depth + CREDITS) * DESCRIPTOR, &local)?;
        let credits = (depth..depth + CREDITS)
            .map(|n| Descriptor::new().immediate(0).build(&descriptors, n * DESCRIPTOR))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            source: end.nic.allocate(bytes, &source)?,
            target: end.nic.allocate(bytes, &target)?,
            remote: [Remote { address: 0, handle: 0 }; 2],
            end,
            role,
            sleep,
            terms,
            descriptors,
            credits,
        })
    }

    /// What is measured.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// Its VI.
    pub fn vi(&self) -> &Vi {
        &self.end.vi
    }

    /// Whether this side sends.
    pub fn sends(&self) -> bool {
        self.role == Role::Client || self.terms.both_send()
    }

    /// Waits until the other side has left: [`End::wait_for_its_end`].
    pub fn wait_for_its_end(&mut self) {
        self.end.wait_for_its_end();
    }

    /// Completes the reason why this side gives up: [`End::explain`].
    pub fn explain(&mut self, error: anyhow::Error) -> anyhow::Error {
        self.end.explain(error, true)
    }

    /// The two sides, connected, tell each other where their memory is.
    ///
    /// # Errors
    /// Those of [`Bench::hear`].
    pub fn meet(&mut self) -> Result<()> {
        self.end.begin();
        let place = |region: &Region| region.remote(0).map(|remote| (remote.address, remote.handle));
        let own = PerfMessage::Memory([place(&self.target)?, place(&self.source)?]);
        self.send_control(&own)?;
        let said = self.receive_control()?;
        let PerfMessage::Memory(places) = said else { return Err(out_of_turn(&said)) };
        self.remote = places.map(|(address, handle)| Remote { address, handle });
        Ok(())
    }

    /// Waits until both sides are here.
    ///
    /// # Errors
    /// Those of [`Bench::hear`].
    pub fn together(&mut self) -> Result<()> {
        self.send_control(&PerfMessage::Ready)?;
        match self.receive_control()? {
            PerfMessage::Ready => Ok(()),
            said => Err(out_of_turn(&said)),
        }
    }

    /// Sends a control message, and waits until it is on its way.
    ///
    /// # Errors
    /// Those of [`End::wait_sent`].
    pub fn send_control(&mut self, what: &PerfMessage) -> Result<()> {
        for sent in self.end.send_control(what)? {
            ensure!(self.keep_credit(sent).is_none(), "a message was complete when nobody waited for it");
        }
        Ok(())
    }

    /// The other side's next control message.
    ///
    /// # Errors
    /// It gives up, or sends data; those of [`End::wait_receive`].
    pub fn receive_control(&mut self) -> Result<PerfMessage> {
        self.end.receive_control()
    }

    /// The descriptor of message `n`, of so many bytes.
    pub fn message(&self, n: usize, size: u32) -> Result<Descriptor> {
        let [target, source] = self.remote;
        let operation: DescriptorBuilder = match self.terms.operation {
            Operation::Send => Descriptor::new(),
            Operation::Write => Descriptor::rdma_write(target),
            Operation::Read => Descriptor::rdma_read(source),
        };
        let local = if self.terms.operation == Operation::Read { &self.target } else { &self.source };
        let message = operation.segment(local, 0, size as usize)?;
        Ok(message.build(&self.descriptors, n * DESCRIPTOR)?)
    }

    /// Tells the other side how many of its messages have come, if there is a descriptor for that. Whether it did.
    pub fn send_credit(&mut self, count: u64) -> Result<bool, Error> {
        let Some(mut credit) = self.credits.pop() else { return Ok(false) };
        // The other side takes it modulo 2^32.
        credit.set_immediate(Some(count as u32));
        self.end.vi.post_send(credit)?;
        Ok(true)
    }

    /// Takes a completed send back, if it was a credit; else it is a message.
    pub fn keep_credit(&mut self, sent: Descriptor) -> Option<Descriptor> {
        if sent.offset() < usize::from(self.terms.depth) * DESCRIPTOR {
            return Some(sent);
        }
        self.credits.push(sent);
        None
    }

    /// Puts a byte to the end of the messages' data.
    pub fn mark(&self, size: u32, byte: u8) -> Result<(), Error> {
        self.source.write(size as usize - 1, &[byte])
    }

    /// The byte at the end of what the peer writes.
    pub fn marked(&self, size: u32) -> Result<u8, Error> {
        let mut byte = [0];
        self.target.read(size as usize - 1, &mut byte)?;
        Ok(byte[0])
    }

    /// Checks the first message of a size, byte for byte, in each direction that is measured. Both sides are ready for the measurement
    /// then.
    ///
    /// # Errors
    /// A byte is another one than was sent; those of [`Bench::hear`].
    pub fn check(&mut self, size: u32) -> Result<()> {
        self.source.write(0, &pattern(self.role, size))?;
        self.target.write(0, &vec![0; size as usize])?;
        self.together()?;
        for from in [Role::Client, Role::Server] {
            if from == Role::Server && !self.terms.both_send() {
                continue;
            }
            if from == self.role {
                self.check_own(size)?;
            } else {
                self.check_other(size)?;
            }
        }
        // What a write's latency waits for is not there yet.
        self.target.write(size as usize - 1, &[0])?;
        self.together()
    }

    /// The first message of ours.
    fn check_own(&mut self, size: u32) -> Result<()> {
        self.end.vi.post_send(self.message(0, size)?)?;
        self.end.wait_sent(true)?;
        if self.terms.operation == Operation::Read {
            let wrong = self.compare(size, &self.read_target(size)?);
            self.send_control(&PerfMessage::Checked(wrong))?;
            return judge(size, wrong);
        }
        if self.terms.operation == Operation::Write {
            // What is said behind a write arrives behind it.
            self.send_control(&PerfMessage::Ready)?;
        }
        match self.receive_control()? {
            PerfMessage::Checked(wrong) => judge(size, wrong),
            said => Err(out_of_turn(&said)),
        }
    }

    /// The first message of the other side's.
    fn check_other(&mut self, size: u32) -> Result<()> {
        let data = match self.terms.operation {
            Operation::Read => match self.receive_control()? {
                PerfMessage::Checked(wrong) => return judge(size, wrong),
                said => return Err(out_of_turn(&said)),
            },
            Operation::Write => match self.receive_control()? {
                PerfMessage::Ready => self.read_target(size)?,
                said => return Err(out_of_turn(&said)),
            },
            Operation::Send => {
                let receive = self.end.wait_receive(true)?;
                if let Some(said) = self.end.control_of(&receive)? {
                    return Err(out_of_turn(&said));
                }
                let data = self.end.read(&receive)?;
                self.end.vi.post_recv(receive)?;
                let length = data.len();
                ensure!(length == size as usize, "the first message has {length} bytes, not {size}");
                data
            }
        };
        let wrong = self.compare(size, &data);
        self.send_control(&PerfMessage::Checked(wrong))?;
        judge(size, wrong)
    }

    fn read_target(&self, size: u32) -> Result<Vec<u8>, Error> {
        let mut data = vec![0; size as usize];
        self.target.read(0, &mut data)?;
        Ok(data)
    }

    /// The first byte of the other side's data that is not as it should be.
    fn compare(&self, size: u32, data: &[u8]) -> Option<(u32, u8, u8)> {
        let other = if self.role == Role::Client { Role::Server } else { Role::Client };
        first_difference(data, &pattern(other, size))
    }
}

/// The place of the first byte that is not as it should be, that byte, and what it should be.
fn first_difference(data: &[u8], should: &[u8]) -> Option<(u32, u8, u8)> {
    let mut both = data.iter().zip(should).enumerate();
    both.find(|(_, (is, should))| is != should).map(|(n, (is, should))| (n as u32, *is, *should))
}

/// The error that both sides end with if the first message was not as it should be.
fn judge(size: u32, wrong: Option<(u32, u8, u8)>) -> Result<()> {
    if let Some((n, is, should)) = wrong {
        bail!("byte {n} of the first message of {size} bytes came as {is:#04x}, and is {should:#04x}");
    }
    Ok(())
}

/// The error for what the other side says when something else is due.
pub fn out_of_turn(said: &PerfMessage) -> anyhow::Error {
    anyhow!("the other side says {said:?} out of turn")
}

/// What a side's first message of a size holds. No two sizes, and no two sides, have the same.
fn pattern(role: Role, size: u32) -> Vec<u8> {
    let salt = size.wrapping_mul(0x9e37_79b1).wrapping_add(role as u32 + 1);
    (0..size).map(|n| ((n ^ salt).wrapping_mul(0x85eb_ca6b) >> 24) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_wrong_is_named() {
        let should = pattern(Role::Server, 5000);
        assert_eq!(first_difference(&should, &should), None);
        for n in [0, 1, 4098, 4999] {
            let mut data = should.clone();
            data[n] ^= 0x10;
            let wrong = first_difference(&data, &should);
            assert_eq!(wrong, Some((n as u32, data[n], should[n])));
            let error = judge(5000, wrong).expect_err("wrong").to_string();
            assert!(error.starts_with(&format!("byte {n} of the first message of 5000 bytes")), "{error}");
        }
    }

    #[test]
    fn patterns_differ_by_side_and_size_and_within() {
        let of = |role, size| pattern(role, size)[..256].to_vec();
        assert_ne!(of(Role::Client, 256), of(Role::Server, 256));
        assert_ne!(of(Role::Client, 256), of(Role::Client, 512));
        let mut values = of(Role::Client, 256);
        values.sort_unstable();
        values.dedup();
        assert!(values.len() > 100, "{}", values.len());
    }
}
