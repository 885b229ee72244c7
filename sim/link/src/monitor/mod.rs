//! An independent checker at the seam: it knows the rules and trusts neither side.
//!
//! It sees both directions each cycle and reports what breaks a [`Rule`]. It has its own parser,
//! its own CRCs and its own counters; only symbols and the scrambler are shared with the ports.
//!
//! Timers are measured at the seam in symbol times of a side's L0. As a side sends what is due only
//! after the packet under way, a limit is that of the specification, the longest packet and 64 symbols.

mod answer;
mod check;
mod grant;
mod lane;
mod phase;
mod rule;
mod sequence;
mod watch;

use std::collections::BTreeMap;

pub use rule::{Party, Rule, Violation};

use crate::generation::Generation;
use crate::seam::{Cycle, FromEndpoint, ToEndpoint};
use answer::Answer;
use grant::Grants;
use lane::{Item, Lane};
use phase::Phases;
use sequence::Sequence;

/// Violations that are kept; the rest are only counted.
const KEPT: usize = 64;
/// Symbols that the wire's elastic buffer may be away from its middle.
const WIRE: u64 = 32;

/// What the monitor has to know.
#[derive(Debug, Clone, Copy)]
pub struct MonitorOptions {
    /// Max_Payload_Size in bytes.
    pub max_payload: u32,
    /// TS1 that Polling.Active has to send.
    pub polling_sets: u32,
    /// The generation of the root port: a later one says more.
    pub generation: Generation,
    /// What the root port sends is checked. Not so if a wire damages it.
    pub root: bool,
}

impl Default for MonitorOptions {
    fn default() -> Self {
        Self { max_payload: 128, polling_sets: 1024, generation: Generation::First, root: true }
    }
}

/// What is known of a side.
#[derive(Debug, Clone)]
struct Observed {
    generation: Generation,
    lane: Lane,
    phases: Phases,
    /// As a sender of TLPs.
    sequence: Sequence,
    /// As a receiver of them.
    answer: Answer,
    /// What it grants to the other side.
    grants: Grants,
    /// Symbol times in L0.
    time: u64,
    /// When the packet under way began.
    began: u64,
    /// When the last packet ended.
    ended: u64,
    /// The other side has left the link, and this one has not noticed: its packets mean nothing.
    left: bool,
}

impl Observed {
    /// A training set has ended in L0: the side had left L0 when it began, or even when the packet just
    /// before it began. Its timers are held since then.
    fn hold(&mut self) {
        const SET: u64 = 16;
        let left = self.time.saturating_sub(SET);
        self.time = if self.ended + 2 * SET >= self.time { self.began } else { left };
    }
}

impl Observed {
    fn new(generation: Generation, polling_sets: u32, wire: u64) -> Self {
        Self {
            generation,
            lane: Lane::new(generation),
            phases: Phases::new(polling_sets, wire),
            sequence: Sequence::default(),
            answer: Answer::default(),
            grants: Grants::default(),
            time: 0,
            began: 0,
            ended: 0,
            left: false,
        }
    }
}

/// The monitor.
#[derive(Debug, Clone)]
pub struct Monitor {
    options: MonitorOptions,
    cycle: Cycle,
    endpoint: Observed,
    root: Observed,
    inverted: bool,
    violations: Vec<Violation>,
    counts: BTreeMap<(Party, Rule), u64>,
}

impl Monitor {
    /// From power-up.
    pub fn new(options: MonitorOptions) -> Self {
        Self {
            options,
            cycle: 0,
            endpoint: Observed::new(Generation::First, options.polling_sets, 0),
            root: Observed::new(options.generation, options.polling_sets, WIRE),
            inverted: false,
            violations: Vec::new(),
            counts: BTreeMap::new(),
        }
    }

    /// The first violations.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// How often each rule was broken, and by whom.
    pub fn counts(&self) -> &BTreeMap<(Party, Rule), u64> {
        &self.counts
    }

    /// Max_Payload_Size in bytes from now on.
    pub fn set_max_payload(&mut self, bytes: u32) {
        self.options.max_payload = bytes;
    }

    fn of(&mut self, party: Party) -> &mut Observed {
        match party {
            Party::Endpoint => &mut self.endpoint,
            Party::Root => &mut self.root,
        }
    }

    /// A cycle: what comes from the endpoint, and what goes to it.
    pub fn watch(&mut self, from: &FromEndpoint, to: &ToEndpoint) {
        self.cycle += 1;
        if from.rx_invert != self.inverted {
            self.inverted = from.rx_invert;
            self.root.lane.restart();
        }
        let scrambled = !(self.endpoint.phases.no_scrambling || self.root.phases.no_scrambling);
        self.endpoint.lane.set_scrambled(scrambled);
        self.root.lane.set_scrambled(scrambled);
        let (sent, heard) = (from.sent(), to.heard());
        for index in 0..2 {
            self.symbol(Party::Endpoint, Some(sent.symbols[index]), sent.idle);
            // Valid data wins over the level.
            let silent = heard.idle && heard.symbols[index].is_none();
            self.symbol(Party::Root, heard.symbols[index], silent);
        }
        self.deadlines();
    }

    fn symbol(&mut self, party: Party, symbol: Option<crate::symbol::Symbol>, silent: bool) {
        let (observed, other) = match party {
            Party::Endpoint => (&mut self.endpoint, &self.root),
            Party::Root => (&mut self.root, &self.endpoint),
        };
        observed.time += u64::from(observed.phases.is_in_l0(&other.phases));
        observed.phases.symbol();
        if silent {
            observed.lane.silence();
        } else {
            observed.lane.push(symbol);
        }
        if observed.lane.astray {
            let other = self.of(party.other());
            other.answer.blind(other.time);
        }
        let observed = self.of(party);
        if observed.lane.items.is_empty() {
            return;
        }
        let packet = watch::longest(self.options.max_payload);
        let observed = self.of(party);
        let mut items = std::mem::take(&mut observed.lane.items);
        let mut faults = std::mem::take(&mut observed.lane.faults);
        for item in &items {
            let observed = self.of(party);
            if matches!(item, Item::Training(_)) && observed.phases.is_data() {
                observed.hold();
                observed.answer.left(observed.time, packet);
            }
            observed.phases.item(item, &mut faults);
            self.item(party, item, &mut faults);
        }
        for (rule, what) in faults.drain(..) {
            self.report(party, rule, what);
        }
        items.clear();
        let observed = self.of(party);
        (observed.lane.items, observed.lane.faults) = (items, faults);
    }

    fn report(&mut self, party: Party, rule: Rule, what: String) {
        if party == Party::Root && !self.options.root {
            return;
        }
        *self.counts.entry((party, rule)).or_default() += 1;
        if self.violations.len() < KEPT {
            self.violations.push(Violation { cycle: self.cycle, party, rule, what });
        }
    }
}
