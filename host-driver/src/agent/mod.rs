//! VIA's Kernel Agent, embedded in the process that uses the NIC: it owns the function, and everyone
//! in the process shares it.
//!
//! The data path goes past it: a post is a store into a ring ([`vis::Ring`]) and a doorbell. What a library asks
//! of it is [`crate::kernel_agent::KernelAgent`]; what viad asks for its clients, beside that, is to make queues in memory that
//! it shares with them.

mod admin;
pub mod connector;
pub mod cqs;
mod error;
mod interrupts;
mod kernel_agent;
pub mod raw;
mod regions;
mod tags;
pub mod vis;

use std::{
    collections::VecDeque,
    net::Ipv4Addr,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::{
    handle::queue_pair,
    layout::Code,
    register::{control, counter, event, event_code, nic_kind, registers, MAGIC_VALUE, VERSION_VALUE},
    tables::{moderation, table},
    wire::DEFAULT_PKEY,
};

pub use crate::queues::entries::{Entry as CqEntry, MAX_CQ_ENTRIES};
pub use error::{AgentError, ErrorClass};
pub use interrupts::EVENT_VECTOR;
pub use regions::MemoryAttributes;

use crate::{
    address::Mac,
    device::{Alarm, Bar, DeviceError, DmaAccess, PciDevice},
    dma_space::DmaSpace,
    fork::Birth,
    memory::{self, Mapping},
};
use admin::Admin;
use interrupts::Interrupts;
use regions::{Draft, Regions, Request};
use tags::Tags;
use vis::Arena;

/// Configuration space: identifiers.
const CONFIG_ID: u16 = 0x00;
/// Configuration space: the command register, in the low half.
const CONFIG_COMMAND: u16 = 0x04;
/// Command register: BARs answer.
const MEMORY_ENABLE: u32 = 1 << 1;
/// Command register: the function may read and write memory.
const BUS_MASTER_ENABLE: u32 = 1 << 2;

/// How long one sleeps before one asks whether the device still lives.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(1);

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
    /// Seed of every random number; None: the system's.
    pub seed: Option<u64>,
    /// Events that the error ring has room for. Where many share the NIC it is large: who makes a flood of them fills it less soon.
    pub events: usize,
}

impl Options {
    /// The default P_Key, and random numbers of the system's.
    pub fn new(mac: Mac, ip: Ipv4Addr) -> Self {
        Self { mac, ip, pkey: DEFAULT_PKEY, seed: None, events: cqs::EVENTS }
    }
}

/// What carries out the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NicKind {
    /// The RTL: on a chip, or Verilated.
    Rtl,
    /// The functional model.
    Model,
}

/// What the NIC's registers say of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Virtual interfaces.
    pub vis: u16,
    /// Completion queues; the first is the agent's.
    pub cqs: u16,
    /// Rows of the region table; row 0 is never used, and two are the agent's.
    pub regions: u32,
    /// Rows of the page table.
    pub pages: u32,
    /// log2 of the doorbell page stride.
    pub doorbell_shift: u32,
    /// Receive descriptors that the NIC fetches ahead for a VI.
    pub receive_ahead: u32,
    /// RDMA reads of a VI in each direction at a time.
    pub read_depth: u32,
}

impl Limits {
    /// Where a VI's doorbell page is in the doorbell BAR.
    pub fn vi_page(&self, vi: u16) -> u64 {
        u64::from(vi) << self.doorbell_shift
    }

    /// Where a completion queue's doorbell page is: behind those of all VIs.
    pub fn cq_page(&self, cq: u16) -> u64 {
        (u64::from(self.vis) + u64::from(cq)) << self.doorbell_shift
    }
}

/// Something that no descriptor can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// One of `register::event_code`.
    pub code: u8,
    /// Index of the VI; of the completion queue, if the code is CQ_OVERRUN.
    pub vi: u16,
    /// Which one of those that have had this index: its name's life.
    pub life: u64,
    /// The receive queue; else the send queue.
    pub receive: bool,
    /// The VI went into Error because of it.
    pub broke: bool,
}

