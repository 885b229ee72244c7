//! A NIC, and its protection tags.

use std::{fmt, net::Ipv4Addr, os::fd::BorrowedFd, sync::Arc, time::Duration};

use viaduct_driver::{
    address::{Mac, Mtu},
    agent::{Agent, Options, EVENT_VECTOR},
    device::PciDevice,
    kernel_agent::{AgentError, Event, KernelAgent, NicKind, MAX_TRANSFER},
    queues::{entries::MAX_CQ_ENTRIES, ring::MAX_RING_LOG2},
    viad::Client,
    wakeup::Wakeup,
};
use viaduct_spec::{descriptor::MAX_SEGMENTS, layout::Code, register::VERSION_VALUE};

use crate::{
    connections::{
        wire::{lost_events, OnDemand, Wire},
        Connections,
    },
    names::{self, Target},
    readiness::Readiness,
    registered::Registered,
    Error, ReliabilityLevel,
};

/// An open NIC (VIP_NIC_HANDLE). Clones are the same NIC; it is closed when the last clone and all
/// that was made with it are dropped.
#[derive(Clone)]
pub struct Nic(Arc<Inner>);

struct Inner {
    name: String,
    /// It goes before the agent.
    connections: OnDemand,
    agent: Arc<dyn KernelAgent>,
    /// The agent is in this process.
    is_own: bool,
    /// Its registered memory.
    registered: Registered,
    /// The descriptor of its events.
    events: Readiness,
}

/// What a NIC can do (VIP_NIC_ATTRIBUTES).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NicAttributes {
    /// The name that it was opened with.
    pub name: String,
    /// Layout version of the hardware.
    pub hardware_version: u32,
    /// Version of this library, major and minor in 16 bits each.
    pub provider_version: u32,
    /// Its address: an Ethernet address.
    pub local_nic_address: Mac,
    /// Its IPv4 address.
    pub ip: Ipv4Addr,
    /// The RTL or the functional model.
    pub kind: NicKind,
    /// Every call may come from any thread.
    pub thread_safe: bool,
    /// Most bytes of all regions together.
    pub max_register_bytes: u64,
    /// Most regions.
    pub max_register_regions: u32,
    /// Most bytes of one region.
    pub max_register_block_bytes: u64,
    /// Most VIs.
    pub max_vi: u32,
    /// Most descriptors on a work queue.
    pub max_descriptors_per_queue: u32,
    /// Most segments of a descriptor.
    pub max_segments_per_desc: u32,
    /// Most completion queues.
    pub max_cq: u32,
    /// Most entries of a completion queue.
    pub max_cq_entries: u32,
    /// Largest message in bytes.
    pub max_transfer_size: u32,
    /// Largest packet in bytes.
    pub native_mtu: u32,
    /// Most protection tags.
    pub max_ptags: u32,
    /// The reliability levels that it offers.
    pub reliability_level_support: Vec<ReliabilityLevel>,
    /// The reliability levels with RDMA reads.
    pub rdma_read_support: Vec<ReliabilityLevel>,
}

impl Nic {
    /// Opens a NIC by its name (VipOpenNic).
    ///
    /// - `viad:SOCKET` is the NIC of the Kernel Agent that serves this socket, and many processes share. It runs as root or as this
    ///   process's user, or, with `,user=UID` behind the path, as that user: whoever it is reaches all memory of this process. With `,way=pools` it
    ///   reaches only memory that [`Nic::allocate`] and [`Nic::new_memory`] have made, and no other is registered. With `,way=trusted` this process has
    ///   the function itself beside the agent, if the agent trusts its user, and maps any memory of its own.
    /// - `vfio:0000:01:00.0` is the PCI function at this address, handed out by the kernel's driver
    ///   vfio-pci: a board, or a function of a virtual machine's. `viaduct devices` lists those that
    ///   are there, and what each still needs. The Kernel Agent is in this process, which owns the NIC alone.
    /// - `vfio-user:PATH` is a PCI function behind a vfio-user socket: a simulator's NIC. The agent is in this process.
    /// - An alias of one of these, from the variable `VIADUCT_NICS`, the file `/etc/viaduct/nics`, or the names
    ///   that programs were written with (`nic0`, `VINIC0`, `/dev/via_eth0`, `/dev/clanvi0`: `viad:/run/viad.sock`).
    ///
    /// Behind a device, each after a comma: `mac=02:00:00:00:00:01`, `ip=10.0.0.1` (both random when not
    /// given; peers learn them when they connect), `ack_time=N` (the NIC may take 4.096 us * 2^N to acknowledge; peers wait that long before they send
    /// again: 10 where it is not given), `seed=N` (random numbers repeat).
    ///
    /// From here on peers that ask are answered, by a thread where the agent is in this process: where the NIC is (ARP), and that nobody waits for
    /// their connections. Should that not be possible, [`Nic::connections`] says why.
    ///
    /// # Errors
    /// A name of another form, no NIC there, or one that this library does not know. What keeps this
    /// user from a function of the kernel's is named, with the way to mend it.
    #[tracing::instrument(level = "debug", skip_all, fields(name = name), err(level = "debug"))]
    pub fn open(name: &str) -> Result<Self, Error> {
        match names::resolve(name)? {
            Target::Device(device) => {
                let nic = Self::open_device(name, device.open()?, device.options)?;
                drop(nic.connections());
                Ok(nic)
            }
            Target::Viad(place) => Ok(Self::of(name, Client::open_at(&place)?, false)),
        }
    }

