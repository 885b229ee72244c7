//! NICs on a simulated network in this process, and their hosts.
//!
//! Everything runs in the test's own thread and depends on the seed alone: device time passes only
//! when the test (or a call of a driver's) steps the network.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Mac;
use viaduct_driver::agent::{Agent, Options};
use viaduct_driver::device::{Bar, DmaAccess, PciDevice};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_sim::fabric::{Faults, Frame, Link};
use viaduct_sim::in_process::{InProcess, InProcessDevice};
use viaduct_sim::network::Activity;
use viaduct_sim::pcie;
use viaduct_sim::root_complex::Conditions;
use viaduct_sim::setup::{HostLink, Kind, Setup};
use viaduct_spec::register::{command, command_op, counter, nic_kind, registers, state};

use crate::memory::Memory;
use crate::raw::Region;

/// The environment variable that replaces the seeds of random tests by one of your own.
pub const SEED: &str = "VIADUCT_SEED";

/// Seeds of a random test: these, or the one in [`SEED`].
pub fn seeds(usual: &[u64]) -> Vec<u64> {
    match std::env::var(SEED) {
        Ok(seed) => vec![seed.parse().unwrap_or_else(|_| panic!("{SEED} is {seed:?}, no number"))],
        Err(_) => usual.to_vec(),
    }
}

/// The environment variable that says what each NIC is: `rtl` or `model`, separated by commas; the last stands for the
/// rest.
pub const NIC: &str = "VIADUCT_NIC";

/// What each NIC is: what [`NIC`] says, or the RTL.
pub fn kinds() -> Vec<Kind> {
    let Ok(names) = std::env::var(NIC) else { return Vec::new() };
    let kind = |name: &str| match name {
        "rtl" => Kind::Rtl,
        "model" => Kind::Model,
        _ => panic!("{NIC} is {names:?}: a list of rtl and model"),
    };
    names.split(',').map(kind).collect()
}

/// The environment variable that says what is between each RTL NIC and its root complex: `core` or `pcie`, or `pcie:5:4` with another
/// ratio of the link's clock to the core's.
pub const LINK: &str = "VIADUCT_LINK";

/// What is between each RTL NIC and its root complex: what [`LINK`] says, or nothing.
pub fn link() -> HostLink {
    let Ok(name) = std::env::var(LINK) else { return HostLink::Core };
    let pcie = |ratio| HostLink::Pcie(pcie::Options { ratio, ..pcie::Options::default() });
    match name.as_str() {
        "core" => HostLink::Core,
        "pcie" => pcie((1, 1)),
        "pcie:5:4" => pcie((5, 4)),
        _ => panic!("{LINK} is {name:?}: core, pcie or pcie:5:4"),
    }
}

/// Two NICs, links of 8 Gb/s with little latency, kind root complexes: for tests of what a
/// NIC does. What it takes in time is tested elsewhere.
pub fn quick(seed: u64) -> Setup {
    let mut setup = Setup { seed, kinds: kinds(), link: link(), ..Setup::default() };
    setup.network.link = Link { latency: 16, rate: 8, ..Link::default() };
    setup.network.bus.conditions.round_trip = 16;
    setup
}

/// Two NICs, with links and root complexes of random conditions.
pub fn random_conditions(seed: u64) -> Setup {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x300d);
    let mut setup = quick(seed);
    setup.network.link = Link::random(&mut random);
    setup.network.bus.conditions = Conditions::random(&mut random);
    setup
}

/// A network.
pub struct World {
    /// The network.
    pub net: InProcess,
    /// Seed of everything in it.
    pub seed: u64,
}

impl World {
    /// Powers the NICs up.
    pub fn new(setup: &Setup) -> Self {
        println!("seed {}", setup.seed);
        Self { net: InProcess::new(setup.build().expect("files can be made")), seed: setup.seed }
    }

    /// Whether a NIC is a model, which may choose otherwise than the RTL where the rules leave a choice.
    pub fn is_model(&self, nic: usize) -> bool {
        let kind = self.device(nic).read32(Bar::Registers, registers::KIND);
        kind.expect("the NIC answers") == nic_kind::MODEL
    }

    /// The PCI function of a NIC.
    pub fn device(&self, nic: usize) -> InProcessDevice {
        self.net.device(nic).expect("there is such a NIC")
    }

