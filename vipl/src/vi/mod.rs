//! Virtual interfaces.

mod connection;
mod post;

use std::{
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::Duration,
};

use viaduct_driver::{
    address::{ConnectionInfo, Mtu},
    cm::NotReady,
    consumer::Vi as AgentVi,
    kernel_agent::{ViAttributes as AgentViAttributes, ViName},
    queues::{locked::Place, ring::MAX_RING_LOG2},
};

use crate::{
    backoff::NEVER,
    queue::{Queue, Stage},
    vi_queues::{Form, ViQueues},
    Cq, Descriptor, Direction, Error, Nic, Ptag, ReliabilityLevel, ViId, ViState,
};

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
    /// What becomes of a peer's message that finds no receive posted. VIA's way is to break the connection; [`NotReady::Stay`], an extension beside
    /// VIPL, has the peer's NIC send the message again until a receive is there. The peer is told by a connection over the wire
    /// ([`Nic::connections`]). With Unreliable Delivery the message is dropped in any case.
    pub not_ready: NotReady,
    /// Completion queue of its sends.
    pub send_cq: Option<Cq>,
    /// Completion queue of its receives; it may be the same.
    pub receive_cq: Option<Cq>,
    /// A word of the program's, with which completion queues give the VI's descriptors ([`Cq::poll`]): [`Vi::set_context`].
    pub context: u64,
}

impl ViAttributes {
    /// Reliable Delivery, messages of up to 1 MiB, packets that fit Ethernet frames of 1500 bytes,
    /// 1024 descriptors, no completion queues, context 0; the peer may neither write nor read memory by itself, and a message that finds no
    /// receive breaks the connection.
    pub fn new(ptag: &Ptag) -> Self {
        Self {
            reliability_level: ReliabilityLevel::ReliableDelivery,
            max_transfer_size: 1 << 20,
            ptag: ptag.clone(),
            mtu: Mtu::DEFAULT,
            depth: 1 << MAX_RING_LOG2,
            enable_rdma_write: false,
            enable_rdma_read: false,
            not_ready: NotReady::Break,
            send_cq: None,
            receive_cq: None,
            context: 0,
        }
    }
}

/// What [`Vi::query`] answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
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
/// ([`crate::RawDescriptor`]).
#[derive(Debug)]
pub struct Vi<D: Form = Descriptor> {
    queues: Arc<ViQueues<D>>,
    attributes: Mutex<ViAttributes>,
    send_cq: Option<Cq>,
    receive_cq: Option<Cq>,
}

/// What a program's own table of VIs gives a new one. It lets the table's locks be those of the queues, so that a call takes one lock and not two.
#[derive(Debug)]
pub struct ViSlot {
    /// The VI's name on completion queues; no other VI of theirs has it.
    pub id: ViId,
    /// The places of the locks of its send and its receive queue: this VI's alone.
    pub locks: [Place; 2],
}

impl Default for ViSlot {
    fn default() -> Self {
        Self { id: ViId::new(), locks: Default::default() }
    }
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
        self.create_vi_at(attributes, ViSlot::default())
    }

    /// [`Nic::create_vi_of`], for who keeps VIs in a table of its own.
    ///
    /// # Errors
    /// As [`Nic::create_vi`].
    pub fn create_vi_at<D: Form>(&self, attributes: &ViAttributes, slot: ViSlot) -> Result<Vi<D>, Error> {
        let [send_lock, receive_lock] = slot.locks;
        let vi = AgentVi::create(Arc::clone(self.agent()), self.agent_attributes(attributes)?)?;
        let queues = ViQueues {
            nic: self.clone(),
            id: slot.id,
            context: AtomicU64::new(attributes.context),
            send: Queue::new(&vi, Direction::Send, send_lock),
            receive: Queue::new(&vi, Direction::Receive, receive_lock),
            vi,
        };
        let vi = Vi {
            queues: Arc::new(queues),
            attributes: Mutex::new(attributes.clone()),
            send_cq: attributes.send_cq.clone(),
            receive_cq: attributes.receive_cq.clone(),
        };
        for cq in vi.cqs() {
            cq.add(vi.index(), vi.id(), D::member(Arc::clone(&vi.queues)))?;
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
            not_ready: attributes.not_ready,
            send_cq: index(&attributes.send_cq)?,
            receive_cq: index(&attributes.receive_cq)?,
        })
    }
}

impl<D: Form> Vi<D> {
    /// The NIC that it is on.
    pub fn nic(&self) -> &Nic {
        &self.queues.nic
    }

    /// What completion queues call it.
    pub fn id(&self) -> ViId {
        self.queues.id
    }

    /// Its number on its NIC, which another VI may have later: what [`crate::Event`]s call it.
    pub fn index(&self) -> u16 {
        self.queues.vi.index()
    }

    /// Whether an event is of this VI, and not of another that has had its number.
    pub fn is_of(&self, event: &crate::Event) -> bool {
        let name = self.queues.vi.name();
        (name.index, u64::from(name.life)) == (event.vi, event.life)
    }

