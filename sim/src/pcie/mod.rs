//! A NIC behind a PCI Express link: the endpoint's RTL between the NIC's and a root port, two symbols a cycle.
//!
//! ```text
//!   root complex ◄── beats ──►┌──────────┐◄─ TLPs ─►┌──────┐◄─ symbols ─►┌──────────┐◄── beats ──►┌─────┐
//!   cfg, credit, resets ─────►│ Platform │          │ Port │      │      │ Endpoint │── cfg ─────►│ Nic │
//!                             └──────────┘          └──────┘   Monitor   └──────────┘   CoreEdge  └─────┘
//! ```
//!
//! To the root complex it looks as the NIC alone does ([`Nic`]): what would be side band there (configuration, resets) the [`Platform`]
//! says by configuration requests, as firmware and an operating system do.
//!
//! * [`Lane`]: the endpoint's RTL, the root port and the monitor between them, in step.
//! * [`CoreEdge`]: the rules of the NIC's edge. [`Upward`]: what the root port has received.
//! * [`Platform`], with `request` and `settings`: who configures the function.
//! * [`Options`]: how a link is simulated.
//!
//! What the monitor, the core's edge or the platform finds wrong is a violation of the bus.

mod edge;
mod endpoint;
mod lane;
mod options;
mod platform;
mod request;
mod settings;
mod upward;

use std::collections::VecDeque;
use std::io;

use viaduct_link::link::Counters;
use viaduct_link::tlp::{Class, Tlp};

pub use endpoint::{VERILOG, VERILOG_SHA256};
pub use options::Options;

use crate::nic::{Nic, NicIn, NicOut};
use crate::root_complex::{self, RootComplex};
use edge::CoreEdge;
use lane::Lane;
use platform::Platform;
use settings::Settings;
use upward::Upward;

/// Cycles that a packet takes at most from one end of a link to the other, or a setting until it is in force: some replays by time-out,
/// and a Recovery.
const LATENCY: u64 = 20_000;
/// Cycles of the core's for a link to come up and for enumeration: more than any time-out of training.
const TRAINING: u64 = 20_000_000;
/// Cycles after which the core's edge shows what has been written long ago.
const SHOWN: u64 = 256;

/// A NIC and its endpoint, behind a root port.
pub struct PcieNic {
    nic: Box<dyn Nic>,
    lane: Lane,
    platform: Platform,
    edge: CoreEdge,
    upward: Upward,
    /// Double words of a packet of the root complex's that has not come whole.
    downward: Vec<u32>,
    /// Packets of the root complex's that wait until the function is configured.
    held: VecDeque<Tlp>,
    /// What the root complex showed in the cycle before.
    was_down: bool,
    was_reset: bool,
    /// A hot reset has been asked for: nothing passes until the link is down, and comes up again.
    resets: bool,
    /// Cycles since the function is as the root complex shows it.
    settled: u64,
    wrong: Vec<String>,
}

impl PcieNic {
    /// Trains the link and has the function enumerated, and configured as such a root complex shows it; the NIC stands still meanwhile.
    ///
    /// # Errors
    /// The endpoint's mutant cannot be compiled, or the link does not come up.
    pub fn new(nic: Box<dyn Nic>, bus: &root_complex::Options, options: &Options) -> io::Result<Self> {
        let mut shown = NicIn::default();
        RootComplex::new(bus.clone()).drive(0, &mut shown);
        let mut this = Self {
            nic,
            lane: Lane::new(bus.seed, options, &bus.conditions.credits)?,
            platform: Platform::new(&shown),
            edge: CoreEdge::default(),
            upward: Upward::default(),
            downward: Vec::new(),
            held: VecDeque::new(),
            was_down: false,
            was_reset: false,
            resets: false,
            settled: 0,
            wrong: Vec::new(),
        };
        let still = NicOut { tlp_rx_np_ready: true, ..NicOut::default() };
        for _ in 0..TRAINING {
            this.link_cycles(0);
            this.lane.core_edge(&still);
            this.link_cycles(1);
            if this.platform.is_settled() {
                return Ok(this);
            }
        }
        let broken = this.broken();
        Err(io::Error::other(format!("it does not come up: {}; {broken:?}", this.lane)))
    }

    /// The cycles of the link that lie before (0) or behind (1) the core's edge in this cycle of the core's.
    fn link_cycles(&mut self, side: usize) {
        for _ in 0..self.lane.due(side) {
            self.link_cycle();
        }
    }

