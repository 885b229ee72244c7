//! Virtual interfaces.

use std::{
    io::{Read, Write},
    sync::Arc,
    time::{Duration, Instant},
};

pub use viaduct_driver::agent::vis::ViState;
use viaduct_driver::{
    address::{ConnectionInfo, Mtu, Service},
    agent::vis::{Direction, Vi as AgentVi, ViAttributes as AgentViAttributes, MAX_RING_LOG2},
};

use crate::{
    queue::{Posted, Queue},
    Cq, Descriptor, Error, Nic, Ptag, ViId,
};

/// VIA's reliability levels.
pub use viaduct_driver::address::Service as ReliabilityLevel;

/// How long a disconnect waits for the NIC to flush what is posted. It is a matter of microseconds
/// unless the memory of a descriptor is no longer valid.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// The longest line that a peer may say while a connection is made.
const MAX_LINE: usize = 4096;
/// What each end says when it is ready to receive.
const READY: &str = "ready";

/// What a VI is created with (VIP_VI_ATTRIBUTES).
#[derive(Debug, Clone)]
pub struct ViAttributes {
    /// Reliability level; the same at both ends.
    pub reliability_level: ReliabilityLevel,
    /// Largest message in bytes; the same at both ends.
    pub max_transfer_size: u32,
    /// Protection tag.
    pub ptag: Ptag,
    /// Largest packet; the smaller one of both ends is used.
    pub mtu: Mtu,
    /// Descriptors that may be posted on each queue: rounded up to a power of two, 8 to 1024.
    pub depth: usize,
    /// The peer may write memory of this tag that is registered for that.
    pub enable_rdma_write: bool,
    /// The peer may read memory of this tag that is registered for that: reliable levels only.
    pub enable_rdma_read: bool,
    /// Completion queue of its sends.
    pub send_cq: Option<Cq>,
    /// Completion queue of its receives; it may be the same.
    pub receive_cq: Option<Cq>,
}

impl ViAttributes {
    /// Reliable Delivery, messages of up to 1 MiB, packets that fit Ethernet frames of 1500 bytes,
    /// 1024 descriptors, no completion queues; the peer may neither write nor read memory by itself.
    pub fn new(ptag: &Ptag) -> Self {
        Self {
            reliability_level: Service::ReliableDelivery,
            max_transfer_size: 1 << 20,
            ptag: ptag.clone(),
            mtu: Mtu::DEFAULT,
            depth: 1 << MAX_RING_LOG2,
            enable_rdma_write: false,
            enable_rdma_read: false,
            send_cq: None,
            receive_cq: None,
        }
    }
}

/// What [`Vi::query`] answers.
#[derive(Debug, Clone)]
pub struct ViQuery {
    /// Its state.
    pub state: ViState,
    /// What it was created with.
    pub attributes: ViAttributes,
    /// Nothing is on the send queue.
    pub send_queue_empty: bool,
    /// Nothing is on the receive queue.
    pub receive_queue_empty: bool,
}

/// A virtual interface. Dropping it disconnects and destroys it.
#[derive(Debug)]
pub struct Vi {
    nic: Nic,
    id: ViId,
    vi: AgentVi,
    attributes: ViAttributes,
    send: Queue,
    receive: Queue,
}

impl Nic {
    /// Creates a VI, idle (VipCreateVi). Receives may be posted at once.
    ///
    /// # Errors
    /// A reliability level or size that the NIC does not offer; no VI left.
    pub fn create_vi(&self, attributes: &ViAttributes) -> Result<Vi, Error> {
        let log2 = attributes.depth.clamp(8, 1 << MAX_RING_LOG2).next_power_of_two().ilog2();
        let index = |cq: &Option<Cq>| cq.as_ref().map(|cq| cq.index_on(self)).transpose();
        let vi = Arc::clone(self.agent()).create_vi(AgentViAttributes {
            tag: attributes.ptag.tag_of(self)?,
            service: attributes.reliability_level,
            mtu: attributes.mtu,
            max_transfer: attributes.max_transfer_size,
            send_log2: log2,
            receive_log2: log2,
            rdma_write: attributes.enable_rdma_write,
            rdma_read: attributes.enable_rdma_read,
            send_cq: index(&attributes.send_cq)?,
            receive_cq: index(&attributes.receive_cq)?,
        })?;
        let vi = Vi {
            nic: self.clone(),
            id: ViId::new(),
            send: Queue::new(&vi, Direction::Send),
            receive: Queue::new(&vi, Direction::Receive),
            vi,
            attributes: attributes.clone(),
        };
        for cq in vi.cqs() {
            cq.add(vi.vi.index(), vi.id)?;
        }
        Ok(vi)
    }
}

