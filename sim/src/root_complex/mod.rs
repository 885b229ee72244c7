//! The root complex of one NIC, and the configuration side of its endpoint.
//!
//! ```text
//!   host loads, stores --> delay --> [ posted, completions, reads ] --> tlp_rx   (completions never
//!   memory <-- requests <-- delay <-- one queue, in order <----------- tlp_tx    pass earlier stores)
//!          --> read data --> cut, reordered between tags --> delay ---^
//! ```
//!
//! Memory is reached through files or by [messages](Messages) to a client; the [`requests`] keep
//! their order whichever way each goes. Interrupts are writes too.
//!
//! Everything that the NIC sends is checked against the rules of the transaction layer; what breaks
//! one is counted and kept as a [`Violation`], and tests ask for none.

mod conditions;
mod config_space;
mod credit;
mod edge;
mod host;
mod interrupts;
mod messages;
mod options;
mod read;
mod requests;
mod reset;
mod rules;
mod unkind;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

pub use conditions::{Conditions, Limits, Split};
pub use config_space::{ConfigSpace, Effect, CONFIG_BYTES};
pub(crate) use edge::{MASTER_CYCLES, MAX_PACKET_DW};
pub use host::{bar_bytes, Access, LoadId, BAR0_BASE, BAR2_BASE, HOST_ID};
pub use messages::{Client, DmaAnswer, DmaMessage, MessageId, Refused};
pub use options::{Dma, Options, ReadFault};
pub use requests::LOAD_PATIENCE;
pub(crate) use reset::LAST_PACKETS;
pub use rules::Violation;
pub(crate) use rules::{Rules, Sizes};

use crate::clock::Cycle;
use crate::memory::Memory;
use crate::tlp::{Request, Tlp};
use credit::Credits;
use host::Loads;
pub(crate) use interrupts::{in_table, Interrupts};
use messages::Messages;
use requests::Arrival;
use reset::Resetting;
use unkind::{Piece, Settings};

/// The NIC's place: bus 1, device 0, function 0.
pub const NIC_ID: u16 = 0x0100;
/// A write of no more bytes than this is a short one.
const SHORT: usize = 16;

/// What has gone over the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct BusCounters {
    /// Reads of host memory that the NIC sent.
    pub reads: u64,
    /// Bytes of them.
    pub read_bytes: u64,
    /// Writes to host memory.
    pub writes: u64,
    /// Bytes of them.
    pub write_bytes: u64,
    /// Those of no more than 16 bytes: statuses, and entries of completion queues.
    pub short_writes: u64,
    /// Loads of the host.
    pub loads: u64,
    /// Stores of the host.
    pub stores: u64,
    /// Interrupt messages of the NIC.
    pub interrupts: u64,
    /// Requests of the NIC that reached no memory or were refused by the client, and accesses of the
    /// host to a disabled function.
    pub unsupported: u64,
    /// DMA messages that the client never answered.
    pub unanswered: u64,
    /// Loads whose answer went to the host before the client had taken the writes ahead of it.
    pub overtaken: u64,
    /// Rules that the NIC has broken.
    pub violations: u64,
}

impl BusCounters {
    /// The NIC has written so many bytes.
    pub(crate) fn count_write(&mut self, bytes: usize) {
        self.writes += 1;
        self.write_bytes += bytes as u64;
        self.short_writes += u64::from(bytes <= SHORT);
    }
}

/// A packet to the NIC.
#[derive(Debug)]
struct Outgoing {
    packet: Vec<u32>,
    bar: u8,
    kind: Kind,
}

/// What a packet to the NIC is, as far as it matters to what may pass it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A store, or a message.
    Posted,
    /// A load: waits for `tlp_rx_np_ready`, and lets the others pass meanwhile.
    NonPosted,
    /// A completion.
    Completion {
        /// The last one for this tag of the NIC's.
        frees: Option<u8>,
    },
}

