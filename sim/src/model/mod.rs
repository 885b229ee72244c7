//! The functional model: a whole Viaduct NIC in plain Rust, written from the specification (spec/, docs/semantics.md)
//! and never from the RTL, against which the RTL is tested.
//!
//! ```text
//!   stores, loads --> registers, doorbells --+          +--> effects: writes, completions, events, vectors, frames
//!   frames --> frame --> receive ------------+--> vi ---+        |
//!   time, turns ----------------------------+            device applies them, in order: completion, cq, vectors, host, Mac
//! ```
//!
//! Each part owns its state, is given what it needs ([`context`]), and says what is to happen ([`effect`]); nobody but the interpreter
//! ([`device`]) has them all. A VI ([`vi`]) is its receive queue, requester and responder. Data flows one way: a packet is taken apart,
//! matched with its VI, checked, moved and completed.
//!
//! Transactions, not pins: an access to host memory takes no time. Time passes on the host's bus (half a round
//! trip for a store, a whole one for a load), in the NIC ([`Choices::packet_cycles`] for each packet) and on the link, whose rate
//! frames leave at. Nothing is random: the same calls at the same cycles give the same frames.
//!
//! What the specification leaves open is in [`choices`]. Without a network, a test drives a model as [`Driven`].

pub mod choices;
mod completion;
mod context;
mod counters;
mod cq;
mod descriptor;
mod device;
mod doorbells;
mod driven;
mod effect;
mod endpoint;
mod event;
mod frame;
mod function;
mod held;
mod host;
mod memory;
mod place;
mod posted;
mod protection;
pub mod psn;
mod raw;
mod receive;
mod receives;
mod registers;
mod requester;
mod responder;
mod response;
mod scatter;
mod steps;
mod tables;
mod timers;
mod transmit;
mod vectors;
mod vi;
mod work_queue;

use std::collections::{HashMap, VecDeque};

use viaduct_driver::device::Bar;

pub use choices::{Choices, Mutant, Unheard};

use crate::clock::Cycle;
use crate::fabric::{Frame, Mac};
use crate::root_complex::{Access, LoadId, Options};
use crate::watch::Seen;
use device::Device;
pub use driven::{Driven, Packets, Sent};
use host::Bus;
pub use host::Host;
pub use steps::Pending;
use transmit::{Turned, Way};

/// An access of the host on its way.
#[derive(Debug, Clone, Copy)]
enum Request {
    Store(Access, u64),
    Load(Access, LoadId),
}

/// What the device waits for by itself. It changes only when something is done, and it is asked for far more often.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    /// Packets for the wire, and for ourselves.
    wire: bool,
    loopback: bool,
    /// The first timer's end.
    deadline: Option<Cycle>,
}

impl Waiting {
    fn of(device: &Device<Bus>) -> Self {
        let [wire, loopback] = [Way::Wire, Way::Loopback].map(|way| device.has_packets(way));
        Self { wire, loopback, deadline: device.deadline() }
    }
}

/// The model, with its port and the way to its host.
#[derive(Debug)]
pub struct Model {
    device: Device<Bus>,
    mac: Mac,
    /// Half a round trip over the bus.
    there: Cycle,
    loads: u64,
    requests: VecDeque<(Cycle, Request)>,
    returning: VecDeque<(Cycle, LoadId, u64)>,
    answers: HashMap<LoadId, u64>,
    /// The next packet may be made.
    next_packet: Cycle,
    waiting: Waiting,
}

impl Model {
    /// After power-up, on a link that carries `rate` bytes a cycle.
    pub fn new(choices: Choices, options: &Options, rate: u64) -> Self {
        Self {
            device: Device::new(choices, Bus::new(options)),
            mac: Mac::new(rate),
            there: options.conditions.round_trip / 2,
            loads: 0,
            requests: VecDeque::new(),
            returning: VecDeque::new(),
            answers: HashMap::new(),
            next_packet: 0,
            waiting: Waiting::default(),
        }
    }

    /// Writes the MSI-X table as the host's kernel does.
    fn write_table(&mut self, now: Cycle, stores: Vec<(Access, u64)>) {
        let enabled = self.device.host.interrupts.enabled();
        self.device.host.config.enable_msix(enabled);
        self.set_time(now);
        self.tell_bus();
        let stores = stores.into_iter().map(|(access, value)| Request::Store(access, value));
        self.requests.extend(stores.map(|store| (now + self.there, store)));
    }

