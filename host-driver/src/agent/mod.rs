//! VIA's Kernel Agent, embedded in the process that uses the NIC: it owns the function, and everyone
//! in the process shares it.
//!
//! The data path goes past it: a post is a store into a ring ([`vis::Ring`]) and a doorbell. What a library asks
//! of it is [`crate::kernel_agent::KernelAgent`]; what viad asks for its clients, beside that, is to make queues in memory that
//! it shares with them.

pub mod connector;
mod counters;
pub mod cqs;
mod events;
mod function;
pub(crate) mod generation;
mod identify;
mod interrupts;
mod kernel_agent;
mod leases;
pub mod raw;
mod regions;
mod registrations;
mod tags;
mod vectors;
pub mod vis;

use std::{
    collections::{BTreeMap, VecDeque},
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::{
    handle::queue_pair,
    register::{control, registers},
    wire::DEFAULT_PKEY,
};

pub use crate::queues::entries::{Entry as CqEntry, MAX_CQ_ENTRIES};
pub use interrupts::EVENT_VECTOR;
pub use leases::Lease;

use crate::{
    address::{Mac, ACK_TIME},
    device::{Bar, DeviceError, PciDevice},
    device_protocol::commands::Admin,
    dma_space::DmaSpace,
    fork::Birth,
    kernel_agent::{AgentError, Event, Limits, MemoryAttributes, NicKind},
    memory::Mapping,
};
use function::{enable, BUS_MASTER_ENABLE, MEMORY_ENABLE, RUNS};
use identify::identify;
use interrupts::Interrupts;
use regions::{Regions, Request};
use tags::Tags;
use vis::Arena;

/// Nanoseconds of a tick of the NIC's time base.
const TICK_NS: u128 = 1024;

/// After how many looks one who polls asks whether the device still lives.
const CHECK: u32 = 1024;

/// How the NIC is set up.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The NIC's Ethernet address.
    pub mac: Mac,
    /// The NIC's IPv4 address.
    pub ip: Ipv4Addr,
    /// P_Key of its frames.
    pub pkey: u16,
    /// The NIC may take 4.096 us * 2^n to acknowledge, n from 0 to 31: the peers of its connections are told so, and wait that long before they send
    /// again (IBA 12.7.34). A simulated NIC with a peer outside the simulation takes longer than a card.
    pub ack_time: u8,
    /// Seed of every random number; None: the system's.
    pub seed: Option<u64>,
    /// Events that the error ring has room for. Where many share the NIC it is large: who makes a flood of them fills it less soon.
    pub events: usize,
}

impl Options {
    /// The default P_Key, a card's time to acknowledge, and random numbers of the system's.
    pub fn new(mac: Mac, ip: Ipv4Addr) -> Self {
        Self { mac, ip, pkey: DEFAULT_PKEY, ack_time: ACK_TIME, seed: None, events: cqs::EVENTS }
    }
}

/// The Kernel Agent of one NIC.
pub struct Agent {
    born: Birth,
    device: Arc<dyn PciDevice>,
    kind: NicKind,
    limits: Limits,
    mac: Mac,
    ip: Ipv4Addr,
    pkey: u16,
    ack_time: u8,
    arena: Arc<Arena>,
    system_tag: u16,
    dma_bytes: u64,
    /// None: one polls.
    interrupts: Option<Interrupts>,
    /// Where the NIC puts events. Locked behind `state`.
    errors: Mutex<crate::queues::consumer_ring::ConsumerRing>,
    state: Mutex<State>,
}

struct State {
    random: ChaCha8Rng,
    tags: Tags,
    regions: Regions,
    vis: Vec<Option<vis::Entry>>,
    /// Memory of the arenas that are registered.
    arenas: Vec<Arc<Mapping>>,
    /// Views of other processes' memory that is registered, by its handles.
    views: BTreeMap<u32, Arc<Mapping>>,
    /// Leases that have not ended.
    leases: usize,
    /// Generation of the last VI with each index.
    generations: Vec<u16>,
    /// How many VIs each index has been.
    lives: Vec<u16>,
    /// Where the search for a free VI starts.
    next_vi: usize,
    cqs: Vec<Option<cqs::QueueRecord>>,
    /// Completion queues created so far.
    cq_lives: u64,
    /// There is a raw channel.
    raw_open: bool,
    /// Events that are out of the error ring and not taken.
    events: VecDeque<Event>,
}