impl Vi {
    /// The NIC that it is on.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    /// What completion queues call it.
    pub fn id(&self) -> ViId {
        self.id
    }

    /// What the peer has to know to connect to this VI. It is new for each connection.
    pub fn connection_info(&self) -> ConnectionInfo {
        self.vi.info()
    }

    /// Connects to the VI that the peer has described. From then on its messages are received; it
    /// takes ours when it, too, has connected: nothing is sent before both know that.
    ///
    /// # Errors
    /// [`crate::Return::InvalidState`] unless idle; a peer whose level or transfer size differ.
    pub fn connect(&self, peer: &ConnectionInfo) -> Result<(), Error> {
        let mut sends = self.send.lock();
        // Sends posted to an idle VI are flushed; the NIC is done with them before it starts anew.
        self.wait_complete(&[&sends])?;
        self.vi.connect(peer)?;
        self.reset(Direction::Send, &mut sends)
    }

    /// Connects to the peer at the other end of a channel, which does the same: each says who it is,
    /// connects, and waits until the other has connected. Time-outs are the channel's.
    pub fn connect_through(&self, channel: &mut (impl Read + Write)) -> Result<(), Error> {
        say(channel, &self.connection_info().to_json())?;
        let line = hear(channel)?;
        let peer = ConnectionInfo::from_json(&line).map_err(|_| Error::Peer(line))?;
        self.connect(&peer)?;
        say(channel, READY)?;
        match hear(channel)? {
            line if line == READY => Ok(()),
            line => Err(Error::Peer(line)),
        }
    }

    /// Posts a send (VipPostSend).
    ///
    /// # Errors
    /// [`Error::Overrun`] when the queue is full; memory of another NIC; the device's errors. The
    /// rest is in the descriptor when it completes.
    pub fn post_send(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.post(&self.send, descriptor)
    }

    /// Posts a receive (VipPostRecv). When it returns, the receive counts as posted: a message that
    /// arrives later finds it.
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    pub fn post_recv(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.post(&self.receive, descriptor)
    }

    /// Takes the oldest send off the queue if it is complete (VipSendDone).
    ///
    /// # Errors
    /// [`Error::NotDone`]; [`Error::Descriptor`] with the descriptor when it completed in error;
    /// [`Error::Empty`] when nothing is posted; now and then, the device's errors.
    pub fn send_done(&self) -> Result<Descriptor, Error> {
        self.send.done(&self.vi)
    }

    /// Takes the oldest receive off the queue if it is complete (VipRecvDone): as [`Vi::send_done`].
    pub fn recv_done(&self) -> Result<Descriptor, Error> {
        self.receive.done(&self.vi)
    }