    /// How the agent of a NIC sets it up: 02:00:00:00:00:01 and 10.0.0.1 for NIC 0, and so on.
    pub fn options(&self, nic: usize) -> Options {
        let number = nic as u8 + 1;
        Options {
            seed: Some(self.seed.wrapping_add(nic as u64)),
            ..Options::new(Mac([2, 0, 0, 0, 0, number]), Ipv4Addr::new(10, 0, 0, number))
        }
    }

    /// Opens a NIC with the library.
    pub fn nic(&self, nic: usize) -> vipl::Nic {
        let opened =
            vipl::Nic::open_device(&format!("nic {nic}"), Arc::new(self.device(nic)), self.options(nic));
        opened.expect("the NIC answers")
    }

    /// Opens a NIC with the agent alone: for what the library would not do.
    pub fn host(&self, nic: usize) -> Host {
        self.host_as(nic, self.options(nic))
    }

    /// Opens a NIC with the agent alone, under addresses of the test's.
    pub fn host_as(&self, nic: usize, options: Options) -> Host {
        let device = self.device(nic);
        let agent = Agent::open(Arc::new(device.clone()), options).expect("the NIC answers");
        let memory = Memory::new(Host::BYTES, self.seed ^ (nic as u64) << 32);
        let tag = agent.create_tag().expect("a tag");
        let mut host =
            Host { index: nic, device, agent, memory, tag, region: Region::default(), slot: Host::DATA };
        host.region = host.register(0, Host::BYTES, tag);
        host
    }

    /// Device time in cycles.
    pub fn now(&self) -> u64 {
        self.net.network().now()
    }

    /// Steps until `done`, or panics after `cycles`.
    pub fn until(&self, what: &str, cycles: u64, mut done: impl FnMut() -> bool) {
        let limit = self.now() + cycles;
        while !done() {
            if self.now() >= limit {
                // A rule of the bus that was broken says more than what did not come of it.
                self.check();
                panic!("seed {}: {what}: not after {cycles} cycles", self.seed);
            }
            self.net.pause();
        }
    }

    /// Steps for this long.
    pub fn run(&self, cycles: u64) {
        let end = self.now() + cycles;
        while self.now() < end {
            self.net.pause();
        }
    }

    /// Steps until every store of the host's has reached its NIC: only then does the test send what
    /// needs what was posted. No message would overtake the store; the test's knowledge would.
    pub fn arrived(&self, nic: usize) {
        self.until("stores reach the NIC", 100_000, || self.net.network().backlog(nic) == 0);
    }

    /// Steps until nothing moves any more: every NIC idle, no frame and no packet under way.
    pub fn settle(&self) {
        self.until("the network comes to rest", 2_000_000, || {
            self.net.network().activity() != Activity::Busy
        });
    }

    /// A counter of a NIC, by its number in the specification.
    pub fn counter(&self, nic: usize, number: u64) -> u64 {
        let value = self.device(nic).read64(Bar::Registers, registers::COUNTERS + 8 * number);
        value.expect("a counter")
    }

    /// All counters of a NIC.
    pub fn counters(&self, nic: usize) -> Counters {
        Counters(counter::CODES.codes.iter().map(|code| self.counter(nic, code.value)).collect())
    }

    /// From now on these frames are lost, and no others; they are counted from the next one, which is 1.
    pub fn lose(&self, frames: impl IntoIterator<Item = u64>) {
        let mut network = self.net.network();
        let before = network.fabric().counters().roce_frames;
        let drop = frames.into_iter().map(|number| before + number).collect();
        network.fabric_mut().set_faults(Faults { drop, ..Faults::default() });
    }

    /// A frame of nobody's comes to a NIC.
    pub fn inject(&self, nic: usize, data: &[u8]) {
        self.net.network().inject(nic, Frame { data: data.to_vec(), damaged: false });
    }

    /// Ends the capture and gives its frames, in order.
    pub fn captured(&self, path: &Path) -> Vec<Vec<u8>> {
        self.net.network().fabric_mut().finish_capture().expect("the capture can be written");
        crate::frame::capture(path)
    }