impl Event {
    /// Its entry in the specification: name and meaning.
    pub fn meaning(&self) -> Option<&'static Code> {
        static CODES: &[Code] = event_code::CODES.codes;
        CODES.iter().find(|code| code.value == u64::from(self.code))
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
    arena: Arc<Arena>,
    system_tag: u16,
    dma_bytes: u64,
    /// None: one polls.
    interrupts: Option<Interrupts>,
    /// Where the NIC puts events.
    errors: crate::queues::cq::Consumer,
    state: Mutex<State>,
}

struct State {
    random: ChaCha8Rng,
    tags: Tags,
    regions: Regions,
    vis: Vec<Option<vis::Entry>>,
    /// Memory of the arenas that are registered.
    arenas: Vec<Arc<Mapping>>,
    /// Generation of the last VI with each index.
    generations: Vec<u16>,
    /// How many VIs each index has been.
    lives: Vec<u16>,
    /// Where the search for a free VI starts.
    next_vi: usize,
    cqs: Vec<Option<cqs::Kept>>,
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
    pub fn open(device: Arc<dyn PciDevice>, options: Options) -> Result<Arc<Self>, AgentError> {
        let Options { mac, ip, pkey, seed, events } = options;
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
        let cqs: Vec<Option<cqs::Kept>> = (0..limits.cqs).map(|_| None).collect();
        let vis = vec![None; limits.vis.into()];
        let mut state = State {
            random,
            tags,
            regions,
            vis,
            arenas: vec![Arc::clone(&arena)],
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
        let enables = 1 << control::RECEIVE_ENABLE.lo | 1 << control::SEND_ENABLE.lo;
        device.write32(Bar::Registers, registers::CONTROL, enables)?;
        Ok(Arc::new(Self {
            born: Birth::now(),
            device,
            kind,
            limits,
            mac,
            ip,
            pkey,
            arena: vis::arena(arena, handle),
            system_tag,
            dma_bytes: state.regions.dma_bytes(),
            interrupts,
            errors,
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

    /// How often an interrupt vector was raised, as far as one can tell; None where there are no interrupts to
    /// wait for, and one polls: [`Agent::pause`].
    pub fn generation(&self, vector: u8) -> Option<u64> {
        self.interrupts.as_ref()?.generation(vector)
    }

    /// How many interrupt vectors it hears; 0: one polls.
    pub fn vectors(&self) -> u8 {
        // At most VECTORS, which fits.
        self.interrupts.as_ref().map_or(0, Interrupts::count) as u8
    }

    /// Interrupt moderation: after an interrupt of `vector` the NIC sends no other for `holdoff`, in steps of
    /// 1.024 us rounded up; what is raised meanwhile is one interrupt then. Zero, as it is at first: none.
    ///
    /// # Errors
    /// No such vector; longer than 33 ms.
    pub fn hold_off(&self, vector: u8, holdoff: Duration) -> Result<(), AgentError> {
        if vector >= self.vectors() {
            return Err(AgentError::UnknownVector(vector));
        }
        let ticks = holdoff.as_nanos().div_ceil(TICK_NS);
        let ticks = u64::try_from(ticks).ok().filter(|&ticks| ticks <= moderation::HOLDOFF.mask());
        let mut row = [0];
        moderation::HOLDOFF.put(&mut row, ticks.ok_or(AgentError::Holdoff(holdoff))?);
        let _one_commit = self.state()?;
        Admin::of(&*self.device).commit(table::MODERATION, vector.into(), &row)
    }

    /// Sleeps until `vector` is raised again after [`Agent::generation`] was `seen`, at most for `timeout`.
    /// Whether it was. Where there are no interrupts, it pauses.
    ///
    /// To miss nothing: read the generation, ask for the interrupt ([`vis::Vi::arm`]), look whether what one
    /// waits for is there, and then sleep. A vector has many users: look again, and ask again, after each.
    pub fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool {
        match &self.interrupts {
            Some(interrupts) => interrupts.sleep(vector, seen, timeout),
            None => {
                self.pause();
                false
            }
        }
    }

    /// Wakes all who sleep on `vector`, as an interrupt would.
    pub fn wake(&self, vector: u8) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.wake(vector);
        }
    }

    /// Whether the device still answers, and the system leaves it to us.
    pub fn check(&self) -> Result<(), AgentError> {
        self.check_alarm()?;
        match self.device.config_read32(CONFIG_ID)? {
            u32::MAX => Err(admin::removed().into()),
            _ => Ok(()),
        }
    }

    /// What the system has said of the function, as an error: from then on the device is gone, as far as who waits or asks is concerned.
    pub(crate) fn check_alarm(&self) -> Result<(), DeviceError> {
        let reason = match self.interrupts.as_ref().and_then(Interrupts::alarm) {
            None => return Ok(()),
            Some(Alarm::Removal) => {
                "the system wants it back: somebody unplugs or unbinds it, and waits until this NIC is closed"
            }
            Some(Alarm::Error) => "the bus has found an error that it cannot mend (PCIe AER), and stopped it",
        };
        Err(DeviceError::Gone { place: "the PCI function".into(), reason: reason.into() })
    }

    /// Makes a protection tag; never 0.
    pub fn create_tag(&self) -> Result<u16, AgentError> {
        self.state()?.tags.create()
    }

    /// Destroys a protection tag that no region and no VI uses.
    pub fn destroy_tag(&self, tag: u16) -> Result<(), AgentError> {
        self.check_not_system(tag)?;
        self.state()?.tags.destroy(tag)
    }

    /// Registers `length` bytes of this process's memory from `address` on, of any alignment.
    /// Memory that this process may only read becomes memory that the NIC may only read. The handle
    /// is never 0.
    ///
    /// # Safety
    /// The memory stays mapped until [`Agent::deregister`] has returned without an error, and no
    /// reference exists that its being changed (if it is writable) by the NIC would break.
    pub unsafe fn register(
        &self,
        address: usize,
        length: usize,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        let (address, length) = (address as u64, length as u64);
        let (start, bytes) = regions::whole(address, length)?;
        let access = memory::access(start, start + bytes)?;
        // SAFETY: the caller's promise.
        self.register_as((address, length), access, attributes, u64::MAX, |draft| unsafe {
            draft.map(&*self.device)
        })
    }

    /// Registers memory of another process, which is `file` (its `/proc/self/mem`), and in which it may do as `access` says. As
    /// [`Agent::register`], but that nothing of this process is reached, and that it takes `most_pages` rows of the NIC's page table at most.
    pub fn register_file(
        &self,
        file: BorrowedFd<'_>,
        (address, length): (u64, u64),
        access: DmaAccess,
        attributes: MemoryAttributes,
        most_pages: u64,
    ) -> Result<u32, AgentError> {
        self.register_as((address, length), access, attributes, most_pages, |draft| {
            draft.map_file(&*self.device, file)
        })
    }

    /// How many rows of the NIC's page table a registered region has.
    pub fn page_rows(&self, handle: u32) -> Result<u64, AgentError> {
        self.state()?.regions.pages(handle)
    }

    /// Registers memory that `map` maps. That may take its time, all pages being read in and kept: others are served meanwhile.
    fn register_as(
        &self,
        (address, length): (u64, u64),
        access: DmaAccess,
        attributes: MemoryAttributes,
        most_pages: u64,
        map: impl FnOnce(&Draft) -> Result<(), DeviceError>,
    ) -> Result<u32, AgentError> {
        self.check_not_system(attributes.tag)?;
        let draft = {
            let mut guard = self.state()?;
            let state = &mut *guard;
            let request = Request { address, length, attributes, system: false, key: state.random.random() };
            state.regions.reserve(&mut state.tags, request, access, most_pages)?
        };
        let mapped = map(&draft);
        let mut guard = self.state()?;
        let state = &mut *guard;
        state.regions.enter(&*self.device, &mut state.tags, draft, mapped)
    }

    /// From now on `listener` is called with the number of each vector that was raised, in the thread that hears interrupts.
    /// The first listener stays.
    pub fn listen(&self, listener: Box<dyn Fn(u8) + Send + Sync>) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.listen(listener);
        }
    }

    /// The P_Key of its frames.
    pub fn pkey(&self) -> u16 {
        self.pkey
    }

    /// The device that it owns.
    pub fn device(&self) -> &Arc<dyn PciDevice> {
        &self.device
    }

    /// Ends a registration. When it returns without an error, nothing reaches the memory through the
    /// handle any more. After an error the NIC may still do so: the memory must stay.
    pub fn deregister(&self, handle: u32) -> Result<(), AgentError> {
        let end = {
            let mut state = self.state()?;
            if state.regions.is_system(handle) {
                return Err(AgentError::UnknownHandle(handle));
            }
            state.regions.end(&*self.device, handle)?
        };
        // Others are served meanwhile.
        let unmapped = end.unmap(&*self.device);
        let mut guard = self.state()?;
        let state = &mut *guard;
        state.regions.forget(&mut state.tags, end, unmapped)
    }

    /// Gives a registered region another tag and other rights; its handle stays. When it returns without an error, nobody
    /// reaches the memory by what it was registered for before.
    ///
    /// # Errors
    /// No such handle or tag; a right to write read-only memory.
    pub fn set_memory_attributes(&self, handle: u32, attributes: MemoryAttributes) -> Result<(), AgentError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        if state.regions.is_system(handle) {
            return Err(AgentError::UnknownHandle(handle));
        }
        self.check_not_system(attributes.tag)?;
        state.regions.set_attributes(&*self.device, &mut state.tags, handle, attributes)
    }