impl Agent {
    /// Takes over a NIC: resets it, checks what it is, and sets its addresses.
    ///
    /// # Errors
    /// Not a Viaduct NIC, or one of another layout version; the device's errors.
    #[tracing::instrument(level = "debug", skip_all, fields(mac = %options.mac, ip = %options.ip), err(level = "debug"))]
    pub fn open(device: Arc<dyn PciDevice>, options: Options) -> Result<Arc<Self>, AgentError> {
        let Options { mac, ip, pkey, ack_time, seed, events } = options;
        if !mac.is_unicast() {
            return Err(AgentError::OwnAddress(mac.to_string()));
        }
        if ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast() {
            return Err(AgentError::OwnAddress(ip.to_string()));
        }
        match device.reset() {
            // A function without a reset of its own has the one in CONTROL, below.
            Ok(()) | Err(DeviceError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        enable(&*device, MEMORY_ENABLE)?;
        let (kind, limits) = identify(&*device)?;
        device.write32(Bar::Registers, registers::CONTROL, 1 << control::RESET.lo)?;
        Admin::of(&*device).ready(|| "its reset".into())?;
        enable(&*device, MEMORY_ENABLE | BUS_MASTER_ENABLE)?;

        // Behind both resets, which forget it; a vector can be raised from the first row on.
        let interrupts = Interrupts::start(&*device)?;

        let mut random = match seed {
            Some(seed) => ChaCha8Rng::seed_from_u64(seed),
            None => ChaCha8Rng::from_rng(&mut rand::rng()),
        };
        let mut tags = Tags::new(random.random());
        let system_tag = tags.create()?;
        let mut regions = Regions::new(
            limits.regions.min(0xffff) as u16,
            limits.pages,
            DmaSpace::new(&device.dma_ranges()),
        );
        let arena = Arc::new(Mapping::for_device(vis::arena_bytes(limits.vis)).map_err(AgentError::Arena)?);
        let request = Request::system(&arena, system_tag, random.random());
        // SAFETY: the arena is the agent's own, accessed as atomics only, and Drop takes it back
        // from the device before it goes, or leaves it.
        let handle = unsafe { regions.register(&*device, &mut tags, request) }?;
        let generations: Vec<u16> =
            (0..limits.vis).map(|_| random.random::<u16>() & queue_pair::GENERATION.mask() as u16).collect();
        let cqs: Vec<Option<cqs::QueueRecord>> = (0..limits.cqs).map(|_| None).collect();
        let vis = vec![None; limits.vis.into()];
        let mut state = State {
            random,
            tags,
            regions,
            vis,
            arenas: vec![Arc::clone(&arena)],
            views: BTreeMap::new(),
            leases: 0,
            generations,
            lives: vec![0; limits.vis.into()],
            next_vi: 0,
            cqs,
            cq_lives: 0,
            raw_open: false,
            events: VecDeque::new(),
        };
        let errors = state.open_error_ring(&device, &limits, system_tag, events)?;
        device.write64(Bar::Registers, registers::MAC, mac_register(mac))?;
        device.write32(Bar::Registers, registers::IP, ip.into())?;
        device.write32(Bar::Registers, registers::PKEY, pkey.into())?;
        device.write32(Bar::Registers, registers::CONTROL, RUNS)?;
        tracing::info!(
            ?kind,
            vis = limits.vis,
            cqs = limits.cqs,
            regions = limits.regions,
            "the NIC is open"
        );
        Ok(Arc::new(Self {
            born: Birth::now(),
            device,
            kind,
            limits,
            mac,
            ip,
            pkey,
            ack_time,
            arena: Arena::registered(arena, handle),
            system_tag,
            dma_bytes: state.regions.dma_bytes(),
            interrupts,
            errors: Mutex::new(errors),
            state: Mutex::new(state),
        }))
    }

    /// What carries out the work: the KIND register.
    pub fn kind(&self) -> NicKind {
        self.kind
    }

    /// The NIC's sizes.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The NIC's Ethernet address.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// The NIC's IPv4 address.
    pub fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// Bytes of memory that the device can reach at a time: each registration counts, whole pages.
    pub fn dma_bytes(&self) -> u64 {
        self.dma_bytes
    }

    /// Lets time pass while something is waited for: [`PciDevice::pause`].
    pub fn pause(&self) {
        self.device.pause();
    }

    /// Makes a protection tag; never 0.
    #[tracing::instrument(level = "debug", skip_all, ret, err(level = "debug"))]
    pub fn create_tag(&self) -> Result<u16, AgentError> {
        self.state()?.tags.create()
    }

    /// Destroys a protection tag that no region and no VI uses.
    #[tracing::instrument(level = "debug", skip_all, fields(tag = tag), ret, err(level = "debug"))]
    pub fn destroy_tag(&self, tag: u16) -> Result<(), AgentError> {
        self.check_not_system(tag)?;
        self.state()?.tags.destroy(tag)
    }

    /// The P_Key of its frames.
    pub fn pkey(&self) -> u16 {
        self.pkey
    }

    /// The device that it owns.
    pub fn device(&self) -> &Arc<dyn PciDevice> {
        &self.device
    }

    /// The agent's own tag is nobody else's.
    fn check_not_system(&self, tag: u16) -> Result<(), AgentError> {
        if tag == self.system_tag {
            return Err(AgentError::UnknownTag(tag));
        }
        Ok(())
    }

    /// Not in a child of a fork: a thread that it has not may hold the lock.
    fn state(&self) -> Result<MutexGuard<'_, State>, DeviceError> {
        self.born.check()?;
        // The tables hold together after each step: what a thread that panicked left is usable.
        Ok(self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if !self.born.is_here() {
            // A copy in a child: the NIC and its memory are the parent's.
            return;
        }
        if self.interrupts.is_some() {
            // A device that is gone raises none.
            let _ = self.device.set_interrupts(&[]);
        }
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Who has a lease has the registers mapped, and may store there before it knows: without the enable that would end it (SIGBUS).
        let enables = if state.leases > 0 { MEMORY_ENABLE } else { 0 };
        let stopped = enable(&*self.device, enables)
            .map_err(AgentError::from)
            .and_then(|()| Ok(self.device.reset()?));
        let back = state.regions.unmap_all(&*self.device);
        tracing::info!(mac = %self.mac, is_stopped = stopped.is_ok(), is_unmapped = back.is_ok(), "the NIC is closed");
        if stopped.is_err() || back.is_err() {
            // Nobody knows whether the device is done with the rings: they stay.
            std::mem::forget(std::mem::take(&mut state.arenas));
            std::mem::forget(std::mem::take(&mut state.views));
            std::mem::forget(std::mem::take(&mut state.cqs));
        }
    }
}

/// The MAC register: first byte on the wire in the low bits.
fn mac_register(mac: Mac) -> u64 {
    mac.0.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
