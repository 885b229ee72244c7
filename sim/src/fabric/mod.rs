//! Ethernet between the NICs: one store-and-forward switch with a link to each.
//!
//! ```text
//!   NIC --> Mac --> last byte sent --> faults, capture --> latency --> egress queue --> Mac --> NIC
//! ```
//!
//! A frame's first byte comes out at least the latency after its last byte went in, so NICs may be
//! stepped for that long without looking at one another.

mod capture;
mod fault_injection;
mod faults;
mod loss;
mod mac;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

use rand::Rng;
use serde::Serialize;

pub use capture::Capture;
pub use fault_injection::{Fate, FaultInjector, Key, PATIENCE};
use faults::flip_icrc;
pub use faults::{icrc, Faults, DELAY};
pub use loss::Loss;
pub(crate) use mac::UNDERRUN;
pub use mac::{Frame, Mac, PortCounters, MAX_FRAME, MIN_FRAME};

use crate::clock::Cycle;
use fault_injection::Held;
use mac::{frame_cycles, gap_cycles};

/// Bytes that wait for one port before the others are asked to pause.
const EGRESS_PAUSE: usize = 64 << 10;
/// Bytes that may wait for one port; what comes then is dropped.
const EGRESS_LIMIT: usize = 1 << 20;
/// Addresses that the switch remembers.
const TABLE_LIMIT: usize = 4096;

/// A MAC address as it is on the wire.
type Address = [u8; 6];

/// How the links behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Cycles from a frame's last byte into the switch to its first byte out; at least 1.
    pub latency: u64,
    /// Bytes per cycle, 1 (1 Gb/s) to 8.
    pub rate: u64,
    /// Storms of pause frames: in every other stretch of so many cycles a NIC is asked for silence, most of the time; 0: never.
    pub storms: u64,
}

impl Default for Link {
    /// Gigabit Ethernet, half a microsecond of cable and switch.
    fn default() -> Self {
        Self { latency: 64, rate: 1, storms: 0 }
    }
}

impl Link {
    /// A random one.
    pub fn random(random: &mut impl Rng) -> Self {
        let calm = Self::random_calm(random);
        Self { storms: [0, 0, 500, 3000][random.random_range(0..4)], ..calm }
    }

    /// A random one without storms.
    pub fn random_calm(random: &mut impl Rng) -> Self {
        Self { latency: random.random_range(8..64), rate: random.random_range(2..=8), storms: 0 }
    }

    /// Whether a port is in a storm: it follows from the cycle alone, so that cycles which are skipped change nothing.
    fn is_stormy(&self, now: Cycle, port: usize) -> bool {
        if self.storms == 0 {
            return false;
        }
        let stretch = now / self.storms + port as u64;
        // One step in eight is free.
        stretch % 2 == 0 && now / self.latency.max(1) % 8 != 0
    }
}

/// What the fabric has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FabricCounters {
    /// Frames that came into the switch.
    pub frames: u64,
    /// Bytes of them, padded, without FCS.
    pub bytes: u64,
    /// RoCE frames among them.
    pub roce_frames: u64,
    /// Frames that a fault has hit.
    pub faults: u64,
    /// Frames dropped because too many waited for a port.
    pub overflow: u64,
}

/// Frames that wait for a port.
#[derive(Debug, Default)]
struct Egress {
    /// Earliest start of each.
    waiting: VecDeque<(Cycle, Frame)>,
    bytes: usize,
    /// The link is free.
    free: Cycle,
}

/// The fabric.
#[derive(Debug)]
pub struct Fabric {
    link: Link,
    faults: Faults,
    fault_injector: Option<Box<dyn FaultInjector>>,
    held: Vec<Held>,
    capture: Option<Capture>,
    /// Frames on their way into the switch, by the end of their last byte; and whether they have been delayed.
    incoming: BTreeMap<(Cycle, usize, u64), (Frame, bool)>,
    order: u64,
    table: HashMap<Address, usize>,
    egress: Vec<Egress>,
    counters: FabricCounters,
}

