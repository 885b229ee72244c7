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

mod config_space;
mod credit;
mod host;
mod interrupts;
mod messages;
mod options;
mod read;
mod requests;
mod rules;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::File;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use viaduct_spec::tlp::class;

pub use config_space::{ConfigSpace, Effect, CONFIG_BYTES};
pub use host::{bar_bytes, Access, LoadId, HOST_ID};
pub use messages::{Client, DmaAnswer, DmaMessage, MessageId, Refused};
pub use options::{Dma, Limits, Options, ReadFault, Split};
pub use requests::LOAD_PATIENCE;
pub use rules::Violation;

use crate::clock::Cycle;
use crate::memory::Memory;
use crate::nic::{NicIn, NicOut};
use crate::tlp::{beat, Malformed, Tlp};
use credit::{Cost, Credits};
use host::Loads;
pub(crate) use interrupts::{in_table, Interrupts};
use messages::Messages;
use requests::Arrival;
use rules::Rules;

/// The NIC's place: bus 1, device 0, function 0.
pub const NIC_ID: u16 = 0x0100;
/// Cycles for which a function reset is held.
const RESET_CYCLES: u64 = 16;
/// Cycles after a read to the NIC before its `np_ready` is believed again.
const READ_SPACING: u64 = 4;
/// Cycles that the NIC may take to see that it is no bus master any more.
const MASTER_CYCLES: u64 = 16;
/// Longest packet that the NIC may send, in double words; what is longer is dropped.
const MAX_PACKET_DW: usize = 4 + crate::tlp::MAX_PAYLOAD_DW;

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