    /// Waits until the oldest send is complete (VipSendWait); it looks for a moment, then sleeps until the NIC's
    /// interrupt. None: for ever, but never longer than five seconds for a device that is gone.
    ///
    /// # Errors
    /// As [`Vi::send_done`], and [`Error::Timeout`] in place of [`Error::NotDone`]; [`Error::HasCq`]: with a completion
    /// queue one waits for that ([`Cq::wait`]).
    pub fn send_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        self.alone(Direction::Send)?;
        self.send.wait(&self.vi, timeout)
    }

    /// Waits until the oldest receive is complete (VipRecvWait): as [`Vi::send_wait`].
    pub fn recv_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        self.alone(Direction::Receive)?;
        self.receive.wait(&self.vi, timeout)
    }

    /// State, attributes, and whether the queues are empty (VipQueryVi).
    pub fn query(&self) -> Result<ViQuery, Error> {
        Ok(ViQuery {
            state: self.vi.state()?,
            attributes: self.attributes.clone(),
            send_queue_empty: self.send.lock().is_empty(),
            receive_queue_empty: self.receive.lock().is_empty(),
        })
    }

    /// Ends the connection (VipDisconnect): what is posted on either queue completes, flushed at the
    /// latest, and stays on the queue for send_done and recv_done. The VI is idle then. Of an idle
    /// VI nothing is changed.
    pub fn disconnect(&self) -> Result<(), Error> {
        let (mut sends, mut receives) = (self.send.lock(), self.receive.lock());
        if self.vi.state()? == ViState::Idle {
            return Ok(());
        }
        self.flush(&mut sends, &mut receives)
    }

    fn post(&self, queue: &Queue, descriptor: Descriptor) -> Result<(), Error> {
        if !descriptor.region().nic().is(&self.nic) {
            return Err(Error::OtherNic);
        }
        queue.post(&self.vi, descriptor)
    }

    /// Completes everything and makes the VI idle.
    fn flush(&self, sends: &mut Posted, receives: &mut Posted) -> Result<(), Error> {
        self.vi.break_off()?;
        self.wait_complete(&[sends, receives])?;
        self.vi.make_idle()?;
        // Both, whatever the first one says.
        let first = self.reset(Direction::Send, sends);
        first.and(self.reset(Direction::Receive, receives))
    }

    /// The NIC has forgotten a queue.
    fn reset(&self, direction: Direction, posted: &mut Posted) -> Result<(), Error> {
        let flushed = posted.reset();
        self.cq(direction).map_or(Ok(()), |cq| cq.flushed(self.id, direction, flushed))
    }

    fn cqs(&self) -> impl Iterator<Item = &Cq> {
        [&self.attributes.send_cq, &self.attributes.receive_cq].into_iter().flatten()
    }

    fn cq(&self, direction: Direction) -> Option<&Cq> {
        match direction {
            Direction::Send => self.attributes.send_cq.as_ref(),
            Direction::Receive => self.attributes.receive_cq.as_ref(),
        }
    }

    /// A work queue that has a completion queue is not waited for.
    fn alone(&self, direction: Direction) -> Result<(), Error> {
        self.cq(direction).map_or(Ok(()), |_| Err(Error::HasCq))
    }

    /// Waits until the NIC has completed what is posted, or will not any more.
    fn wait_complete(&self, queues: &[&Posted]) -> Result<(), Error> {
        let start = Instant::now();
        while !queues.iter().all(|posted| posted.is_complete()) && start.elapsed() < FLUSH_LIMIT {
            self.nic.agent().pause();
            self.nic.agent().check()?;
        }
        Ok(())
    }
}

impl Drop for Vi {
    fn drop(&mut self) {
        let (mut sends, mut receives) = (self.send.lock(), self.receive.lock());
        let unused = sends.is_empty() && receives.is_empty() && matches!(self.vi.state(), Ok(ViState::Idle));
        // Of a device that is gone nothing is left to destroy.
        if unused || self.flush(&mut sends, &mut receives).is_ok() {
            let _ = self.vi.destroy();
        }
        // The index is another VI's next: no entry of ours is taken for one of its.
        for cq in self.cqs() {
            let _ = cq.forget(self.vi.index(), self.id);
        }
    }
}

/// Says one line on a channel.
fn say(channel: &mut impl Write, line: &str) -> Result<(), Error> {
    channel.write_all(format!("{line}\n").as_bytes())?;
    Ok(channel.flush()?)
}

/// Hears one line, byte by byte: what comes after it is not ours.
fn hear(channel: &mut impl Read) -> Result<String, Error> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        channel.read_exact(&mut byte)?;
        if byte == *b"\n" {
            return String::from_utf8(line).map_err(|e| Error::Peer(e.to_string()));
        }
        if line.len() >= MAX_LINE {
            return Err(Error::Peer(String::from_utf8_lossy(&line).into()));
        }
        line.push(byte[0]);
    }
}