    /// Opens a NIC behind any [`PciDevice`]. Peers are answered from the first call of [`Nic::connections`] on: time may pass in the device's calls alone,
    /// and then belongs to the caller.
    pub fn open_device(name: &str, device: Arc<dyn PciDevice>, options: Options) -> Result<Self, Error> {
        Ok(Self::of(name, Agent::open(device, options)?, true))
    }

    fn of(name: &str, agent: Arc<dyn KernelAgent>, is_own: bool) -> Self {
        let (name, connections) = (name.into(), OnDemand::default());
        let (registered, events) = (Registered::new(), Readiness::default());
        Self(Arc::new(Inner { name, connections, agent, is_own, registered, events }))
    }

    /// What it can do (VipQueryNic).
    pub fn attributes(&self) -> NicAttributes {
        let agent = self.agent();
        let limits = agent.limits();
        // An agent of our own makes connections with a VI, a region and a tag.
        let own = u32::from(self.0.is_own);
        NicAttributes {
            name: self.0.name.clone(),
            hardware_version: VERSION_VALUE,
            provider_version: version(),
            local_nic_address: agent.mac(),
            ip: agent.ip(),
            kind: agent.kind(),
            thread_safe: true,
            max_register_bytes: agent.dma_bytes(),
            // Row 0 is never used; two are the agent's, and one each completion queue's.
            max_register_regions: limits.regions - 3 - own,
            max_register_block_bytes: agent.dma_bytes().min(1 << 47),
            max_vi: u32::from(limits.vis) - own,
            max_descriptors_per_queue: 1 << MAX_RING_LOG2,
            max_segments_per_desc: MAX_SEGMENTS.into(),
            // One is the agent's.
            max_cq: u32::from(limits.cqs) - 1,
            max_cq_entries: MAX_CQ_ENTRIES as u32,
            max_transfer_size: MAX_TRANSFER,
            native_mtu: Mtu::MAX.bytes(),
            // All but 0 and the agent's.
            max_ptags: 0xfffe - own,
            reliability_level_support: vec![
                ReliabilityLevel::UnreliableDelivery,
                ReliabilityLevel::ReliableDelivery,
                ReliabilityLevel::ReliableReception,
            ],
            rdma_read_support: vec![ReliabilityLevel::ReliableDelivery, ReliabilityLevel::ReliableReception],
        }
    }

    /// Makes a protection tag (VipCreatePtag).
    pub fn create_ptag(&self) -> Result<Ptag, Error> {
        let tag = self.agent().create_tag()?;
        Ok(Ptag(Arc::new(Tag { nic: self.clone(), tag })))
    }

    /// Interrupt moderation, for those who sleep in *Wait: after an interrupt of a vector of queues the NIC sends no other
    /// for `holdoff`, so that many completions wake their consumers once. Up to 33 ms; zero, as it is at first: none. Without
    /// interrupts it changes nothing.
    ///
    /// # Errors
    /// A longer time; the device's errors.
    pub fn hold_off(&self, holdoff: Duration) -> Result<(), Error> {
        let agent = self.agent();
        for vector in (0..agent.vectors()).filter(|&vector| vector != EVENT_VECTOR || agent.vectors() == 1) {
            agent.hold_off(vector, holdoff)?;
        }
        Ok(())
    }

    /// Takes what the NIC reported that no descriptor can tell, oldest first: VIA's asynchronous
    /// errors.
    pub fn take_events(&self) -> Result<Vec<Event>, Error> {
        let mut events = self.agent().take_events()?;
        events.extend(self.lost());
        Ok(events)
    }

