//! What a library asks of VIA's Kernel Agent, wherever that is: in the same process
//! ([`crate::agent::Agent`], which owns the NIC alone), or in `viad`, which many processes share
//! ([`crate::viad::Client`]).
//!
//! ```text
//!    vipl ── control ──> dyn KernelAgent ──> Agent (in this process)
//!      │                            └──────> viad::Client ── socket ──> viad: Agent
//!      └──── data ─────> queues: rings in memory, doorbell pages
//! ```
//!
//! The data path goes past it. What [`KernelAgent::create_vi`] and [`KernelAgent::create_cq`] give has the ring's memory and a doorbell page: a
//! post, or a look that finds something, is no call of this trait. [`crate::consumer`] keeps both beside the agent.

pub mod connection_agent;
pub mod control;
mod created;
mod error;
mod event;
mod limits;
mod memory_attributes;
mod names;
mod vi_attributes;

use std::{
    net::Ipv4Addr,
    sync::{atomic::AtomicU32, Arc},
    time::Duration,
};

use viaduct_spec::layout::Code;

use crate::{
    address::{ConnectionInfo, Mac},
    device::Polling,
    device_memory::DeviceMemory,
    queues::{entries::Entries, ViState},
    wait::Vectors,
    wakeup::Wakeup,
};

use self::{
    connection_agent::ConnectionAgent,
    control::{control_calls, declare, methods_of},
};
pub use self::{
    created::{CreatedCq, CreatedVi},
    error::{AgentError, ErrorClass},
    event::Event,
    limits::{Limits, NicKind},
    memory_attributes::MemoryAttributes,
    names::{CqName, ViName},
    vi_attributes::{ViAttributes, MAX_TRANSFER},
};

/// VIA's Kernel Agent. Calls may come from any thread; those that change something may wait for the NIC,
/// but never for a peer.
///
/// Names, tags and handles mean something only to the agent that gave them, and, behind viad, only to the
/// process that it gave them to.
pub trait KernelAgent: Vectors + Send + Sync {
    // Its rows in the table of control calls.
    control_calls! { methods_of KernelAgent declare }

    /// What carries out the work.
    fn kind(&self) -> NicKind;
    /// The sizes of the NIC, or of what this process may have of them.
    fn limits(&self) -> Limits;
    /// The NIC's Ethernet address.
    fn mac(&self) -> Mac;
    /// The NIC's IPv4 address.
    fn ip(&self) -> Ipv4Addr;
    /// Bytes of memory that may be registered at a time: each registration counts, whole pages.
    fn dma_bytes(&self) -> u64;

    /// Whether the agent is there, as far as one knows without asking anybody.
    ///
    /// # Errors
    /// It is gone, or another process's.
    fn check_here(&self) -> Result<(), AgentError> {
        Ok(())
    }
    /// Words that are 0 as long as [`KernelAgent::check_here`] is no error, as far as who polls has to know at once: a child of a fork
    /// finds them as they were. They stay as long as the agent.
    fn end_words(&self) -> [Option<&AtomicU32>; 2] {
        [None, None]
    }
    /// Lets time pass while something is waited for.
    fn pause(&self);
    /// What somebody does who polls the NIC: [`PciDevice::polling`](crate::device::PciDevice::polling).
    fn polling(&self) -> Polling;
    /// How many interrupt vectors one can sleep on; 0: one polls ([`KernelAgent::pause`]).
    fn vectors(&self) -> u8;
    /// Interrupt moderation: see [`crate::agent::Agent::hold_off`].
    fn hold_off(&self, vector: u8, holdoff: Duration) -> Result<(), AgentError>;

    /// Memory of `length` bytes, rounded up to whole pages, that can be registered with this agent whatever stands between it and this
    /// process. It is not registered yet.
    ///
    /// # Errors
    /// The system has no memory, or the agent lets this process have no more.
    fn allocate(self: Arc<Self>, length: usize) -> Result<DeviceMemory, AgentError> {
        DeviceMemory::new(length).map_err(AgentError::NoMemory)
    }
    /// Registers `length` bytes of this process's memory from `address` on, of any alignment. Memory that this
    /// process may only read becomes memory that the NIC may only read. The handle is never 0.
    ///
    /// # Safety
    /// The memory stays mapped until [`KernelAgent::deregister`] has returned without an error, and no reference
    /// exists that its being changed (if it is writable) by the NIC would break.
    unsafe fn register(
        &self,
        address: usize,
        length: usize,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError>;
    /// Ends a registration. When it returns without an error, nothing reaches the memory through the handle any
    /// more. After an error the NIC may still do so: the memory must stay.
    fn deregister(&self, handle: u32) -> Result<(), AgentError>;

    /// Creates a VI, idle.
    ///
    /// # Errors
    /// A ring size or transfer size that the NIC has not, RDMA reads without reliability; a tag or completion queue
    /// that does not exist; no VI left.
    fn create_vi(&self, attributes: ViAttributes) -> Result<CreatedVi, AgentError>;

    /// Creates a completion queue that has room for `entries` which are not taken, at any time.
    ///
    /// # Errors
    /// No or too many entries; no queue, region or memory left.
    fn create_cq(&self, entries: usize) -> Result<CreatedCq, AgentError>;
    /// Gives a completion queue a new ring. It answers the ring, and how many entries the NIC has put into the old
    /// one, modulo 2^18. Nobody takes entries or stores an index meanwhile: [`crate::consumer::Cq::resize`] sees to that.
    fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(Entries, u32), AgentError>;
    /// [`KernelAgent::take_events`], as soon as there is one; sleeps for `timeout` at most, then there are none.
    fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, AgentError>;
    /// From now on `wakeup` is signalled whenever `vector` is raised, or its sleepers are woken ([`Vectors::wake`]), and when the agent is gone, for
    /// as long as it lives. It may be signalled for nothing. Who is to miss nothing clears it, arms what it waits for, looks once more, and only then
    /// waits: an interrupt that answers the arm word comes later than the clear.
    ///
    /// # Errors
    /// No such vector: where one polls there is none. The agent's.
    fn on_vector(&self, vector: u8, wakeup: &Arc<Wakeup>) -> Result<(), AgentError>;
    /// From now on `wakeup` is signalled when there may be events to take ([`KernelAgent::take_events`]), and when the agent is gone. As
    /// with [`KernelAgent::on_vector`]: clear, [`KernelAgent::arm_events`], look, wait.
    ///
    /// # Errors
    /// There are no interrupts; the agent's.
    fn on_events(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError>;
    /// Asks for one signal of those of [`KernelAgent::on_events`]: when there is an event that has not been taken, or at once.
    ///
    /// # Errors
    /// The device's.
    fn arm_events(&self) -> Result<(), AgentError>;
    /// Connections of its VIs over the wire. Where the agent is in this process there is one such: it has the raw channel.
    ///
    /// # Errors
    /// The raw channel is open already; no VI left for it.
    fn connections(self: Arc<Self>) -> Result<Arc<dyn ConnectionAgent>, AgentError>;
    /// The hosts file that the agent is configured with, for the name service; None: it has none.
    fn hosts(&self) -> Result<Option<String>, AgentError>;
    /// The NIC's counters, with their names and meanings.
    fn counters(&self) -> Result<Vec<(&'static Code, u64)>, AgentError>;
}
