//! A network: NICs, the root complex of each, and the fabric between them, in lockstep.
//!
//! Everything runs in one thread. The NICs are stepped one after the other for at most the link's
//! latency, then the fabric exchanges their frames. What happens depends on the seed and on the
//! cycles at which the host acts, on nothing else.

use std::fs::File;
use std::time::Instant;

use viaduct_driver::device::Bar;
use viaduct_spec::register::{counter, registers};

use crate::clock::Cycle;
use crate::fabric::{Capture, Fabric, Frame, Link, Mac, PortCounters};
use crate::memory::Memory;
use crate::model::Model;
use crate::nic::Nic;
use crate::port::End;
pub use crate::port::Port;
use crate::root_complex::{
    self, Access, BusCounters, Client, DmaAnswer, LoadId, MessageId, RootComplex, Violation,
};
pub use crate::slot::Probe;
use crate::slot::Slot;
use crate::stream::StreamPort;
use crate::watch::Watcher;

/// Packets on their way to a NIC from which on the host should wait before it sends more.
const CROWDED: usize = 256;

/// How a network is made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The links.
    pub link: Link,
    /// The root complexes; each gets a seed of its own made from this one's.
    pub bus: root_complex::Options,
    /// Steps idle NICs too: slow, and must change nothing.
    pub never_skip: bool,
    /// Ports of the switch for peers outside the network.
    pub ports: usize,
}

/// What a network is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It has to be stepped.
    Busy,
    /// Nothing happens until the host acts, or until this cycle.
    Idle(Option<Cycle>),
}

/// The network.
pub struct Network {
    now: Cycle,
    slots: Vec<End>,
    /// The ports behind the NICs' at the switch.
    ports: Vec<StreamPort>,
    fabric: Fabric,
    never_skip: bool,
}

impl Network {
    /// Connects NICs that have just been made.
    pub fn new(nics: Vec<Box<dyn Nic>>, options: &Options, capture: Option<Capture>) -> Self {
        Self::of(nics.into_iter().map(Port::Nic).collect(), options, capture)
    }

    /// Connects what has just been made.
    pub fn of(ports: Vec<Port>, options: &Options, capture: Option<Capture>) -> Self {
        let fabric = Fabric::new(ports.len() + options.ports, options.link, capture);
        let slot = |(index, port): (usize, Port)| {
            let seed = options.bus.seed.wrapping_add(index as u64);
            let bus = root_complex::Options { seed, ..options.bus.clone() };
            let rate = fabric.link().rate;
            match port {
                Port::Model(choices) => End::Model(Box::new(Model::new(choices, &bus, rate))),
                Port::Nic(nic) => {
                    let bus = root_complex::Options { latency: nic.latency(), ..bus };
                    End::Nic(Box::new(Slot::new(nic, RootComplex::new(bus), Mac::new(rate))))
                }
            }
        };
        let slots = ports.into_iter().enumerate().map(slot).collect();
        let ports = (0..options.ports).map(|_| StreamPort::new(fabric.link().rate)).collect();
        Self { now: 0, slots, ports, fabric, never_skip: options.never_skip }
    }

    /// Number of NICs.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no NIC.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Device time.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Cycles of one step: what the NICs may run without looking at one another.
    pub fn quantum(&self) -> u64 {
        self.fabric.link().latency
    }

    /// Its ports for peers outside.
    pub fn ports(&self) -> &[StreamPort] {
        &self.ports
    }

    /// One of them. `None`: there is no port of this number.
    pub fn port_mut(&mut self, port: usize) -> Option<&mut StreamPort> {
        self.ports.get_mut(port)
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The fabric, to change its faults or end its capture.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        &mut self.fabric
    }

    /// Runs everything on by this many cycles.
    pub fn step(&mut self, cycles: u64) {
        let end = self.now + cycles;
        while self.now < end {
            let to = end.min(self.now + self.quantum());
            for slot in &mut self.slots {
                slot.function_mut().step(self.now, to, self.never_skip);
            }
            for port in &mut self.ports {
                port.step(self.now, to);
            }
            self.now = to;
            let nics = self.slots.iter_mut().map(|slot| slot.function_mut().mac_mut());
            self.fabric.exchange(to, nics.chain(self.ports.iter_mut().map(StreamPort::mac_mut)));
        }
    }

