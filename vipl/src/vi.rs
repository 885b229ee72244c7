//! Virtual interfaces.

use std::{
    io::{Read, Write},
    ptr::NonNull,
    sync::{atomic::AtomicBool, Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

pub use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::{
    address::{ConnectionInfo, Mtu, Service},
    agent::vis::{Vi as AgentVi, ViAttributes as AgentViAttributes, MAX_RING_LOG2},
    kernel_agent::ViName,
};

use crate::{
    form::{Form, RawDescriptor},
    patience::NEVER,
    queue::{Posted, Queue},
    Cq, Descriptor, Error, Nic, Ptag, Region, ViId,
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

/// A virtual interface. Dropping it disconnects it, as [`Vi::disconnect`] does, and destroys it.
///
/// `D` is the form of its descriptors: [`Descriptor`]s that own their memory, or those that a C program has written
/// ([`RawDescriptor`]).
#[derive(Debug)]
pub struct Vi<D: Form = Descriptor> {
    nic: Nic,
    id: ViId,
    vi: AgentVi,
    attributes: Mutex<ViAttributes>,
    send_cq: Option<Cq>,
    receive_cq: Option<Cq>,
    send: Queue<D>,
    receive: Queue<D>,
}

impl Nic {
    /// Creates a VI, idle (VipCreateVi). Receives may be posted at once.
    ///
    /// # Errors
    /// A reliability level or size that the NIC does not offer; no VI left.
    pub fn create_vi(&self, attributes: &ViAttributes) -> Result<Vi, Error> {
        self.create_vi_of(attributes)
    }

    /// [`Nic::create_vi`], for descriptors of another form.
    ///
    /// # Errors
    /// As [`Nic::create_vi`].
    pub fn create_vi_of<D: Form>(&self, attributes: &ViAttributes) -> Result<Vi<D>, Error> {
        let vi = Arc::clone(self.agent()).create_vi(self.agent_attributes(attributes)?)?;
        let vi = Vi {
            nic: self.clone(),
            id: ViId::new(),
            send: Queue::new(&vi, Direction::Send),
            receive: Queue::new(&vi, Direction::Receive),
            vi,
            attributes: Mutex::new(attributes.clone()),
            send_cq: attributes.send_cq.clone(),
            receive_cq: attributes.receive_cq.clone(),
        };
        for cq in vi.cqs() {
            cq.add(vi.vi.index(), vi.id)?;
        }
        Ok(vi)
    }

    /// A VI's attributes as the agent has them.
    fn agent_attributes(&self, attributes: &ViAttributes) -> Result<AgentViAttributes, Error> {
        let log2 = attributes.depth.clamp(8, 1 << MAX_RING_LOG2).next_power_of_two().ilog2();
        let index = |cq: &Option<Cq>| cq.as_ref().map(|cq| cq.index_on(self)).transpose();
        Ok(AgentViAttributes {
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
        })
    }
}

impl<D: Form> Vi<D> {
    /// The NIC that it is on.
    pub fn nic(&self) -> &Nic {
        &self.nic
    }

    /// What completion queues call it.
    pub fn id(&self) -> ViId {
        self.id
    }

    /// Its number on its NIC, which another VI may have later: what [`crate::Event`]s call it.
    pub fn index(&self) -> u16 {
        self.vi.index()
    }

    /// Whether an event is of this VI, and not of another that has had its number.
    pub fn is_of(&self, event: &crate::Event) -> bool {
        let name = self.vi.name();
        (name.index, u64::from(name.life)) == (event.vi, event.life)
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
        let mut sends = self.send.rest();
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

    /// Takes the oldest descriptor off a work queue if it is complete, however it completed.
    ///
    /// # Errors
    /// [`Error::NotDone`]; [`Error::Empty`] when nothing is posted; now and then, the device's errors.
    pub fn done(&self, direction: Direction) -> Result<D, Error> {
        self.queue(direction).done(&self.vi)
    }

    /// [`Vi::done`], as soon as it is complete; it looks for a moment, then sleeps until the NIC's interrupt. None: for ever,
    /// but never longer than five seconds for a device that is gone.
    ///
    /// # Errors
    /// As [`Vi::done`], and [`Error::Timeout`] in place of [`Error::NotDone`]; [`Error::HasCq`]: with a completion
    /// queue one waits for that ([`Cq::wait`]).
    pub fn wait(&self, direction: Direction, timeout: Option<Duration>) -> Result<D, Error> {
        self.wait_unless(direction, timeout, &NEVER)
    }

    /// [`Vi::wait`], but no longer than until `given_up` is set. Who sets it calls [`Vi::wake`] then.
    ///
    /// # Errors
    /// As [`Vi::wait`]; [`Error::Timeout`] when it is set.
    pub fn wait_unless(
        &self,
        direction: Direction,
        timeout: Option<Duration>,
        given_up: &AtomicBool,
    ) -> Result<D, Error> {
        self.alone(direction)?;
        self.queue(direction).wait(&self.vi, timeout, given_up)
    }

    /// Wakes those who wait for the head of a queue: they look whether it is complete, and whether they have given up.
    pub fn wake(&self, direction: Direction) {
        self.nic.agent().wake(self.vi.vector(direction));
    }

    /// What it was created with, or given since.
    pub fn attributes(&self) -> ViAttributes {
        self.lock_attributes().clone()
    }

    /// Breaks the connection: the VI goes into Error, and everything posted is flushed.
    ///
    /// # Errors
    /// The device's.
    pub fn break_off(&self) -> Result<(), Error> {
        Ok(self.vi.break_off()?)
    }

    /// State, attributes, and whether the queues are empty (VipQueryVi).
    pub fn query(&self) -> Result<ViQuery, Error> {
        Ok(ViQuery {
            state: self.vi.state()?,
            attributes: self.lock_attributes().clone(),
            send_queue_empty: self.send.look().is_empty(),
            receive_queue_empty: self.receive.look().is_empty(),
        })
    }

    /// Gives an idle VI another tag, level, size and other rights (VipSetViAttributes). Depth, packets and completion queues
    /// stay as they are.
    ///
    /// # Errors
    /// [`crate::Return::InvalidState`] unless idle, and of another tag while receives are posted: they were posted under the
    /// one that it has; otherwise as [`Nic::create_vi`].
    pub fn set_attributes(&self, new: &ViAttributes) -> Result<(), Error> {
        let (mut sends, mut receives) = (self.send.rest(), self.receive.rest());
        let mut attributes = self.lock_attributes();
        let new = ViAttributes {
            mtu: attributes.mtu,
            depth: attributes.depth,
            send_cq: self.send_cq.clone(),
            receive_cq: self.receive_cq.clone(),
            ..new.clone()
        };
        let wanted = self.nic.agent_attributes(&new)?;
        // Sends posted to an idle VI are flushed.
        self.wait_complete(&[&sends])?;
        let anew = receives.is_complete();
        if wanted.tag != attributes.ptag.tag_of(&self.nic)? && !anew {
            return Err(Error::Posted);
        }
        self.vi.set_attributes(wanted, anew)?;
        if anew {
            self.reset(Direction::Send, &mut sends)?;
            self.reset(Direction::Receive, &mut receives)?;
        }
        *attributes = new;
        Ok(())
    }

    /// Ends the connection (VipDisconnect), which the peer is told, or the attempt at one: a call that is under way ends with
    /// [`Error::State`]. (Who has connected by [`Vi::connect`] tells the peer himself.) What is posted on either queue completes,
    /// flushed at the latest, and stays on the queue for send_done and recv_done. The VI is idle then. Of an idle VI, or one that is
    /// only being connected, receives stay posted.
    ///
    /// # Errors
    /// The device's.
    pub fn disconnect(&self) -> Result<(), Error> {
        self.part();
        self.idle()
    }

    /// The peer hears that the connection ends, and nobody connects it any more.
    fn part(&self) {
        if let Some(wire) = self.nic.wire_if_begun() {
            // The VI is disconnected whatever becomes of the peer.
            let _ = wire.part(self.name());
        }
    }

    /// What is left of [`Vi::disconnect`] when its peer knows.
    fn idle(&self) -> Result<(), Error> {
        let (mut sends, mut receives) = (self.send.rest(), self.receive.rest());
        match self.vi.state()? {
            ViState::Idle => {}
            // It never was connected, to its program: receives stay posted, as they do in an idle VI.
            _ if sends.held => self.take_back(&mut sends, &mut receives)?,
            _ => self.flush(&mut sends, &mut receives)?,
        }
        // From now on the NIC gets what is posted.
        sends.held = false;
        Ok(())
    }

    /// Has the NIC complete everything, and makes the VI idle.
    fn make_idle(&self, sends: &Posted<D>, receives: &Posted<D>) -> Result<(), Error> {
        self.vi.break_off()?;
        self.wait_complete(&[sends, receives])?;
        Ok(self.vi.make_idle()?)
    }

    /// Completes everything and makes the VI idle.
    fn flush(&self, sends: &mut Posted<D>, receives: &mut Posted<D>) -> Result<(), Error> {
        self.make_idle(sends, receives)?;
        // Both, whatever the first one says.
        let first = self.reset(Direction::Send, sends);
        first.and(self.reset(Direction::Receive, receives))
    }

    /// The NIC has forgotten a queue.
    fn reset(&self, direction: Direction, posted: &mut Posted<D>) -> Result<(), Error> {
        self.flushed(direction, posted.reset(direction))
    }

    /// The library has completed descriptors in the NIC's place: those who wait hear of it as of any other.
    fn flushed(&self, direction: Direction, count: usize) -> Result<(), Error> {
        match self.cq(direction) {
            _ if count == 0 => Ok(()),
            Some(cq) => cq.flushed(self.id, direction, count),
            None => {
                self.wake(direction);
                Ok(())
            }
        }
    }

    /// What its agent calls it.
    pub(crate) fn name(&self) -> ViName {
        self.vi.name()
    }

    /// The agent may connect it from now on: see [`crate::connections::Endpoint::begin`].
    pub(crate) fn begin_connect(&self) -> Result<(), Error> {
        let mut sends = self.send.rest();
        // Sends posted to an idle VI are flushed; the NIC is done with them before it starts anew.
        self.wait_complete(&[&sends])?;
        self.receive.look().begin();
        sends.held = true;
        Ok(())
    }

    /// The send queue is held no longer, if the agent has connected the VI. One thread may hear from the peer, and answer, before
    /// another hears that there is a connection.
    fn release(&self, sends: &mut Posted<D>) -> Result<(), Error> {
        if sends.held && self.vi.state()? == ViState::Connected {
            sends.held = false;
            // The send ring has started anew.
            self.reset(Direction::Send, sends)?;
        }
        Ok(())
    }

    /// The agent has connected it, or has not: see [`crate::connections::Endpoint::end`].
    pub(crate) fn end_connect(&self, connected: bool) -> Result<(), Error> {
        if connected {
            return self.release(&mut self.send.rest());
        }
        // It may have been connected, before it came to nothing.
        self.idle()
    }

    /// It was connected, before that came to nothing: it is idle again, and its receives are as they were. The other end may not
    /// have had the time to use any; those that it has used are complete.
    fn take_back(&self, sends: &mut Posted<D>, receives: &mut Posted<D>) -> Result<(), Error> {
        if let Some(cq) = &self.receive_cq {
            cq.hold(self.id)?;
        }
        let idle = self.make_idle(sends, receives);
        // Those that the NIC has flushed, here or when its agent has broken it, have entries; those that it did not get to have none.
        let flushed = receives.flushed();
        receives.reset(Direction::Receive);
        let told = self.receive_cq.as_ref().map_or(Ok(()), |cq| cq.release(self.id, flushed));
        idle.and(told)?;
        self.reset(Direction::Send, sends)?;
        self.receive.restore(&self.vi, receives)
    }

    fn queue(&self, direction: Direction) -> &Queue<D> {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    fn lock_attributes(&self) -> MutexGuard<'_, ViAttributes> {
        // Written whole.
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cqs(&self) -> impl Iterator<Item = &Cq> {
        [&self.send_cq, &self.receive_cq].into_iter().flatten()
    }

    fn cq(&self, direction: Direction) -> Option<&Cq> {
        match direction {
            Direction::Send => self.send_cq.as_ref(),
            Direction::Receive => self.receive_cq.as_ref(),
        }
    }

    /// A work queue that has a completion queue is not waited for.
    fn alone(&self, direction: Direction) -> Result<(), Error> {
        self.cq(direction).map_or(Ok(()), |_| Err(Error::HasCq))
    }

    /// Waits until the NIC has completed what is posted, or will not any more.
    fn wait_complete(&self, queues: &[&Posted<D>]) -> Result<(), Error> {
        let start = Instant::now();
        while !queues.iter().all(|posted| posted.is_complete()) && start.elapsed() < FLUSH_LIMIT {
            self.nic.agent().pause();
            self.nic.agent().check()?;
        }
        Ok(())
    }
}

impl Vi {
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
        judged(self.done(Direction::Send)?)
    }

    /// Takes the oldest receive off the queue if it is complete (VipRecvDone): as [`Vi::send_done`].
    pub fn recv_done(&self) -> Result<Descriptor, Error> {
        judged(self.done(Direction::Receive)?)
    }

    /// Waits until the oldest send is complete (VipSendWait): [`Vi::wait`].
    ///
    /// # Errors
    /// As [`Vi::send_done`], and [`Error::Timeout`] in place of [`Error::NotDone`]; [`Error::HasCq`]: with a completion
    /// queue one waits for that ([`Cq::wait`]).
    pub fn send_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        judged(self.wait(Direction::Send, timeout)?)
    }

    /// Waits until the oldest receive is complete (VipRecvWait): as [`Vi::send_wait`].
    pub fn recv_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        judged(self.wait(Direction::Receive, timeout)?)
    }

    fn post(&self, queue: &Queue<Descriptor>, descriptor: Descriptor) -> Result<(), Error> {
        if !descriptor.region().nic().is(&self.nic) {
            return Err(Error::OtherNic);
        }
        let flushed = queue.post(&self.vi, descriptor, |sends| self.release(sends))?;
        self.flushed(queue.direction(), flushed.into())
    }
}

impl Vi<RawDescriptor> {
    /// Posts the descriptor at `address` of `region` that the program has written there.
    ///
    /// # Errors
    /// As [`Vi::post_send`]; an address that is not in the region, or no multiple of 64.
    ///
    /// # Safety
    /// Until the descriptor is off the queue again, or its region is deregistered, or the VI is gone, its memory stays mapped and
    /// is the library's and the NIC's.
    pub unsafe fn post_at(
        &self,
        direction: Direction,
        region: &Region,
        address: NonNull<u8>,
    ) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { self.post_raw(direction, self.describe_at(region, address)?) }
    }

    /// The first half of [`Vi::post_at`]: nothing is waited for, and the region may be let go of.
    ///
    /// # Errors
    /// As [`Vi::post_at`]; of the queue and the device [`Vi::post_raw`] speaks.
    ///
    /// # Safety
    /// As [`Vi::post_at`], from now on.
    pub unsafe fn describe_at(&self, region: &Region, address: NonNull<u8>) -> Result<RawDescriptor, Error> {
        if !region.nic().is(&self.nic) {
            return Err(Error::OtherNic);
        }
        // SAFETY: the caller's promise.
        unsafe { RawDescriptor::new(region, address) }
    }

    /// The second half: posts it. A receive may have to wait until the device has its doorbell.
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    ///
    /// # Safety
    /// As [`Vi::post_at`]; [`Vi::describe_at`] of this VI has just made it.
    pub unsafe fn post_raw(&self, direction: Direction, descriptor: RawDescriptor) -> Result<(), Error> {
        let flushed = self.queue(direction).post(&self.vi, descriptor, |sends| self.release(sends))?;
        self.flushed(direction, flushed.into())
    }
}

/// An error of the descriptor's is one of the call's.
fn judged(descriptor: Descriptor) -> Result<Descriptor, Error> {
    if descriptor.status().is_error() {
        return Err(Error::Descriptor(Box::new(descriptor)));
    }
    Ok(descriptor)
}

impl<D: Form> Drop for Vi<D> {
    fn drop(&mut self) {
        self.part();
        let (mut sends, mut receives) = (self.send.rest(), self.receive.rest());
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
