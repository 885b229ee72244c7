//! A NIC with pins and what is around it: its root complex, and its MAC at the switch.

use viaduct_link::link::Counters;

use crate::clock::{reached, ticks, Cycle};
use crate::endpoint::Endpoint;
use crate::fabric::Mac;
use crate::function::Function;
use crate::nic::{Nic, NicIn, NicOut};
use crate::root_complex::RootComplex;
use crate::watch::{Pins, Watcher};

/// Cycles for which power-up holds reset.
const RESET_CYCLES: u64 = 16;
/// Cycles of silence after which a NIC that says it is idle is believed.
const CALM_CYCLES: u64 = 32;

/// Looks at a NIC's ports after each cycle in which it is evaluated: for measurements at its edges.
pub type Probe = Box<dyn FnMut(Cycle, &NicIn, &NicOut) + Send>;

/// A NIC with pins and what is around it.
pub struct Slot {
    nic: Box<dyn Nic>,
    bus: RootComplex,
    mac: Mac,
    input: NicIn,
    output: NicOut,
    /// Cycles since anything went in or out, or the NIC said it was busy.
    calm: u64,
    probe: Option<Probe>,
}

impl Function for Slot {
    fn sleeps_until(&self, now: Cycle) -> Option<Cycle> {
        let calm = self.calm >= CALM_CYCLES && self.bus.is_quiet(now) && self.mac.is_quiet();
        let base = self.bus.time_base();
        let ends = self.output.deadlines().map(|end| reached(now, end.wrapping_sub(base)));
        let deadline = ends.min().unwrap_or(Cycle::MAX);
        (calm && deadline > now).then_some(deadline)
    }

    fn step(&mut self, from: Cycle, to: Cycle, never_skip: bool) {
        let mut now = from;
        while now < to {
            // Looked at now and then only: it costs as much as a cycle of a small design.
            if now % 16 == 0 || now == from {
                if let Some(wake) = self.sleeps_until(now).filter(|_| !never_skip) {
                    now = wake.min(to);
                    continue;
                }
            }
            self.cycle(now);
            now += 1;
        }
    }

    fn mac(&self) -> &Mac {
        &self.mac
    }

    fn mac_mut(&mut self) -> &mut Mac {
        &mut self.mac
    }

    fn endpoint(&self) -> &dyn Endpoint {
        &self.bus
    }

    fn endpoint_mut(&mut self) -> &mut dyn Endpoint {
        self.root_complex()
    }
}

impl Slot {
    /// After power-up.
    pub fn new(nic: Box<dyn Nic>, bus: RootComplex, mac: Mac) -> Self {
        Self { nic, bus, mac, input: NicIn::default(), output: NicOut::default(), calm: 0, probe: None }
    }

    /// Its root complex, which may have something for it now.
    pub fn root_complex(&mut self) -> &mut RootComplex {
        self.calm = 0;
        &mut self.bus
    }

    /// Its root complex as it is.
    pub fn root_complex_now(&self) -> &RootComplex {
        &self.bus
    }

    /// The root port of its link retrains it, if it has a link.
    pub fn retrain(&mut self) {
        self.nic.retrain();
    }

    /// What the root port of its link has seen and done, if it has a link.
    pub fn link_counters(&self) -> Option<Counters> {
        self.nic.link_counters()
    }

    /// Has its ports looked at from now on.
    pub fn probe(&mut self, probe: Probe) {
        self.probe = Some(probe);
    }

    /// Has a watcher told what passes its edges from now on, in the place of a probe.
    pub fn watch(&mut self, watcher: Watcher) {
        let mut pins = Pins::new(watcher);
        self.probe = Some(Box::new(move |now, input, output| pins.look(now, input, output)));
    }

    fn cycle(&mut self, now: Cycle) {
        let (input, output) = (&mut self.input, &mut self.output);
        input.reset = now < RESET_CYCLES;
        input.time_now = ticks(now).wrapping_add(self.bus.time_base());
        self.bus.drive(now, input);
        self.mac.drive(now, input);
        self.nic.cycle(input, output);
        self.bus.note_beyond(self.nic.under_way());
        for what in self.nic.broken() {
            self.bus.note_broken(now, what);
        }
        self.bus.observe(now, input, output);
        self.mac.observe(now, input, output);
        if let Some(probe) = &mut self.probe {
            probe(now, input, output);
        }
        let moves = input.tlp_rx_valid || input.eth_rx_valid || output.tlp_tx_valid || output.eth_tx_valid;
        self.calm = if output.idle && !moves && !input.reset { self.calm + 1 } else { 0 };
    }
}