    /// Whether there is something to do.
    pub fn activity(&self) -> Activity {
        if !self.fabric.is_quiet() {
            return Activity::Busy;
        }
        let nics = self.slots.iter().map(|slot| slot.function().sleeps_until(self.now));
        let mut first = Cycle::MAX;
        for sleeps_until in nics.chain(self.ports.iter().map(StreamPort::sleeps_until)) {
            match sleeps_until {
                Some(wake) => first = first.min(wake),
                None => return Activity::Busy,
            }
        }
        Activity::Idle((first != Cycle::MAX).then_some(first))
    }

    /// Lets idle time pass at once, up to `cycle` or to where something happens before.
    pub fn skip_to(&mut self, cycle: Cycle) {
        if let Activity::Idle(until) = self.activity() {
            self.now = self.now.max(cycle.min(until.unwrap_or(Cycle::MAX)));
        }
    }

    /// A store of the host.
    ///
    /// # Panics
    /// Here and below: there is no NIC of this number. Callers check it where it comes from
    /// outside.
    pub fn store(&mut self, nic: usize, access: Access, value: u64) {
        let now = self.now;
        self.slots[nic].endpoint().store(now, access, value);
    }

    /// A load of the host; its answer comes while the network is stepped.
    pub fn load(&mut self, nic: usize, access: Access) -> LoadId {
        let now = self.now;
        self.slots[nic].endpoint().load(now, access)
    }

    /// Takes the answer of a load, if it has come.
    pub fn answer(&mut self, nic: usize, load: LoadId) -> Option<u64> {
        self.slots[nic].endpoint().answer(load)
    }

    /// A load of the host, and as many cycles as it takes. It waits for no client: none is asked
    /// meanwhile.
    pub fn load_and_wait(&mut self, nic: usize, access: Access) -> u64 {
        let load = self.load(nic, access);
        loop {
            if let Some(value) = self.slots[nic].endpoint().answer_now(load) {
                return value;
            }
            self.step(1);
        }
    }

    /// Reads configuration space.
    pub fn config_read(&self, nic: usize, offset: usize, data: &mut [u8]) {
        self.slots[nic].function().endpoint().config_read(offset, data);
    }

    /// Writes configuration space.
    pub fn config_write(&mut self, nic: usize, offset: usize, data: &[u8]) {
        let now = self.now;
        self.slots[nic].endpoint().config_write(now, offset, data);
    }

    /// Resets the function.
    pub fn reset(&mut self, nic: usize) {
        let now = self.now;
        self.slots[nic].endpoint().reset(now);
    }

    /// Whether a reset of a NIC's is not over: what it sent before may still reach memory.
    pub fn is_resetting(&self, nic: usize) -> bool {
        self.slots[nic].function().endpoint().is_resetting(self.now)
    }

    /// Takes a NIC's link to its root complex down, or into hot reset, for so many cycles. A model is reset as a function is.
    pub fn link_down(&mut self, nic: usize, cycles: u64) {
        let now = self.now;
        self.slots[nic].endpoint().link_down(now, cycles);
    }

    /// Has a NIC's link to its root complex retrained: Recovery, which no packet is lost by. Without a link nothing happens.
    pub fn retrain(&mut self, nic: usize) {
        if let End::Nic(slot) = &mut self.slots[nic] {
            slot.retrain();
        }
    }

    /// The root complex of a NIC, for tests that have it do what no driver can ask for; a model has none.
    pub fn root_complex(&mut self, nic: usize) -> Option<&mut RootComplex> {
        match &mut self.slots[nic] {
            End::Nic(slot) => Some(slot.root_complex()),
            End::Model(_) => None,
        }
    }

    /// Gives a NIC's interrupt vectors from `start` on an eventfd each, or takes it away.
    pub fn set_vectors(&mut self, nic: usize, start: usize, eventfds: Vec<Option<File>>) {
        let now = self.now;
        self.slots[nic].endpoint().set_vectors(now, start, eventfds);
    }

    /// A client that answers DMA messages has come.
    pub fn attach(&mut self, nic: usize, client: Box<dyn Client>) {
        if let Some(bus) = self.root_complex(nic) {
            bus.attach(client);
        }
    }