impl Fabric {
    /// A switch with this many ports.
    pub fn new(ports: usize, link: Link, capture: Option<Capture>) -> Self {
        Self {
            link: Link { latency: link.latency.max(1), rate: link.rate.clamp(1, 8), ..link },
            faults: Faults::default(),
            fault_injector: None,
            held: Vec::new(),
            capture,
            incoming: BTreeMap::new(),
            order: 0,
            table: HashMap::new(),
            egress: (0..ports).map(|_| Egress::default()).collect(),
            counters: FabricCounters::default(),
        }
    }

    /// The links.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The counters.
    pub fn counters(&self) -> FabricCounters {
        self.counters
    }

    /// The faults in force.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// New faults; frames keep their numbers.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Lets RoCE frames have these faults from now on.
    pub fn set_fault_injector(&mut self, injector: Box<dyn FaultInjector>) {
        self.fault_injector = Some(injector);
    }

    /// Nothing is on its way.
    pub fn is_quiet(&self) -> bool {
        self.incoming.is_empty()
            && self.held.is_empty()
            && self.egress.iter().all(|egress| egress.waiting.is_empty())
    }

    /// Ends the capture with everything in its file.
    pub fn finish_capture(&mut self) -> io::Result<()> {
        self.capture.take().map_or(Ok(()), Capture::finish)
    }

