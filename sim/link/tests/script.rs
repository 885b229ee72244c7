//! Two streams of symbols, written by hand, for the monitor.

use std::collections::VecDeque;

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::link::frame::{frame_dllp, frame_tlp};
use viaduct_link::monitor::{Monitor, MonitorOptions, Party, Rule};
use viaduct_link::ordered_set::{Kind, TrainingSet, EIOS, SKP_SET};
use viaduct_link::scrambler::Scrambler;
use viaduct_link::seam::{FromEndpoint, Heard, Sent, ToEndpoint};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{to_bytes, Class};

/// Credits in a script: posted, non-posted, completions.
pub const CREDITS: [(u16, u16); 3] = [(2, 8), (8, 8), (0, 0)];

/// A symbol time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Silence,
    Symbol(Symbol),
    Error,
}

/// One stream.
pub struct Voice {
    scrambler: Scrambler,
    slots: VecDeque<Slot>,
    since_skp: usize,
    /// It sends SKP ordered sets when they are due.
    pub skips: bool,
    silent: bool,
    sequence: u16,
}

impl Voice {
    fn new() -> Self {
        let slots = VecDeque::new();
        Self { scrambler: Scrambler::default(), slots, since_skp: 0, skips: true, silent: true, sequence: 0 }
    }

    fn raw(&mut self, symbols: &[Symbol], training: bool) {
        for symbol in symbols {
            self.slots.push_back(Slot::Symbol(self.scrambler.pass(*symbol, training)));
        }
        self.since_skp += symbols.len();
        self.silent = false;
    }

    fn skip_if_due(&mut self) {
        if self.skips && self.since_skp >= 1300 {
            self.since_skp = 0;
            self.raw(&SKP_SET, false);
        }
    }

    /// Symbols that are scrambled.
    pub fn symbols(&mut self, symbols: &[Symbol]) {
        self.skip_if_due();
        self.raw(symbols, false);
    }

    /// Symbols that are not, after so many others that are.
    pub fn plain(&mut self, symbols: &[Symbol]) {
        self.raw(symbols, true);
    }

    /// A SKP ordered set now.
    pub fn skp(&mut self) {
        self.since_skp = 0;
        self.raw(&SKP_SET, false);
    }

    pub fn idle(&mut self, count: usize) {
        (0..count).for_each(|_| self.symbols(&[Symbol::IDLE]));
    }

    /// Idle until the other side has said what it says, and for so many symbols more.
    pub fn hears(&mut self, other: &Self, more: usize) {
        while self.slots.len() < other.slots.len() + more {
            self.idle(1);
        }
    }

    pub fn sets(&mut self, count: usize, set: TrainingSet) {
        for _ in 0..count {
            self.skip_if_due();
            self.raw(&set.encode(), true);
        }
    }

    pub fn silence(&mut self, count: usize) {
        self.slots.extend(vec![Slot::Silence; count]);
        self.silent = true;
        self.since_skp = 0;
    }

    pub fn eios(&mut self) {
        self.raw(&EIOS, false);
    }

    pub fn error(&mut self) {
        self.slots.push_back(Slot::Error);
        self.scrambler.skip();
    }

    pub fn dllp(&mut self, dllp: Dllp) {
        self.symbols(&frame_dllp(dllp));
    }

    /// A wire makes SKP of a symbol of idle.
    pub fn stray_skp(&mut self) {
        self.symbols(&[Symbol::IDLE]);
        self.slots.pop_back();
        self.slots.push_back(Slot::Symbol(Symbol::SKP));
    }

    pub fn credit(&mut self, flow: Flow, class: Class, values: (u16, u16)) {
        self.dllp(Dllp::Credit { flow, class, header: values.0, data: values.1 });
    }

    /// A set of three InitFC.
    pub fn init(&mut self, flow: Flow) {
        for class in Class::ALL {
            self.credit(flow, class, CREDITS[class.index()]);
        }
    }

    /// The next TLP.
    pub fn tlp(&mut self, tlp: &[u32]) {
        self.numbered(self.sequence, tlp);
        self.sequence += 1;
    }

    /// A TLP with this number.
    pub fn numbered(&mut self, sequence: u16, tlp: &[u32]) {
        self.symbols(&frame_tlp(sequence, &to_bytes(tlp), false));
    }

    fn next(&mut self) -> Slot {
        if self.slots.is_empty() {
            if self.silent {
                return Slot::Silence;
            }
            self.idle(1);
        }
        self.slots.pop_front().unwrap_or(Slot::Silence)
    }
}

/// The two streams and the monitor.
pub struct Script {
    pub endpoint: Voice,
    pub root: Voice,
    pub monitor: Monitor,
}

impl Script {
    /// A monitor that wants 16 TS1.
    pub fn new() -> Self {
        let options = MonitorOptions { polling_sets: 16, ..MonitorOptions::default() };
        Self { endpoint: Voice::new(), root: Voice::new(), monitor: Monitor::new(options) }
    }

    /// In L0, initialised.
    pub fn active() -> Self {
        let mut script = Self::new();
        script.both(|voice| train(voice, 20));
        script.both(|voice| voice.init(Flow::Init1));
        script.both(|voice| voice.init(Flow::Init2));
        script.play();
        script
    }

    pub fn voice(&mut self, party: Party) -> &mut Voice {
        match party {
            Party::Endpoint => &mut self.endpoint,
            Party::Root => &mut self.root,
        }
    }

    pub fn both(&mut self, mut say: impl FnMut(&mut Voice)) {
        say(&mut self.endpoint);
        say(&mut self.root);
    }

    /// Plays all that was said, and some idle.
    pub fn play(&mut self) {
        while !self.endpoint.slots.is_empty() || !self.root.slots.is_empty() {
            self.cycle();
        }
        (0..10).for_each(|_| self.cycle());
    }

    fn cycle(&mut self) {
        let sent = [0; 2].map(|_| self.endpoint.next());
        let idle = sent.contains(&Slot::Silence);
        let symbols = sent.map(|slot| if let Slot::Symbol(symbol) = slot { symbol } else { Symbol::IDLE });
        let from = FromEndpoint::default().carry(Sent { symbols, idle });
        let heard = [0; 2].map(|_| self.root.next());
        let idle = heard.contains(&Slot::Silence);
        let symbols = heard.map(|slot| if let Slot::Symbol(symbol) = slot { Some(symbol) } else { None });
        let to = ToEndpoint::default().carry(Heard { symbols, idle }, Symbol::COM);
        self.monitor.watch(&from, &to);
    }

    /// What was broken.
    pub fn broken(&self) -> Vec<(Party, Rule)> {
        self.monitor.counts().keys().copied().collect()
    }
}

/// Trains up to so many idle symbols.
pub fn train(voice: &mut Voice, idle: usize) {
    polling(voice, 16);
    configure(voice, 16);
    voice.idle(idle);
}

/// Polling with so many TS1.
pub fn polling(voice: &mut Voice, count: usize) {
    voice.silence(20);
    voice.sets(count, TrainingSet::new(Kind::Ts1, None, None));
    voice.sets(16, TrainingSet::new(Kind::Ts2, None, None));
}

/// Configuration with so many TS2.
pub fn configure(voice: &mut Voice, count: usize) {
    voice.sets(2, TrainingSet::new(Kind::Ts1, Some(0), None));
    voice.sets(2, TrainingSet::new(Kind::Ts1, Some(0), Some(0)));
    voice.sets(count, TrainingSet::new(Kind::Ts2, Some(0), Some(0)));
}