    /// It has gone.
    pub fn detach(&mut self, nic: usize) {
        let now = self.now;
        if let Some(bus) = self.root_complex(nic) {
            bus.detach(now);
        }
    }

    /// It has answered a message.
    pub fn dma_answer(&mut self, nic: usize, id: MessageId, answer: DmaAnswer) {
        let now = self.now;
        if let Some(bus) = self.root_complex(nic) {
            bus.dma_answer(now, id, answer);
        }
    }

    /// When [`Network::look_at_wall`] has something to do.
    pub fn wall_deadline(&self) -> Option<Instant> {
        self.slots.iter().filter_map(|slot| slot.wall_deadline()).min()
    }

    /// Ends what has waited too long for a client.
    pub fn look_at_wall(&mut self, wall: Instant) {
        let now = self.now;
        for end in &mut self.slots {
            let due = end.wall_deadline().is_some_and(|deadline| deadline <= wall);
            if let (true, End::Nic(slot)) = (due, end) {
                slot.root_complex().look_at_wall(now, wall);
            }
        }
    }

    /// The memory that a NIC reaches.
    pub fn memory(&mut self, nic: usize) -> &mut Memory {
        self.slots[nic].endpoint().memory()
    }

    /// Raises a vector of a NIC's for the host, without the NIC.
    pub fn raise(&mut self, nic: usize, vector: usize) {
        self.slots[nic].endpoint().raise(vector);
    }

    /// Accesses of the host that are on their way to a NIC.
    pub fn backlog(&self, nic: usize) -> usize {
        self.slots[nic].function().endpoint().backlog()
    }

    /// Has a NIC's ports looked at from now on; the model has none.
    pub fn probe(&mut self, nic: usize, probe: Probe) {
        if let End::Nic(slot) = &mut self.slots[nic] {
            slot.probe(probe);
        }
    }

    /// Has a watcher told what passes a NIC's edges from now on, in the place of a probe.
    pub fn watch(&mut self, nic: usize, watcher: Watcher) {
        match &mut self.slots[nic] {
            End::Nic(slot) => slot.watch(watcher),
            End::Model(model) => model.watch(watcher),
        }
    }

    /// A frame of nobody's comes to a NIC: [`Fabric::inject`].
    pub fn inject(&mut self, nic: usize, frame: Frame) {
        self.fabric.inject(self.now, nic, frame);
    }

    /// Rules of the bus that a NIC has broken.
    pub fn violations(&self, nic: usize) -> &[Violation] {
        self.slots[nic].function().endpoint().violations()
    }

    /// What has gone over a NIC's bus and link.
    pub fn counters(&self, nic: usize) -> (BusCounters, PortCounters) {
        let function = self.slots[nic].function();
        (function.endpoint().counters(), function.mac().counters())
    }

    /// How often the NICs have told their hosts of something: by a status, an entry of a completion queue, an interrupt. (Or by a message of so few bytes.)
    pub fn told(&self) -> u64 {
        let counters = self.slots.iter().map(|slot| slot.function().endpoint().counters());
        counters.map(|counters| counters.short_writes + counters.interrupts).sum()
    }

    /// What the root port of a NIC's link has seen and done, if it has a link.
    pub fn link_counters(&self, nic: usize) -> Option<viaduct_link::link::Counters> {
        match &self.slots[nic] {
            End::Nic(slot) => slot.link_counters(),
            End::Model(_) => None,
        }
    }

    /// Reads a NIC's own counters through its registers, as its driver would: name and value.
    /// Empty when the function does not answer.
    pub fn nic_counters(&mut self, nic: usize) -> Vec<(&'static str, u64)> {
        let mut counters = Vec::new();
        for code in counter::CODES.codes {
            let access = Access::new(Bar::Registers, registers::COUNTERS + 8 * code.value, 8);
            match access.map(|access| self.load_and_wait(nic, access)) {
                None | Some(u64::MAX) => return Vec::new(),
                Some(value) => counters.push((code.name, value)),
            }
        }
        counters
    }

    /// Whether so much is on its way to some NIC that the host should wait.
    pub fn is_crowded(&self) -> bool {
        self.slots.iter().any(|slot| slot.function().endpoint().backlog() > CROWDED)
    }
}