    /// What a handle was registered with.
    pub fn memory_attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        self.state()?.regions.attributes(handle)
    }

    /// Takes the events that the NIC has put into the error ring, oldest first. Those of VIs and queues that are gone are among them.
    pub fn take_events(&self) -> Result<Vec<Event>, AgentError> {
        let mut state = self.state()?;
        self.empty_error_ring(&mut state)?;
        Ok(state.events.drain(..).collect())
    }

    /// Takes what is in the error ring out of it. Before an index is another VI's or queue's, so that each event is known to be of the one that
    /// it is of.
    fn empty_error_ring(&self, state: &mut State) -> Result<(), AgentError> {
        // A NIC that never runs dry is broken.
        for _ in 0..MAX_CQ_ENTRIES {
            let Some(entry) = self.errors.take()? else { break };
            let word = [entry.token];
            let (code, index) = (event::CODE.get(&word) as u8, event::VI.get(&word) as u16);
            let life = match code {
                event_code::CQ_OVERRUN => state.cq_life(index),
                _ => state.vi_life(index),
            };
            if state.events.len() >= MAX_CQ_ENTRIES {
                state.events.pop_front();
            }
            state.events.push_back(Event {
                code,
                vi: index,
                life: life.unwrap_or_default(),
                receive: event::RECEIVE.get(&word) != 0,
                broke: event::BROKE.get(&word) != 0,
            });
        }
        Ok(())
    }

    /// [`Agent::take_events`], as soon as there is one: waits for `timeout` at most, then there are none.
    pub fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, AgentError> {
        let start = Instant::now();
        let mut looks = 0u32;
        loop {
            let events = self.take_events()?;
            self.check_alarm()?;
            let left = timeout.saturating_sub(start.elapsed());
            if !events.is_empty() || left.is_zero() {
                return Ok(events);
            }
            let Some(seen) = self.generation(EVENT_VECTOR) else {
                self.pause();
                // Looks and not time: in a deterministic simulation the question comes at the same place in every run.
                looks = looks.wrapping_add(1);
                if looks % CHECK == 0 {
                    self.check()?;
                }
                continue;
            };
            // Whatever is there when the arm word is seen, or comes behind it, ends the sleep.
            self.errors.arm()?;
            if !self.sleep(EVENT_VECTOR, seen, left.min(LONGEST_SLEEP)) {
                self.check()?;
            }
        }
    }

    /// Asks for one interrupt of [`EVENT_VECTOR`]: when there is an event that has not been taken, or at once.
    pub fn arm_events(&self) -> Result<(), AgentError> {
        Ok(self.errors.arm()?)
    }

    /// Device time in ticks of 1.024 us; it wraps.
    pub fn time(&self) -> Result<u32, AgentError> {
        Ok(self.device.read32(Bar::Registers, registers::TIME)?)
    }

    /// Reads one counter: a number of `register::counter`.
    pub fn counter(&self, number: u64) -> Result<u64, AgentError> {
        Ok(self.device.read64(Bar::Registers, registers::COUNTERS + 8 * number)?)
    }

    /// Reads all counters, with their names and meanings.
    pub fn counters(&self) -> Result<Vec<(&'static Code, u64)>, AgentError> {
        static CODES: &[Code] = counter::CODES.codes;
        CODES.iter().map(|code| Ok((code, self.counter(code.value)?))).collect()
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
        let stopped =
            enable(&*self.device, 0).map_err(AgentError::from).and_then(|()| Ok(self.device.reset()?));
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let back = state.regions.unmap_all(&*self.device);
        if stopped.is_err() || back.is_err() {
            // Nobody knows whether the device is done with the rings: they stay.
            std::mem::forget(std::mem::take(&mut state.arenas));
            std::mem::forget(std::mem::take(&mut state.cqs));
        }
    }
}

