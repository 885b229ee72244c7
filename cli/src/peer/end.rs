//! An end of a connection: its VI, and the control messages that the two programs send each other on it beside their data.
//!
//! A control message has immediate data and a text; data has no immediate data, and a credit has nothing else. Each end keeps
//! receives posted for the other one's control messages, beside those for data: VIA breaks a reliable connection whose message finds none.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure, Context, Result};
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use vipl::{Descriptor, Error, MemAttributes, Nic, Ptag, Region, Status, Vi, ViAttributes};

use super::{inbox::Inbox, Options};
use crate::{note, stop::Stop};

/// Most bytes of a control message: each receive has room for one.
const CONTROL_BYTES: usize = 1024;
/// Descriptors of control messages: each queue has room for them.
const CONTROLS: usize = 2;
/// The immediate data of a control message.
const CONTROL: u32 = 0x7764_726f;
/// Bytes of a control message's slot: its descriptor, and then the text.
const SLOT: usize = 64 + CONTROL_BYTES;
/// Which slot is for the work, and which for the reason of a failure.
const WORK_SLOT: usize = 0;
const REASON_SLOT: usize = 1;
/// Most bytes of a reason for giving up: what is left of the text behind its encoding.
const REASON: usize = CONTROL_BYTES - 8;
/// How often an end that waits looks whether it is to give up.
const LOOK: Duration = Duration::from_millis(100);
/// How long an end that failed waits for the reason of the other one.
const EXPLANATION: Duration = Duration::from_millis(500);

/// What the two ends are called in what people read.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// This end.
    pub own: &'static str,
    /// The other one.
    pub other: &'static str,
}

/// What an end needs.
pub struct Needs {
    /// Names of the ends.
    pub names: Names,
    /// Largest message in bytes, beside control messages.
    pub message: u32,
    /// Sends that are posted at once, beside control messages.
    pub sends: usize,
    /// Receives that are posted, beside those for control messages.
    pub receives: usize,
    /// The receives share one buffer for what is longer than a control message.
    pub shared: bool,
    /// The peer reads this end's memory by itself, or writes it.
    pub rdma: [bool; 2],
}

/// A control message.
#[derive(Serialize, Deserialize)]
enum ControlMessage<T> {
    /// Part of the work.
    Work(T),
    /// It has given up, and why.
    GaveUp(String),
}

/// An end.
pub struct End {
    /// Its NIC.
    pub nic: Nic,
    /// The tag of its VI.
    pub ptag: Ptag,
    /// Its VI.
    pub vi: Vi,
    names: Names,
    inbox: Inbox,
    /// The slots of control messages.
    controls: Region,
    stop: Stop,
    timeout: Duration,
    /// Something has happened since `last`.
    moved: bool,
    last: Instant,
    looked: Instant,
}

impl End {
    /// An end that is not connected, with all receives posted.
    ///
    /// # Errors
    /// A message that is larger than the NIC's largest; no memory; the NIC's.
    pub fn new(nic: Nic, options: &Options, needs: &Needs, stop: &Stop) -> Result<Self> {
        let most = nic.attributes().max_transfer_size;
        let message = needs.message;
        ensure!((1..=most).contains(&message), "messages of {message} bytes: this NIC has 1 to {most} bytes");
        let ptag = nic.create_ptag()?;
        let room = message.max(CONTROL_BYTES as u32);
        let [reads, writes] = needs.rdma;
        let receives = needs.receives + CONTROLS;
        let vi = nic.create_vi(&ViAttributes {
            reliability_level: options.reliability.into(),
            max_transfer_size: room,
            mtu: options.mtu,
            depth: receives.max(needs.sends + CONTROLS),
            enable_rdma_read: reads,
            enable_rdma_write: writes,
            ..ViAttributes::new(&ptag)
        })?;
        let own = if needs.shared { CONTROL_BYTES } else { room as usize };
        let inbox = Inbox::new(&nic, &ptag, receives, room as usize, own)?;
        inbox.post(&vi)?;
        let controls = nic.allocate(CONTROLS * SLOT, &MemAttributes::new(&ptag))?;
        let (last, looked) = (Instant::now(), Instant::now());
        let (stop, timeout, names) = (stop.clone(), options.timeout(), needs.names);
        Ok(Self { nic, ptag, vi, names, inbox, controls, stop, timeout, moved: true, last, looked })
    }