    /// From now on frames are recorded there. What was recorded before is not ended: see [`Fabric::finish_capture`].
    pub fn set_capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// Moves frames between the ports, all of which have been stepped up to `now`, and not more
    /// than the latency since the last call.
    pub fn exchange<'a>(&mut self, now: Cycle, macs: impl Iterator<Item = &'a mut Mac>) {
        let mut macs: Vec<&mut Mac> = macs.collect();
        for (port, mac) in macs.iter_mut().enumerate() {
            for (end, frame) in mac.take_sent() {
                self.order += 1;
                self.incoming.insert((end, port, self.order), (frame, false));
            }
        }
        while let Some(entry) = self.incoming.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((end, port, order), (frame, delayed)) = entry.remove_entry();
            if delayed {
                self.carry(end, port, &frame);
            } else {
                self.enter((end, port, order), frame);
            }
        }
        let late: Vec<Held> = extract(&mut self.held, |held| held.until <= now);
        late.into_iter().for_each(|held| self.carry(held.until, held.port, &held.frame));
        for (port, mac) in macs.iter_mut().enumerate() {
            self.leave(now, port, mac);
        }
        let crowded: Vec<bool> = self.egress.iter().map(|egress| egress.bytes > EGRESS_PAUSE).collect();
        for (port, mac) in macs.iter_mut().enumerate() {
            // Who may be sending to a crowded port is asked to wait.
            mac.held = self.link.is_stormy(now, port)
                || crowded.iter().enumerate().any(|(other, &crowded)| crowded && other != port);
        }
    }

    /// A frame's last byte has come into the switch.
    fn enter(&mut self, at: (Cycle, usize, u64), mut frame: Frame) {
        let (end, port, _) = at;
        self.counters.frames += 1;
        self.counters.bytes += frame.data.len() as u64;
        if icrc(&frame.data).is_none() {
            return self.carry(end, port, &frame);
        }
        self.counters.roce_frames += 1;
        let before = frame.clone();
        let mut copies = self.faults.apply(self.counters.roce_frames, &mut frame);
        let delayed = self.faults.delay.contains(&self.counters.roce_frames);
        let (key, fate) = self.ask(&frame);
        copies *= fate.copies;
        frame.damaged |= fate.damaged;
        if let Some(flip) = fate.flip {
            flip_icrc(&mut frame.data, flip.into());
        }
        let hit = copies != 1 || delayed || fate.behind != 0 || frame != before;
        self.counters.faults += u64::from(hit);
        if let (Some(key), 1..) = (key, fate.behind) {
            let until = end + PATIENCE;
            let held = |_| Held { key, behind: fate.behind, until, port, frame: frame.clone() };
            self.held.extend((0..copies).map(held));
            return;
        }
        match delayed {
            true => self.delay(at, &frame, copies),
            false => (0..copies).for_each(|_| self.carry(end, port, &frame)),
        }
        if let Some(key) = key {
            let passed: Vec<Held> = extract(&mut self.held, |held| held.is_passed_by(key));
            passed.into_iter().for_each(|held| self.carry(end, held.port, &held.frame));
        }
    }

    /// Copies of a frame come later, one after the other.
    fn delay(&mut self, (end, port, order): (Cycle, usize, u64), frame: &Frame, copies: usize) {
        for copy in 1..=copies as u64 {
            self.incoming.insert((end + copy * DELAY, port, order), (frame.clone(), true));
        }
    }

    /// What the fault injector says of a frame.
    fn ask(&mut self, frame: &Frame) -> (Option<Key>, Fate) {
        match (Key::of(&frame.data), &mut self.fault_injector) {
            (Some(key), Some(injector)) => (Some(key), injector.fate(key, &frame.data)),
            _ => (None, Fate::GOOD),
        }
    }

    /// On to where the frame goes.
    fn carry(&mut self, end: Cycle, port: usize, frame: &Frame) {
        self.record(end, frame);
        self.forward(end + self.link.latency, port, frame);
    }

    /// A frame of no NIC's comes to a port: what any host of a network may send. It is captured; faults
    /// and the switch's table do not hear of it. The link carries at least one byte.
    pub fn inject(&mut self, now: Cycle, port: usize, frame: Frame) {
        if frame.data.is_empty() || port >= self.egress.len() {
            return;
        }
        self.record(now, &frame);
        let egress = &mut self.egress[port];
        egress.bytes += frame.data.len();
        egress.waiting.push_back((now + self.link.latency, frame));
    }

    fn record(&mut self, end: Cycle, frame: &Frame) {
        if let Some(Err(error)) = self.capture.as_mut().map(|capture| capture.frame(end, &frame.data)) {
            tracing::error!(%error, "the capture ends here");
            self.capture = None;
        }
    }

    /// To the port that has the destination, or to all others.
    fn forward(&mut self, when: Cycle, from: usize, frame: &Frame) {
        let (Some(&to), Some(&source)) = (frame.data.first_chunk::<6>(), frame.data[6..].first_chunk::<6>())
        else {
            return;
        };
        // Group addresses are nobody's.
        if source[0] & 1 == 0 && (self.table.len() < TABLE_LIMIT || self.table.contains_key(&source)) {
            self.table.insert(source, from);
        }
        let known = self.table.get(&to).copied().filter(|_| to[0] & 1 == 0);
        for (port, egress) in self.egress.iter_mut().enumerate() {
            if port == from || known.is_some_and(|known| known != port) {
                continue;
            }
            if egress.bytes + frame.data.len() > EGRESS_LIMIT {
                self.counters.overflow += 1;
                continue;
            }
            egress.bytes += frame.data.len();
            egress.waiting.push_back((when, frame.clone()));
        }
    }

    /// Starts the frames that a port may get within the next latency.
    fn leave(&mut self, now: Cycle, port: usize, mac: &mut Mac) {
        let egress = &mut self.egress[port];
        while let Some((when, frame)) = egress.waiting.front() {
            let start = (*when).max(egress.free).max(now);
            // One step ahead at most, so that a pause of the NIC's is heard in time.
            if mac.pause || start >= now + self.link.latency {
                return;
            }
            egress.free = start + frame_cycles(frame.data.len(), self.link.rate) + gap_cycles(self.link.rate);
            if let Some((_, frame)) = egress.waiting.pop_front() {
                egress.bytes -= frame.data.len();
                mac.deliver(start, frame);
            }
        }
    }
}

/// Takes out what is wanted and keeps the rest, both in their order.
fn extract(held: &mut Vec<Held>, mut wanted: impl FnMut(&mut Held) -> bool) -> Vec<Held> {
    let (mut taken, mut kept) = (Vec::new(), Vec::new());
    for mut one in held.drain(..) {
        if wanted(&mut one) {
            taken.push(one)
        } else {
            kept.push(one)
        }
    }
    *held = kept;
    taken
}

#[cfg(test)]
mod tests;