    /// [`Nic::take_events`], as soon as there is one; sleeps for `timeout` at most, then there are none.
    pub fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, Error> {
        let lost = self.lost();
        let timeout = if lost.is_empty() { timeout } else { Duration::ZERO };
        let mut events = self.agent().wait_events(timeout)?;
        events.extend(lost);
        Ok(events)
    }

    /// A descriptor for poll(2), epoll(7) and the like, which is readable when there may be events to take ([`Nic::take_events`]): VIA's asynchronous
    /// errors, and connections that their peers have ended. It belongs to the NIC, and is to be used as [`crate::Cq::fd`]: take what there is, arm
    /// ([`Nic::arm_events`]), look once more, and only then wait.
    ///
    /// # Errors
    /// [`Error::NotSupported`] for a NIC without interrupts, which is polled; the process may have no more descriptors.
    pub fn events_fd(&self) -> Result<BorrowedFd<'_>, Error> {
        self.events_wakeup().map(Readiness::fd)
    }

    /// Makes [`Nic::events_fd`] say when there is an event that has not been taken: once, or at once if there is one.
    ///
    /// # Errors
    /// As [`Nic::events_fd`]; the device's.
    pub fn arm_events(&self) -> Result<(), Error> {
        self.events_wakeup()?.clear();
        Ok(self.agent().arm_events()?)
    }

    fn events_wakeup(&self) -> Result<&Wakeup, Error> {
        self.0.events.get(|wakeup| {
            if self.agent().vectors() == 0 {
                return Err(Error::NotSupported("a descriptor to wait on, of a NIC without interrupts,"));
            }
            self.0.connections.lost().add(wakeup);
            Ok(self.agent().on_events(wakeup)?)
        })
    }

    /// Connections that their peers have ended: no error of the NIC's.
    fn lost(&self) -> Vec<Event> {
        self.wire_if_begun().map_or_else(Vec::new, |wire| lost_events(&wire))
    }

    /// What makes its connections, if somebody has asked for one.
    pub(crate) fn wire_if_begun(&self) -> Option<Arc<Wire>> {
        self.0.connections.begun()
    }

    /// Its connection manager.
    ///
    /// # Errors
    /// The device's, when it is begun.
    pub fn connections(&self) -> Result<Arc<dyn Connections>, Error> {
        Ok(Arc::new(self.0.connections.begin(self.agent())?))
    }

    /// The hosts file that the NIC's viad is configured with; None: it has none, or the agent is in this process.
    pub fn hosts(&self) -> Result<Option<String>, Error> {
        Ok(self.agent().hosts()?)
    }

    /// Whether the device still answers. What waits for completions asks this now and then by itself.
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.agent().check()?)
    }

    /// Device time in ticks of 1.024 us; it wraps. On a simulated NIC it is the simulation's time.
    pub fn device_time(&self) -> Result<u32, Error> {
        Ok(self.agent().time()?)
    }

    /// Reads the NIC's counters, with their names and meanings.
    pub fn counters(&self) -> Result<Vec<(&'static Code, u64)>, Error> {
        Ok(self.agent().counters()?)
    }

    #[inline]
    pub(crate) fn registered(&self) -> &Registered {
        &self.0.registered
    }

    #[inline]
    pub(crate) fn agent(&self) -> &Arc<dyn KernelAgent> {
        &self.0.agent
    }

    /// Whether something that was made with it, or a clone, is there: it is not closed yet when this one is dropped.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether both are the same open NIC.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Nic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nic").field(&self.0.name).finish()
    }
}

/// A protection tag (VIP_PROTECTION_HANDLE): what a VI and the memory that it may use have in
/// common. It is destroyed when the last clone and all that was made with it are dropped.
#[derive(Debug, Clone)]
pub struct Ptag(Arc<Tag>);

#[derive(Debug)]
struct Tag {
    nic: Nic,
    tag: u16,
}

impl Ptag {
    /// Its number, for use on `nic`.
    pub(crate) fn tag_of(&self, nic: &Nic) -> Result<u16, Error> {
        if !self.0.nic.is(nic) {
            return Err(AgentError::UnknownTag(self.0.tag).into());
        }
        Ok(self.0.tag)
    }
}

impl Ptag {
    /// Whether a VI, a region or a clone has it: it is not destroyed yet when this one is dropped.
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        // Regions and VIs hold clones, so nobody uses it; a region that could not be deregistered
        // keeps it, rightly.
        let _ = self.nic.agent().destroy_tag(self.tag);
    }
}

/// This crate's version, major and minor.
fn version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    number(env!("CARGO_PKG_VERSION_MAJOR")) << 16 | number(env!("CARGO_PKG_VERSION_MINOR"))
}