    /// What the peer has to know to connect to this VI. It is new for each connection.
    pub fn connection_info(&self) -> ConnectionInfo {
        self.queues.vi.info()
    }

    /// Takes the oldest descriptor off a work queue if it is complete, however it completed.
    ///
    /// # Errors
    /// [`Error::NotDone`]; [`Error::Empty`] when nothing is posted; now and then, the device's errors.
    pub fn done(&self, direction: Direction) -> Result<D, Error> {
        self.queues.queue(direction).done(&self.queues.vi)
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
        self.queues.queue(direction).wait(&self.queues.vi, timeout, given_up)
    }

    /// Wakes those who wait for the head of a queue: they look whether it is complete, and whether they have given up.
    pub fn wake(&self, direction: Direction) {
        self.queues.nic.agent().wake(self.queues.vi.queues().vector(direction));
    }

    /// What it was created with, or given since.
    pub fn attributes(&self) -> ViAttributes {
        ViAttributes { context: self.context(), ..self.lock_attributes().clone() }
    }

    /// The word of the program's that completion queues give with its descriptors.
    pub fn context(&self) -> u64 {
        self.queues.context()
    }

    /// Gives it another one. Descriptors that a completion queue has given before came with the old one.
    pub fn set_context(&self, context: u64) {
        self.queues.context.store(context, Ordering::Release);
    }

    /// Its work queues, for who keeps VIs in a table of its own.
    pub fn queues(&self) -> &Arc<ViQueues<D>> {
        &self.queues
    }

    /// Breaks the connection: the VI goes into Error, and everything posted is flushed.
    ///
    /// # Errors
    /// The device's.
    pub fn break_off(&self) -> Result<(), Error> {
        Ok(self.queues.vi.break_off()?)
    }

    /// State, attributes, and whether the queues are empty (VipQueryVi).
    pub fn query(&self) -> Result<ViQuery, Error> {
        Ok(ViQuery {
            state: self.queues.vi.state()?,
            attributes: self.attributes(),
            send_queue_empty: self.queues.send.look().is_empty(),
            receive_queue_empty: self.queues.receive.look().is_empty(),
        })
    }

    /// Gives an idle VI another tag, level, size, other rights, and another way with messages that find no receive (VipSetViAttributes). Depth,
    /// packets, completion queues and context stay as they are.
    ///
    /// # Errors
    /// [`crate::Return::InvalidState`] unless idle, while it is being connected, as the peer has been told of the old ones, and of another tag while receives are posted: they were posted under the
    /// one that it has; otherwise as [`Nic::create_vi`].
    pub fn set_attributes(&self, new: &ViAttributes) -> Result<(), Error> {
        let (mut sends, mut receives) = (self.queues.send.rest(), self.queues.receive.rest());
        if sends.is_held() {
            return Err(Error::State("is being connected"));
        }
        let mut attributes = self.lock_attributes();
        let new = ViAttributes {
            mtu: attributes.mtu,
            depth: attributes.depth,
            send_cq: self.send_cq.clone(),
            receive_cq: self.receive_cq.clone(),
            ..new.clone()
        };
        let wanted = self.queues.nic.agent_attributes(&new)?;
        // Sends posted to an idle VI are flushed.
        self.wait_complete(&[&sends])?;
        let anew = receives.is_complete();
        if wanted.tag != attributes.ptag.tag_of(&self.queues.nic)? && !anew {
            return Err(Error::Posted);
        }
        self.queues.vi.set_attributes(wanted, anew)?;
        if anew {
            self.reset(Direction::Send, &mut sends)?;
            self.reset(Direction::Receive, &mut receives)?;
        }
        *attributes = new;
        Ok(())
    }

    /// What its agent calls it.
    pub(crate) fn name(&self) -> ViName {
        self.queues.vi.name()
    }

    fn lock_attributes(&self) -> MutexGuard<'_, ViAttributes> {
        // A thread that panicked with the lock held has left nothing half changed.
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
}

impl<D: Form> Drop for Vi<D> {
    fn drop(&mut self) {
        self.leave();
        let (mut sends, mut receives) = (self.queues.send.rest(), self.queues.receive.rest());
        let unused =
            sends.is_empty() && receives.is_empty() && matches!(self.queues.vi.state(), Ok(ViState::Idle));
        // Of a device that is gone nothing is left to destroy.
        if unused || self.flush(&mut sends, &mut receives).is_ok() {
            let _ = self.queues.vi.destroy();
        }
        // The index is another VI's next: no entry of ours is taken for one of its.
        for cq in self.cqs() {
            let _ = cq.forget(self.queues.vi.index(), self.queues.id);
        }
        // Somebody may have the queues for a moment longer, and finds them empty: a poll.
        sends.enter(Stage::Closed);
        receives.enter(Stage::Closed);
    }
}