/// A packet to the NIC.
#[derive(Debug)]
struct Outgoing {
    packet: Vec<u32>,
    bar: u8,
    /// A read: waits for `tlp_rx_np_ready`, and lets the others pass meanwhile.
    read: bool,
    /// The last completion for this tag of the NIC's.
    frees: Option<u8>,
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
    /// The function may send memory requests until this cycle.
    master_until: Cycle,
    /// On the way from the NIC.
    up: VecDeque<(Cycle, Tlp)>,
    /// Come from the NIC, and not served yet.
    arrivals: VecDeque<Arrival>,
    /// Since when a load's answer among them waits for the client.
    held_since: Option<Instant>,
    credits: Credits,
    loads: Loads,
    rules: Rules,
    /// Tags that the NIC has in use. A read that is lost keeps its tag until reset.
    tags: HashSet<u8>,
    reset_until: Cycle,
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
            master_until: 0,
            up: VecDeque::new(),
            arrivals: VecDeque::new(),
            held_since: None,
            credits: Credits::new(options.credits),
            loads: Loads::default(),
            rules: Rules::default(),
            tags: HashSet::new(),
            reset_until: 0,
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
        if self.config.write(offset, data).function_reset {
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
        self.send(self.there(now), packet, access.number(), false, None);
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
            self.send(self.there(now), Tlp::Read(request).encode(), access.number(), true, None);
        }
        id
    }

    /// Takes a load's answer once it is there; its unused high bytes are 0.
    pub fn answer(&mut self, id: LoadId) -> Option<u64> {
        self.loads.take(id)
    }

    /// Function reset: what is under way in either direction is lost. Then the vectors are set up
    /// again, as Linux restores them.
    pub fn reset(&mut self, now: Cycle) {
        self.config.reset();
        self.give_answers();
        self.arrivals.clear();
        self.messages.reset();
        self.delayed.clear();
        self.arrived.clear();
        // The packet on `tlp_rx` goes on to its end: the NIC counts the beats of what it throws away.
        self.receiving.clear();
        self.up.clear();
        self.credits = Credits::new(self.options.credits);
        self.loads.reset();
        self.tags.clear();
        self.reset_until = now + RESET_CYCLES;
        self.config.enable_msix(self.interrupts.enabled());
        for (access, value) in self.interrupts.restore() {
            self.post(now + RESET_CYCLES, access, value);
        }
    }

    /// Nothing is under way: only the host, the client, the NIC or a deadline can make something
    /// happen.
    pub fn is_quiet(&self, now: Cycle) -> bool {
        now >= self.reset_until
            && self.delayed.is_empty()
            && self.arrived.is_empty()
            && self.sending.is_none()
            && self.receiving.is_empty()
            && self.up.is_empty()
            && (self.arrivals.is_empty() || self.messages.writing())
            && self.credits.is_settled()
            && !self.loads.waiting()
    }

    /// Packets on their way to the NIC.
    pub fn backlog(&self) -> usize {
        self.delayed.len() + self.arrived.len()
    }

    /// Sets the NIC's inputs for this cycle.
    pub fn drive(&mut self, now: Cycle, input: &mut NicIn) {
        while self.up.front().is_some_and(|(when, _)| *when <= now) {
            if let Some((_, packet)) = self.up.pop_front() {
                self.arrive(now, packet);
            }
        }
        if !self.arrivals.is_empty() {
            self.serve_arrivals(now);
        }
        while let Some(entry) = self.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            self.arrived.push_back(entry.remove());
        }
        if now & 0xFF == 0 {
            self.loads.expire(now);
        }
        let config = &self.config;
        if config.bus_master() {
            self.master_until = now + MASTER_CYCLES;
        }
        input.cfg_requester_id = NIC_ID;
        input.cfg_max_payload = config.max_payload();
        input.cfg_max_read = config.max_read();
        input.cfg_rcb = self.options.rcb == 128;
        input.cfg_extended_tag = config.extended_tag();
        input.cfg_bus_master = config.bus_master();
        input.cfg_function_reset = now < self.reset_until;
        input.cfg_msix_enable = config.msix_enable();
        input.cfg_msix_mask = config.msix_mask();
        self.credits.drive(now, input);
        input.tlp_tx_ready = self.options.stall == 0 || !self.chance(self.options.stall);
        self.present(now, input);
    }

    /// Looks at what the NIC did in this cycle.
    pub fn observe(&mut self, now: Cycle, input: &NicIn, output: &NicOut) {
        self.np_ready = output.tlp_rx_np_ready;
        if now < self.reset_until || !output.tlp_tx_valid || !input.tlp_tx_ready {
            return;
        }
        if self.receiving.is_empty() {
            self.received_class = output.tlp_tx_class;
            self.received_master = now <= self.master_until;
        }
        self.rules.check(now, output.tlp_tx_class == self.received_class, || {
            "tlp_tx_class changes inside a packet".into()
        });
        if self.receiving.len() < MAX_PACKET_DW {
            self.receiving.push(output.tlp_tx_data as u32);
            if output.tlp_tx_keep == 0b11 {
                self.receiving.push((output.tlp_tx_data >> 32) as u32);
            }
        }
        let keep = output.tlp_tx_keep;
        self.rules.check(now, keep == 0b11 || keep == 0b01 && output.tlp_tx_last, || {
            format!("tlp_tx_keep is {keep:#04b} in the middle of a packet")
        });
        if output.tlp_tx_last {
            let packet = std::mem::take(&mut self.receiving);
            self.accept(now, &packet);
        }
    }

    /// Half a round trip from now.
    fn there(&self, now: Cycle) -> Cycle {
        now + self.options.round_trip / 2
    }

    fn chance(&mut self, permille: u32) -> bool {
        self.random.random_range(0..1000) < permille
    }

    fn send(&mut self, when: Cycle, packet: Vec<u32>, bar: u8, read: bool, frees: Option<u8>) {
        self.order += 1;
        self.delayed.insert((when, self.order), Outgoing { packet, bar, read, frees });
    }

    /// Puts the next beat onto `tlp_rx`.
    fn present(&mut self, now: Cycle, input: &mut NicIn) {
        input.tlp_rx_valid = false;
        if self.sending.is_none() && now >= self.reset_until {
            let reads = self.np_ready && now >= self.reads_from;
            // A read that has to wait is passed by what stands behind it: nothing waits for it.
            let next = self.arrived.iter().position(|outgoing| reads || !outgoing.read);
            self.sending = next.and_then(|next| self.arrived.remove(next)).map(|outgoing| (outgoing, 0));
        }
        if self.options.gap != 0 && self.chance(self.options.gap) {
            return;
        }
        let Some((outgoing, sent)) = &mut self.sending else { return };
        let (data, keep) = beat(&outgoing.packet, *sent);
        *sent += 1;
        input.tlp_rx_valid = true;
        input.tlp_rx_data = data;
        input.tlp_rx_keep = keep;
        input.tlp_rx_bar = outgoing.bar;
        input.tlp_rx_last = *sent * 2 >= outgoing.packet.len();
        if input.tlp_rx_last {
            if outgoing.read {
                self.reads_from = now + READ_SPACING;
            }
            if let Some(tag) = outgoing.frees {
                self.tags.remove(&tag);
            }
            self.sending = None;
        }
    }

    /// A whole packet has left the NIC.
    fn accept(&mut self, now: Cycle, packet: &[u32]) {
        let packet = match Tlp::decode(packet) {
            Ok(packet) => packet,
            Err(error) => return self.malformed(now, packet, error),
        };
        let expected = match packet {
            Tlp::Write(..) => class::POSTED,
            Tlp::Read(_) => class::NON_POSTED,
            Tlp::Completion(_) => class::COMPLETION,
        };
        let shown = self.received_class;
        self.rules.check(now, shown == expected, || format!("tlp_tx_class is {shown} and not {expected}"));
        let credit = self.credits.charge(&packet);
        self.rules.check(now, credit, || format!("no credit for {packet:x?}"));
        if let Tlp::Read(request) | Tlp::Write(request, _) = &packet {
            let read = matches!(packet, Tlp::Read(_));
            self.rules.request(now, request, &self.config, read);
            let (master, address) = (self.received_master, request.address);
            self.rules.check(now, master, || {
                format!("a request at {address:#x} while the function is no bus master")
            });
            if !master {
                // It must reach nothing, whatever the NIC does.
                self.counters.unsupported += 1;
                return self.credits.release(Cost::of(&packet), now);
            }
        }
        if let Tlp::Read(request) = &packet {
            let fresh = self.tags.insert(request.tag);
            self.rules.check(now, fresh, || format!("tag {:#x} is used again while in flight", request.tag));
        }
        self.up.push_back((self.there(now), packet));
    }

    fn malformed(&mut self, now: Cycle, packet: &[u32], error: Malformed) {
        self.rules.check(now, false, || {
            let start = &packet[..packet.len().min(4)];
            format!("a packet of {} double words is malformed: {error}: {start:08x?}", packet.len())
        });
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