    /// Writes a row of a NIC's table past its agent.
    pub fn commit(&self, nic: usize, table: u8, row: u32, words: &[u64]) {
        let device = self.device(nic);
        let write = |offset, value| device.write64(Bar::Registers, offset, value).expect("a register");
        for (word, stage) in words.iter().zip([registers::STAGE0, registers::STAGE1, registers::STAGE2]) {
            write(stage, *word);
        }
        let mut order = [0];
        command::OP.put(&mut order, command_op::COMMIT.into());
        command::TABLE.put(&mut order, table.into());
        command::ROW.put(&mut order, row.into());
        write(registers::COMMAND, order[0]);
        let read = || u64::from(device.read32(Bar::Registers, registers::STATE).expect("a register"));
        self.until("a commit", 100_000, || state::COMMAND_BUSY.get(&[read()]) == 0);
        assert_eq!(state::COMMAND_ERROR.get(&[read()]), 0);
    }

    /// No NIC has broken a rule of its bus, and all that they asked of memory was there.
    pub fn check(&self) {
        let network = self.net.network();
        for nic in 0..network.len() {
            assert_eq!(network.violations(nic), [], "seed {}: NIC {nic}", self.seed);
            let unsupported = network.counters(nic).0.unsupported;
            assert_eq!(unsupported, 0, "seed {}: NIC {nic} reached for what is not there", self.seed);
        }
    }
}

/// The counters of a NIC at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters(Vec<u64>);

impl Counters {
    /// The counters that differ from an earlier reading, by name, and by how much.
    pub fn since(&self, earlier: &Self) -> Vec<(&'static str, u64)> {
        let named = counter::CODES.codes.iter().zip(self.0.iter().zip(&earlier.0));
        named
            .filter(|(_, (now, then))| now != then)
            .map(|(code, (now, then))| (code.name, now - then))
            .collect()
    }
}

/// A host whose NIC is used through the agent alone. Its memory is one region under one tag.
pub struct Host {
    /// Number of its NIC.
    pub index: usize,
    /// The NIC's PCI function.
    pub device: InProcessDevice,
    /// The agent. It goes before the memory does.
    pub agent: Arc<Agent>,
    /// Memory: data in the first half, descriptors in the second.
    pub memory: Memory,
    /// The tag of its memory and VIs.
    pub tag: u16,
    /// The region that is all of the memory.
    pub region: Region,
    /// Where the next descriptor goes.
    slot: usize,
}

impl Host {
    /// Bytes of its memory.
    pub const BYTES: usize = 2 * Self::DATA;
    /// Bytes of the half for data.
    pub const DATA: usize = 1 << 17;

    /// Registers a part of the host's memory, once more.
    pub fn register(&self, offset: usize, length: usize, tag: u16) -> Region {
        self.register_as(offset, length, MemoryAttributes { tag, rdma_write: false, rdma_read: false })
    }

    /// The same, for remote peers as well.
    pub fn register_as(&self, offset: usize, length: usize, attributes: MemoryAttributes) -> Region {
        assert!(offset + length <= self.memory.length());
        let address = self.memory.address(offset);
        // SAFETY: the memory is only ever accessed by copies, and `agent` is declared before `memory`:
        // its last clone stops the NIC. A test that keeps a clone longer steps the network no more.
        let handle = unsafe { self.agent.register(address as usize, length, attributes) };
        Region { handle: handle.expect("room for a region"), address, length: length as u64 }
    }

    /// Maps whole pages of the host's memory for rows that a test writes by hand: their DMA address. It is the
    /// virtual address, which is above all that the agent uses. May be repeated.
    pub fn map(&self, offset: usize, length: usize) -> u64 {
        assert!(offset + length <= self.memory.length());
        let address = self.memory.address(offset);
        assert!(self.device.dma_ranges().iter().all(|range| *range.end() < address));
        let _before = self.device.unmap_dma(address, length);
        // SAFETY: as in `register`.
        let mapped = unsafe { self.device.map_dma(address, address as usize, length, DmaAccess::ReadWrite) };
        mapped.expect("nothing else is mapped there");
        address
    }

    /// A place for a descriptor that nothing else uses: its offset in the memory. The places are used
    /// again after some hundred.
    pub fn place(&mut self, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(64);
        if self.slot + bytes > Self::BYTES {
            self.slot = Self::DATA;
        }
        self.slot += bytes;
        self.slot - bytes
    }
}