/// The root complex.
#[derive(Debug)]
pub struct RootComplex {
    /// Memory that the NIC reaches.
    pub memory: Memory,
    options: Options,
    config: ConfigSpace,
    interrupts: Interrupts,
    messages: Messages,
    random: ChaCha8Rng,
    /// On the way to the NIC, by arrival.
    delayed: BTreeMap<(Cycle, u64), Outgoing>,
    order: u64,
    /// At the NIC's edge.
    arrived: VecDeque<Outgoing>,
    sending: Option<(Outgoing, usize)>,
    reads_from: Cycle,
    np_ready: bool,
    receiving: Vec<u32>,
    received_class: u8,
    /// Bus Master was enabled a moment before the packet under way began.
    received_master: bool,
    /// Bus Master was shown as enabled in the cycle driven last.
    shown_master: bool,
    /// The function may send memory requests until this cycle.
    master_until: Cycle,
    /// On the way from the NIC.
    up: VecDeque<(Cycle, Tlp)>,
    /// Come from the NIC, and not served yet.
    arrivals: VecDeque<Arrival>,
    /// Reads that look at memory later.
    passed: BTreeMap<(Cycle, u64), Request>,
    /// Completions that do.
    pieces: BTreeMap<(Cycle, u64), Piece>,
    settings: Settings,
    /// Classes whose credits a test withholds.
    held_back: [bool; 3],
    /// Since when a load's answer among them waits for the client.
    held_since: Option<Instant>,
    credits: Credits,
    loads: Loads,
    rules: Rules,
    /// Tags that the NIC has in use. A read that is lost keeps its tag until reset.
    tags: HashSet<u8>,
    resetting: Resetting,
    /// Packets that have left here, and have not come to the NIC's edge.
    beyond: usize,
    counters: BusCounters,
}

impl RootComplex {
    /// After power-up.
    pub fn new(options: Options) -> Self {
        Self {
            memory: Memory::new(),
            config: ConfigSpace::new(&options),
            interrupts: Interrupts::default(),
            messages: Messages::default(),
            random: ChaCha8Rng::seed_from_u64(options.seed),
            delayed: BTreeMap::new(),
            order: 0,
            arrived: VecDeque::new(),
            sending: None,
            reads_from: 0,
            np_ready: false,
            receiving: Vec::new(),
            received_class: 0,
            received_master: false,
            shown_master: false,
            master_until: 0,
            up: VecDeque::new(),
            arrivals: VecDeque::new(),
            passed: BTreeMap::new(),
            pieces: BTreeMap::new(),
            settings: Settings::new(options.conditions.rcb),
            held_back: [false; 3],
            held_since: None,
            credits: Credits::new(options.conditions.credits),
            loads: Loads::default(),
            rules: Rules::behind(options.latency),
            tags: HashSet::new(),
            resetting: Resetting::default(),
            beyond: 0,
            counters: BusCounters::default(),
            options,
        }
    }

    /// The counters.
    pub fn counters(&self) -> BusCounters {
        BusCounters { violations: self.rules.count(), ..self.counters }
    }

    /// The first rules that the NIC has broken.
    pub fn violations(&self) -> &[Violation] {
        self.rules.broken()
    }

    /// Faults for reads to come, by their number, counted from 0 at power-up.
    pub fn set_faults(&mut self, faults: BTreeMap<u64, ReadFault>) {
        self.options.faults = faults;
    }

    /// Reads configuration space.
    pub fn config_read(&self, offset: usize, data: &mut [u8]) {
        self.config.read(offset, data);
    }

    /// Writes configuration space.
    pub fn config_write(&mut self, now: Cycle, offset: usize, data: &[u8]) {
        let before = self.config.sizes();
        let effect = self.config.write(offset, data);
        self.rules.resized(&before, &self.config.sizes());
        if effect.function_reset {
            self.reset(now);
        }
    }

    /// A store. It is posted: the NIC sees it half a round trip later. The MSI-X table is not the
    /// driver's: as under Linux, stores there do nothing and loads read as all ones.
    pub fn store(&mut self, now: Cycle, access: Access, value: u64) {
        self.counters.stores += 1;
        if !self.config.memory() {
            self.counters.unsupported += 1;
        } else if !in_table(&access) {
            self.post(now, access, value);
        }
    }