    fn link_cycle(&mut self) {
        let was_up = self.lane.is_active();
        self.lane.cycle(self.platform.max_payload());
        if !self.lane.is_active() {
            if was_up && !self.resets {
                self.wrong.push(format!("the link has gone down by itself: {}", self.lane));
            }
            if was_up {
                self.platform.link_is_down();
            }
            return;
        }
        while self.upward.has_room() {
            let Some(tlp) = self.lane.receive() else { break };
            if !self.resets {
                self.hear(tlp);
            }
        }
        if self.resets {
            return;
        }
        while let Some(tlp) = self.platform.next() {
            self.send(tlp, false);
        }
        while let Some(tlp) = self.held.front() {
            // The function's reset waits for the completions of its reads.
            let completes = self.platform.is_resetting() && Class::of(tlp[0]) == Class::Completion;
            if !self.platform.is_settled() && !completes {
                break;
            }
            if let Some(tlp) = self.held.pop_front() {
                self.send(tlp, true);
            }
        }
    }

    fn hear(&mut self, tlp: Tlp) {
        if let Some(tlp) = self.platform.hear(tlp) {
            self.lane.note_heard();
            self.upward.push(tlp);
        }
    }

    fn send(&mut self, tlp: Tlp, to_core: bool) {
        if let Err(refused) = self.lane.send(tlp, to_core) {
            self.wrong.push(format!("the root port refuses a packet: {refused}"));
        }
    }

    /// A beat of the root complex's.
    fn take(&mut self, input: &NicIn) {
        self.downward.push(input.tlp_rx_data as u32);
        if input.tlp_rx_keep == 0b11 {
            self.downward.push((input.tlp_rx_data >> 32) as u32);
        }
        if input.tlp_rx_last {
            self.held.push_back(std::mem::take(&mut self.downward));
        }
    }

    /// What the root complex asks for.
    fn follow(&mut self, input: &NicIn) {
        if input.link_down && !self.was_down {
            self.resets = true;
            self.lane.hot_reset();
            self.held.clear();
            self.downward.clear();
            self.upward.clear();
        }
        if input.cfg_function_reset && !self.was_reset {
            // Accesses of the host's that have not gone are lost.
            self.held.retain(|tlp| Class::of(tlp[0]) == Class::Completion);
        }
        (self.was_down, self.was_reset) = (input.link_down, input.cfg_function_reset);
        // Software looks at the function when the link is up again and nobody holds it down.
        self.resets &= input.link_down || self.lane.is_active();
        self.platform.wish(input);
    }

    /// The core's edge shows what was written.
    fn compare(&mut self, input: &NicIn, inner: &NicIn) {
        self.settled = if self.platform.is_settled() { self.settled + 1 } else { 0 };
        if self.settled != SHOWN {
            return;
        }
        let (asked, shown) = (Settings::of(input), Settings::of(inner));
        if asked != shown || inner.cfg_requester_id != input.cfg_requester_id {
            self.wrong.push(format!("the core sees {shown:x?}, and {asked:x?} was written"));
        }
    }
}

impl Nic for PcieNic {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        if input.tlp_rx_valid {
            self.take(input);
        }
        self.follow(input);
        self.link_cycles(0);
        let mut inner = *input;
        self.lane.drive(&mut inner);
        self.compare(input, &inner);
        let mut shown = NicOut::default();
        self.nic.cycle(&inner, &mut shown);
        if inner.reset {
            // Before its first edges a NIC shows anything.
            shown = NicOut { idle: shown.idle, ..NicOut::default() };
        }
        self.edge.watch(&inner, &shown);
        self.platform.observe(&shown);
        self.lane.note_core(&inner, &shown);
        self.lane.core_edge(&shown);
        self.link_cycles(1);
        *output = shown;
        output.tlp_rx_np_ready = true;
        output.function_reset_done =
            self.platform.function_reset_done() && self.upward.is_empty() && self.lane.has_all_of_the_core();
        self.upward.present(input, output);
        output.idle = shown.idle
            && !self.resets
            && self.platform.is_settled()
            && self.settled > SHOWN
            && self.downward.is_empty()
            && self.held.is_empty()
            && self.upward.is_empty()
            && self.lane.is_idle();
    }

    fn latency(&self) -> u64 {
        LATENCY
    }

    fn under_way(&self) -> usize {
        self.held.len() + self.lane.to_core()
    }

    fn retrain(&mut self) {
        self.lane.retrain();
    }

    fn link_counters(&self) -> Option<Counters> {
        Some(self.lane.counters())
    }

    fn broken(&mut self) -> Vec<String> {
        let mut broken = std::mem::take(&mut self.wrong);
        broken.extend(self.platform.take_wrong());
        broken.extend(self.edge.take_wrong());
        broken.extend(self.lane.take_wrong());
        broken
    }
}
