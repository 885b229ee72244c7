//! The root complex of one NIC, and the configuration side of its endpoint.
//!
//! ```text
//!   host loads, stores --> delay --> [ posted, completions, reads ] --> tlp_rx   (completions never
//!   memory <-- writes <-- delay <-- one queue, in order <------------- tlp_tx    pass earlier stores)
//!          --> reads --> cut, reordered between tags --> delay ---^
//! ```
//!
//! Everything that the NIC sends is checked against the rules of the transaction layer; what breaks
//! one is counted and kept as a [`Violation`], and tests ask for none.

mod config_space;
mod credit;
mod host;
mod msix;
mod options;
mod read;
mod rules;

use std::collections::{BTreeMap, HashSet, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use viaduct_spec::tlp::{class, completion_status};

pub use config_space::{ConfigSpace, Effect, CONFIG_BYTES};
pub use host::{bar_bytes, Access, LoadId, HOST_ID};
pub use msix::VECTORS;
pub use options::{Limits, Options, ReadFault, Split};
pub use rules::Violation;

use crate::clock::Cycle;
use crate::memory::Memory;
use crate::nic::{NicIn, NicOut};
use crate::tlp::{beat, Malformed, Request, Tlp};
use credit::Credits;
use host::Loads;
use msix::Msix;
use read::Cutter;
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
    /// Requests of the NIC that reached no memory, and accesses of the host to a disabled function.
    pub unsupported: u64,
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
    msix: Msix,
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
            msix: Msix::default(),
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

    /// A store. It is posted: the NIC sees it half a round trip later.
    pub fn store(&mut self, now: Cycle, access: Access, value: u64) {
        self.counters.stores += 1;
        if !self.config.memory() {
            self.counters.unsupported += 1;
        } else if access.number() == 0 && Msix::covers(access.offset()) {
            self.msix.write(access.offset(), &value.to_le_bytes()[..access.length()]);
        } else {
            let packet = Tlp::Write(access.request(0), access.lanes(value)).encode();
            self.send(self.there(now), packet, access.number(), false, None);
        }
    }

    /// A load; [`RootComplex::answer`] has its answer later.
    pub fn load(&mut self, now: Cycle, access: Access) -> LoadId {
        self.counters.loads += 1;
        if !self.config.memory() {
            self.counters.unsupported += 1;
            return self.loads.answered(access.ones());
        }
        if access.number() == 0 && Msix::covers(access.offset()) {
            let mut data = [0; 8];
            self.msix.read(access.offset(), &mut data[..access.length()]);
            return self.loads.answered(u64::from_le_bytes(data));
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

    /// Function reset: what is under way in either direction is lost.
    pub fn reset(&mut self, now: Cycle) {
        self.config.reset();
        self.msix = Msix::default();
        self.delayed.clear();
        self.arrived.clear();
        self.sending = None;
        self.receiving.clear();
        self.up.clear();
        self.credits = Credits::new(self.options.credits);
        self.loads.reset();
        self.tags.clear();
        self.reset_until = now + RESET_CYCLES;
    }

    /// Nothing is under way: only the host, the NIC or a deadline can make something happen.
    pub fn is_quiet(&self, now: Cycle) -> bool {
        now >= self.reset_until
            && self.delayed.is_empty()
            && self.arrived.is_empty()
            && self.sending.is_none()
            && self.receiving.is_empty()
            && self.up.is_empty()
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
                self.take(now, packet);
            }
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
                return self.credits.release(&packet, now);
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

    /// A packet from the NIC has come to the root complex.
    fn take(&mut self, now: Cycle, packet: Tlp) {
        self.credits.release(&packet, now + (self.options.round_trip - self.options.round_trip / 2));
        match packet {
            Tlp::Write(request, data) => self.write(&request, &data),
            Tlp::Read(request) => self.read(now, &request),
            Tlp::Completion(completion) => {
                if let Err(wrong) = self.loads.complete(&completion) {
                    self.rules.check(now, false, || format!("{wrong}: {completion:x?}"));
                }
            }
        }
    }

    fn write(&mut self, request: &Request, data: &[u32]) {
        let bytes: Vec<u8> = data.iter().flat_map(|dw| dw.to_le_bytes()).collect();
        let (lead, count) = request.bytes();
        self.counters.writes += 1;
        let whole = request.first_be != 0 && (request.length > 2 || enables_a_run(request));
        let result = if whole {
            self.counters.write_bytes += count as u64;
            self.memory.write(request.address + lead as u64, &bytes[lead..lead + count])
        } else {
            // Holes, or nothing at all: byte for byte.
            let enables = request.first_be | request.last_be << 4;
            let enabled = (0..bytes.len().min(8)).filter(|n| enables >> n & 1 != 0);
            enabled.into_iter().try_for_each(|n| {
                self.counters.write_bytes += 1;
                self.memory.write(request.address + n as u64, &bytes[n..=n])
            })
        };
        if let Err(error) = result {
            self.counters.unsupported += 1;
            tracing::warn!(%error, "a write of the NIC's reached no memory");
        }
    }

    fn read(&mut self, now: Cycle, request: &Request) {
        let fault = self.options.faults.get(&self.counters.reads).copied();
        self.counters.reads += 1;
        let mut data = vec![0; request.length * 4];
        let (lead, count) = request.bytes();
        self.counters.read_bytes += count as u64;
        // Only the bytes that are asked for: the rest of their double words may not be mapped.
        let found = self.memory.read(request.address + lead as u64, &mut data[lead..lead + count]);
        if let Err(error) = &found {
            self.counters.unsupported += 1;
            tracing::warn!(%error, "a read of the NIC's reached no memory");
        }
        let mut when = now + (self.options.round_trip - self.options.round_trip / 2);
        when += match fault {
            Some(ReadFault::Late(cycles)) => cycles,
            _ => self.jitter(self.options.reorder),
        };
        let status = match (fault, found) {
            (Some(ReadFault::Missing), _) => return,
            (Some(ReadFault::Aborted), _) => completion_status::ABORT,
            (Some(ReadFault::Unsupported), _) | (_, Err(_)) => completion_status::UNSUPPORTED,
            _ => completion_status::SUCCESS,
        };
        if status != completion_status::SUCCESS {
            let refusal = Tlp::refusal(request, status, HOST_ID).encode();
            return self.send(when, refusal, 0, false, Some(request.tag));
        }
        let cutter = Cutter {
            rcb: self.options.rcb,
            max_payload: 128 << self.config.max_payload(),
            split: self.options.split,
        };
        let mut completions = cutter.cut(request, &data, HOST_ID, &mut self.random);
        let last = completions.len() - 1;
        if fault == Some(ReadFault::Poisoned) {
            completions[0].poisoned = true;
        }
        if fault == Some(ReadFault::Cut) {
            completions.truncate(1);
        }
        for (n, completion) in completions.into_iter().enumerate() {
            let frees = (n == last).then_some(request.tag);
            self.send(when, Tlp::Completion(completion).encode(), 0, false, frees);
            when += self.jitter(self.options.reorder / 4);
        }
    }

    fn jitter(&mut self, window: u64) -> u64 {
        if window == 0 {
            return 0;
        }
        self.random.random_range(0..=window)
    }
}

/// Whether the enabled bytes of one or two double words are one run.
fn enables_a_run(request: &Request) -> bool {
    let (lead, count) = request.bytes();
    let enables = u32::from(request.first_be | request.last_be << 4);
    enables == ((1 << count) - 1) << lead
}

#[cfg(test)]
mod tests;