    fn post(&mut self, now: Cycle, access: Access, value: u64) {
        let packet = Tlp::Write(access.request(0), access.lanes(value)).encode();
        self.send(self.there(now), packet, access.number(), Kind::Posted);
    }

    /// Gives the NIC's vectors from `start` on an eventfd each, or takes it away: writes the NIC's
    /// table and MSI-X Enable, as the host's kernel would.
    pub fn set_vectors(&mut self, now: Cycle, start: usize, eventfds: Vec<Option<File>>) {
        let stores = self.interrupts.set(start, eventfds);
        self.config.enable_msix(self.interrupts.enabled());
        stores.into_iter().for_each(|(access, value)| self.post(now, access, value));
    }

    /// Raises a vector for the host, without the NIC.
    pub fn raise(&self, vector: usize) {
        self.interrupts.raise(vector);
    }

    /// A load; [`RootComplex::answer`] has its answer later.
    pub fn load(&mut self, now: Cycle, access: Access) -> LoadId {
        self.counters.loads += 1;
        if !self.config.memory() {
            self.counters.unsupported += 1;
            return self.loads.answered(access.ones());
        }
        if in_table(&access) {
            return self.loads.answered(access.ones());
        }
        let (id, request) = self.loads.start(access, now + self.options.load_timeout);
        if let Some(request) = request {
            self.send(self.there(now), Tlp::Read(request).encode(), access.number(), Kind::NonPosted);
        }
        id
    }

    /// Takes a load's answer once it is there; its unused high bytes are 0.
    pub fn answer(&mut self, id: LoadId) -> Option<u64> {
        self.loads.take(id)
    }

    /// Nothing is under way: only the host, the client, the NIC or a deadline can make something
    /// happen. Bus Master that is off for a while comes back by itself, and the NIC may wait for it.
    pub fn is_quiet(&self, now: Cycle) -> bool {
        !self.is_resetting(now)
            && !self.settings.master_off
            && self.passed.is_empty()
            && self.pieces.is_empty()
            && self.delayed.is_empty()
            && self.arrived.is_empty()
            && self.sending.is_none()
            && self.receiving.is_empty()
            && self.up.is_empty()
            && (self.arrivals.is_empty() || self.messages.writing())
            && self.credits.is_settled()
            && !self.loads.waiting()
    }

    /// What the time base said at power-up.
    pub fn time_base(&self) -> u32 {
        self.options.conditions.time_base
    }

    /// Packets on their way to the NIC.
    pub fn backlog(&self) -> usize {
        self.delayed.len() + self.arrived.len() + self.beyond
    }

    /// So many packets are on a link between here and the NIC's edge.
    pub fn note_beyond(&mut self, packets: usize) {
        self.beyond = packets;
    }

    /// A rule was broken between here and the NIC.
    pub fn note_broken(&mut self, now: Cycle, what: String) {
        self.rules.check(now, false, || what);
    }

    /// Half a round trip from now.
    fn there(&self, now: Cycle) -> Cycle {
        now + self.options.conditions.round_trip / 2
    }

    fn chance(&mut self, permille: u32) -> bool {
        self.random.random_range(0..1000) < permille
    }

    fn send(&mut self, when: Cycle, packet: Vec<u32>, bar: u8, kind: Kind) {
        self.order += 1;
        self.delayed.insert((when, self.order), Outgoing { packet, bar, kind });
    }

    /// A packet of anybody's comes to the NIC, to a BAR: what it holds is up to the caller. One that is not posted must be of
    /// another requester than [`HOST_ID`], so that its completion is known.
    pub fn inject(&mut self, now: Cycle, packet: Vec<u32>, bar: u8, posted: bool) {
        self.send(self.there(now), packet, bar, if posted { Kind::Posted } else { Kind::NonPosted });
    }

    fn jitter(&mut self, window: u64) -> u64 {
        if window == 0 {
            return 0;
        }
        self.random.random_range(0..=window)
    }
}

#[cfg(test)]
mod tests;