/// Sets the two enables of the PCI command register.
fn enable(device: &dyn PciDevice, enables: u32) -> Result<(), DeviceError> {
    let command = device.config_read32(CONFIG_COMMAND)? & 0xffff & !(MEMORY_ENABLE | BUS_MASTER_ENABLE);
    // The upper half is the status register: writing 0 changes nothing there.
    device.config_write32(CONFIG_COMMAND, command | enables)
}

/// Refuses everything but a Viaduct NIC of the known layout.
fn identify(device: &dyn PciDevice) -> Result<(NicKind, Limits), AgentError> {
    let read = |offset| device.read32(Bar::Registers, offset);
    let found = read(registers::MAGIC)?;
    if found != MAGIC_VALUE {
        return Err(AgentError::NotViaduct { found, expected: MAGIC_VALUE });
    }
    let found = read(registers::VERSION)?;
    if found != VERSION_VALUE {
        return Err(AgentError::Version { found, known: VERSION_VALUE });
    }
    let kind = match read(registers::KIND)? {
        nic_kind::RTL => NicKind::Rtl,
        nic_kind::MODEL => NicKind::Model,
        other => return Err(AgentError::Kind(other)),
    };
    let within = |what, offset, least: u32, most: u32| -> Result<u32, AgentError> {
        let value = read(offset)?;
        if (least..=most).contains(&value) {
            Ok(value)
        } else {
            Err(AgentError::Limits { what, value })
        }
    };
    let limits = Limits {
        vis: within("its number of virtual interfaces", registers::VIS, 1, 1 << 10)? as u16,
        cqs: within("its number of completion queues", registers::CQS, 1, 1 << 10)? as u16,
        regions: within("its number of regions", registers::REGIONS, 3, 1 << 16)?,
        pages: within("its number of pages", registers::PAGES, 1, 1 << 16)?,
        doorbell_shift: within("log2 of its doorbell stride", registers::DOORBELL_SHIFT, 12, 30)?,
        receive_ahead: within("its receives fetched ahead", registers::RECEIVE_AHEAD, 1, 1 << 14)?,
        read_depth: within("its RDMA reads at a time", registers::READ_DEPTH, 1, 8)?,
    };
    Ok((kind, limits))
}

/// The MAC register: first byte on the wire in the low bits.
fn mac_register(mac: Mac) -> u64 {
    mac.0.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