    fn set_time(&mut self, now: Cycle) {
        self.device.now = now;
        self.device.host.watch.now = now;
    }

    /// Tells what the host has enabled.
    fn tell_bus(&mut self) {
        let (master, msix) = (self.device.host.bus_master(), self.device.host.msix());
        self.device.host.watch.tell(|| Seen::Master(master));
        self.device.host.watch.tell(|| Seen::Msix(msix));
    }

    /// Frames have to wait: they would need memory that may not be reached.
    fn holds_frames(&self) -> bool {
        self.device.receives() && !self.device.host.config.bus_master()
    }

    /// When something is to be done, at `now` or later.
    fn next_event(&self, now: Cycle) -> Option<Cycle> {
        let device = &self.device;
        let frames = [self.mac.arrival(), device.outbox.arrival()];
        let frames = frames.into_iter().flatten().filter(|_| !self.holds_frames()).min();
        let wire = self.mac.ready().filter(|_| self.waiting.wire);
        let loopback = self.waiting.loopback.then_some(0);
        let packets = [wire, loopback].into_iter().flatten().map(|when| when.max(self.next_packet)).min();
        let requests = self.requests.front().map(|(when, _)| *when);
        let returning = self.returning.front().map(|(when, ..)| *when);
        let events = [requests, returning, frames, packets, self.waiting.deadline];
        events.into_iter().flatten().min().map(|when| when.max(now))
    }

    /// Does what is due now.
    fn act(&mut self, now: Cycle) {
        self.set_time(now);
        while let Some((_, request)) = self.requests.take_front_if(|(when, _)| *when <= now) {
            self.serve(now, request);
        }
        while let Some((_, load, value)) = self.returning.take_front_if(|(when, ..)| *when <= now) {
            self.answers.insert(load, value);
        }
        if !self.holds_frames() {
            while self.mac.arrival().is_some_and(|when| when <= now) {
                if let Some(frame) = self.mac.take() {
                    let Frame { data, damaged } = frame.clone();
                    self.device.host.watch.tell(|| Seen::FrameIn { data, damaged });
                    self.device.take_frame(&frame.data, frame.damaged);
                }
            }
            while let Some(Turned { began, frame, .. }) = self.device.outbox.take_arrived(now) {
                self.device.host.watch.tell(|| Seen::Loopback { data: frame.clone(), began });
                self.device.take_frame(&frame, false);
            }
        }
        self.device.serve_timers();
        if now >= self.next_packet {
            let ready = self.mac.ready().is_some_and(|when| when <= now);
            if self.device.make_packet_in_turn(ready) {
                self.next_packet = now + self.device.choices.packet_cycles.max(1);
            }
        }
        if let Some(frame) = self.device.outbox.take_wire() {
            self.device.host.watch.tell(|| Seen::FrameOut { data: frame.clone(), began: now });
            self.mac.send(now, frame);
        }
        self.look();
    }

    /// Something was done: what now?
    fn look(&mut self) {
        self.waiting = Waiting::of(&self.device);
        self.mac.pause = self.holds_frames();
    }

    fn serve(&mut self, now: Cycle, request: Request) {
        match request {
            Request::Store(access, value) => {
                let (bar, offset, length) = (access.bar(), access.offset(), access.length());
                self.device.host.watch.tell(|| Seen::Store { bar, offset, length, value });
                match bar {
                    Bar::Registers => self.device.store_register(offset, length, value),
                    Bar::Doorbells => self.device.store_doorbell(offset, length, value),
                }
            }
            Request::Load(access, load) => {
                let value = match access.bar() {
                    Bar::Registers => self.device.load_register(access.offset(), access.length()),
                    // Doorbell pages are written only.
                    Bar::Doorbells => 0,
                };
                let (bar, offset, length) = (access.bar(), access.offset(), access.length());
                self.device.host.watch.tell(|| Seen::Load { bar, offset, length, value });
                self.returning.push_back((now + self.there, load, value));
            }
        }
    }
}

/// `VecDeque::pop_front_if` of later Rust.
trait TakeFrontIf<T> {
    fn take_front_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<T>;
}

impl<T> TakeFrontIf<T> for VecDeque<T> {
    fn take_front_if(&mut self, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        if self.front().is_some_and(wanted) {
            self.pop_front()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