    /// The time without progress begins now.
    pub fn begin(&mut self) {
        self.moved = true;
    }

    /// Nothing has happened. It is an error where the end is to give up.
    ///
    /// # Errors
    /// A signal; nothing has happened for too long.
    pub fn idle(&mut self) -> Result<()> {
        if std::mem::take(&mut self.moved) {
            self.last = Instant::now();
        }
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        self.stop.check()?;
        if self.last.elapsed() > self.timeout {
            bail!("no progress for {} s", self.timeout.as_secs());
        }
        Ok(())
    }

    /// Takes a receive that is complete, if there is one. Whoever has read it posts it again.
    ///
    /// # Errors
    /// The connection has ended; it completed in error; the NIC's.
    pub fn receive(&mut self) -> Result<Option<Descriptor>> {
        let result = self.vi.recv_done();
        self.done(result, "a receive")
    }

    /// [`End::receive`], as soon as there is one. With `sleep` it sleeps until then, else it polls.
    ///
    /// # Errors
    /// As [`End::receive`] and [`End::idle`].
    pub fn wait_receive(&mut self, sleep: bool) -> Result<Descriptor> {
        loop {
            let result = if sleep { self.vi.recv_wait(Some(LOOK)) } else { self.vi.recv_done() };
            match self.done(result, "a receive")? {
                Some(receive) => return Ok(receive),
                None => self.idle()?,
            }
        }
    }

    /// Takes a send that is complete, if there is one.
    ///
    /// # Errors
    /// The connection has ended; it completed in error; the NIC's.
    pub fn sent(&mut self) -> Result<Option<Descriptor>> {
        let result = self.vi.send_done();
        self.done(result, "a send")
    }

    /// [`End::sent`], as soon as there is one. With `sleep` it sleeps until then, else it polls.
    ///
    /// # Errors
    /// As [`End::sent`] and [`End::idle`].
    pub fn wait_sent(&mut self, sleep: bool) -> Result<Descriptor> {
        loop {
            let result = if sleep { self.vi.send_wait(Some(LOOK)) } else { self.vi.send_done() };
            match self.done(result, "a send")? {
                Some(send) => return Ok(send),
                None => self.idle()?,
            }
        }
    }

    /// A completed descriptor, None while there is none, or why there never will be one. An empty queue has none.
    fn done(&mut self, result: Result<Descriptor, Error>, what: &str) -> Result<Option<Descriptor>> {
        match result {
            Ok(descriptor) => {
                self.moved = true;
                Ok(Some(descriptor))
            }
            Err(Error::NotDone | Error::Empty | Error::Timeout) => Ok(None),
            Err(Error::Descriptor(failed)) => {
                let (other, status) = (self.names.other, failed.status());
                if status.contains(Status::DESC_FLUSHED_ERROR) {
                    bail!("the connection with the {other} ended before all was done");
                }
                let broke = status.contains(Status::TRANSPORT_ERROR);
                let failed = anyhow!(Error::Descriptor(failed)).context(format!("{what} failed"));
                Err(if broke {
                    failed.context(format!("the connection with the {other} broke"))
                } else {
                    failed
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The data of a message.
    pub fn read(&self, receive: &Descriptor) -> Result<Vec<u8>> {
        Ok(self.inbox.read(receive)?)
    }

    /// Sends a control message, and waits until it is on its way. Sends of before that complete meanwhile are given back.
    ///
    /// # Errors
    /// As [`End::wait_sent`].
    pub fn send_control(&mut self, what: &impl Serialize) -> Result<Vec<Descriptor>> {
        self.post_control(WORK_SLOT, &ControlMessage::Work(what))?;
        let mut others = Vec::new();
        loop {
            let sent = self.wait_sent(true)?;
            if sent.is_in(&self.controls) {
                return Ok(others);
            }
            others.push(sent);
        }
    }

    /// The other end's next control message. Data is none; credits that come late are passed over.
    ///
    /// # Errors
    /// The other end gives up, or sends data; as [`End::wait_receive`].
    pub fn receive_control<T: DeserializeOwned>(&mut self) -> Result<T> {
        loop {
            let receive = self.wait_receive(true)?;
            let said = self.control_of(&receive)?;
            let (data, length) = (receive.immediate().is_none(), receive.length());
            self.vi.post_recv(receive)?;
            match said {
                Some(said) => return Ok(said),
                None if data => bail!("the {} sent {length} bytes of data out of turn", self.names.other),
                None => {}
            }
        }
    }

    /// The control message that came with a receive; None: it is data, or a credit.
    ///
    /// # Errors
    /// The other end gives up, or the message cannot be parsed.
    pub fn control_of<T: DeserializeOwned>(&self, receive: &Descriptor) -> Result<Option<T>> {
        if receive.immediate() != Some(CONTROL) || receive.length() == 0 {
            return Ok(None);
        }
        let other = self.names.other;
        let said = self.read(receive)?;
        let said = postcard::from_bytes(&said)
            .with_context(|| format!("a control message of the {other} cannot be parsed"));
        match said? {
            ControlMessage::Work(said) => Ok(Some(said)),
            ControlMessage::GaveUp(reason) => bail!("the {other} gave up: {reason}"),
        }
    }

    fn post_control(&self, slot: usize, message: &ControlMessage<impl Serialize>) -> Result<()> {
        let text = postcard::to_stdvec(message)?;
        ensure!(
            text.len() <= CONTROL_BYTES,
            "a control message of {} bytes: {CONTROL_BYTES} at most",
            text.len()
        );
        let at = slot * SLOT;
        self.controls.write(at + 64, &text)?;
        let send = Descriptor::new().segment(&self.controls, at + 64, text.len())?.immediate(CONTROL);
        Ok(self.vi.post_send(send.build(&self.controls, at)?)?)
    }

    /// Waits until the other end has left: it has all that was for it then. Messages that still come are dropped.
    pub fn wait_for_its_end(&mut self) {
        self.begin();
        while let Ok(receive) = self.wait_receive(true) {
            drop(receive);
        }
    }

    /// Completes the reason why this end gives up by what its NIC has to say, tells the other end, and, with `listen`, waits for the other one's
    /// reason.
    pub fn explain(&mut self, error: anyhow::Error, listen: bool) -> anyhow::Error {
        let own = self.names.own;
        let mut text = format!("{error:#}");
        match self.nic.check() {
            Ok(()) => {
                let reasons = note::reasons(&self.nic);
                if !reasons.is_empty() {
                    text += &format!("; the {own}'s NIC: {reasons}");
                }
            }
            // Whatever failed, it failed because of this.
            Err(gone) if !error.downcast_ref::<Error>().is_some_and(Error::is_gone) => {
                return anyhow!("{text}; {gone}");
            }
            Err(_) => return anyhow!(text),
        }
        let mut end = text.len().min(REASON);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // A peer that is gone need not be told, and says nothing.
        let told = self.post_control(REASON_SLOT, &ControlMessage::<()>::GaveUp(text[..end].into())).is_ok();
        let (start, mut sent, mut heard) = (Instant::now(), !told, !listen);
        while start.elapsed() < EXPLANATION && !(sent && heard) {
            match self.vi.recv_wait(Some(LOOK / 10)) {
                Ok(receive) => {
                    if let Err(reason) = self.control_of::<()>(&receive) {
                        // It may give up because this end did: what was told it need not be told here.
                        let reason = format!("{reason:#}");
                        let known = reason.contains(text.as_str());
                        if listen && !known && !text.contains(&reason) {
                            text += &format!("; {reason}");
                        }
                        heard = true;
                    }
                }
                Err(Error::Timeout) => {}
                Err(_) => heard = true,
            }
            while let Ok(done) = self.vi.send_done() {
                sent |= done.is_in(&self.controls) && done.offset() == REASON_SLOT * SLOT;
            }
        }
        anyhow!(text)
    }
}

/// How many messages the other end has taken off its receives: its count modulo 2^32 is the immediate data of a credit. `taken` is what was
/// known before, `sent` how many there were.
///
/// # Errors
/// It is no credit, or for more messages than were sent.
pub fn credit_of(credit: &Descriptor, taken: u64, sent: u64) -> Result<u64> {
    let Some(count) = credit.immediate() else { bail!("the other end sent data where a credit was due") };
    let taken = taken + u64::from(count.wrapping_sub(taken as u32));
    ensure!(taken <= sent, "the other end says that it has taken {taken} messages, of {sent} that were sent");
    Ok(taken)
}
