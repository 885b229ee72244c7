//! The data link layer alone: symbols from a script, and what it says, taken apart.

use std::collections::VecDeque;

use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::link::frame::{frame_dllp, frame_tlp, Deframer, Frame};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{to_bytes, Class, Tlp};

use super::device::{Cycle, Device};

/// Something that the device has sent, and the cycle in which its first and its last symbols were on the line.
pub type Said<T> = (u64, u64, T);

/// See the module's description.
pub struct Alone {
    pub device: Device,
    /// Symbols to the device.
    lane: VecDeque<Option<Symbol>>,
    deframer: Deframer,
    began: u64,
    pub dllps: VecDeque<Said<Dllp>>,
    pub tlps: VecDeque<Said<(u16, Vec<u8>)>>,
    pub link_up: bool,
    pub in_l0: bool,
    pub ready: bool,
    /// Every third cycle `symbols` pauses.
    pub pauses: bool,
    inside: bool,
}

impl Alone {
    /// The link is up, and nothing has been said.
    pub fn new(seed: u64) -> Self {
        let mut alone = Self {
            device: Device::new(seed),
            lane: VecDeque::new(),
            deframer: Deframer::default(),
            began: 0,
            dllps: VecDeque::new(),
            tlps: VecDeque::new(),
            link_up: true,
            in_l0: true,
            ready: true,
            pauses: false,
            inside: false,
        };
        alone.run(4);
        alone
    }

    /// Active, with these credits: posted, non-posted, completions.
    pub fn active(seed: u64, credits: [(u16, u16); 3]) -> Self {
        let mut alone = Self::new(seed);
        alone.initialise(credits);
        alone
    }

    /// Brings it to DL_Active.
    pub fn initialise(&mut self, credits: [(u16, u16); 3]) {
        for flow in [Flow::Init1, Flow::Init2] {
            for class in Class::ALL {
                let (header, data) = credits[class.index()];
                self.dllp(Dllp::Credit { flow, class, header, data });
            }
            self.run(100);
        }
        assert!(self.until(1000, |alone| alone.device.is_active()) < 1000);
        self.run(20);
        self.dllps.clear();
    }

    /// These symbols come, as soon as those before have.
    pub fn symbols(&mut self, symbols: impl IntoIterator<Item = Symbol>) {
        self.lane.extend(symbols.into_iter().map(Some));
    }

    /// A damaged symbol comes.
    pub fn error(&mut self) {
        self.lane.push_back(None);
    }

    pub fn idle(&mut self, count: usize) {
        self.symbols(vec![Symbol::IDLE; count]);
    }

    pub fn dllp(&mut self, dllp: Dllp) {
        self.symbols(frame_dllp(dllp));
    }

    /// UpdateFC.
    pub fn update(&mut self, class: Class, header: u16, data: u16) {
        self.dllp(Dllp::Credit { flow: Flow::Update, class, header, data });
    }

    pub fn tlp(&mut self, number: u16, tlp: &Tlp) {
        self.symbols(frame_tlp(number, &to_bytes(tlp), false));
    }

    pub fn step(&mut self) {
        self.inside &= self.link_up;
        let pause = self.pauses && self.device.now % 3 == 0;
        let symbols = (!pause).then(|| [0; 2].map(|_| self.lane.pop_front().unwrap_or(Some(Symbol::IDLE))));
        let cycle = Cycle {
            symbols: symbols.filter(|_| self.link_up),
            // Once a packet has begun it is taken to its end.
            ready: self.inside || (self.ready && self.in_l0),
            link_up: self.link_up,
            in_l0: self.in_l0,
        };
        let Some((symbols, last)) = self.device.cycle(cycle) else { return };
        if !self.inside {
            self.began = self.device.now;
        }
        self.inside = !last;
        let frames = symbols.map(|symbol| self.deframer.push(Some(symbol)));
        for frame in frames.into_iter().flatten() {
            let times = (self.began, self.device.now);
            match frame {
                Frame::Dllp(bytes) => {
                    let dllp = Dllp::decode(bytes).unwrap_or_else(|error| panic!("{bytes:02x?}: {error}"));
                    self.dllps.push_back((times.0, times.1, dllp));
                }
                Frame::Tlp(number, bytes) => self.tlps.push_back((times.0, times.1, (number, bytes))),
                other => panic!("{other:?} was sent"),
            }
        }
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Until something is so, or so many cycles have passed; says how many.
    pub fn until(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> u64 {
        (0..cycles)
            .find(|_| {
                let is = done(self);
                if !is {
                    self.step();
                }
                is
            })
            .unwrap_or(cycles)
    }

    /// Until all symbols have come, and what follows from them.
    pub fn settle(&mut self) {
        let left = self.lane.len() as u64;
        self.run(left + 40);
        assert!(self.lane.is_empty());
    }

    /// The next DLLP that is no UpdateFC.
    pub fn next_dllp(&mut self) -> Option<Dllp> {
        while let Some((_, _, dllp)) = self.dllps.pop_front() {
            if !matches!(dllp, Dllp::Credit { flow: Flow::Update, .. }) {
                return Some(dllp);
            }
        }
        None
    }

    /// The numbers of the TLPs that were sent since the last question.
    pub fn numbers(&mut self) -> Vec<u16> {
        self.tlps.drain(..).map(|(_, _, (number, _))| number).collect()
    }
}

impl Alone {
    /// The link comes up again after it was down.
    pub fn restart(&mut self) {
        (self.link_up, self.in_l0, self.inside) = (true, true, false);
        self.lane.clear();
        self.deframer = Deframer::default();
        self.tlps.clear();
        self.dllps.clear();
    }
}

impl Alone {
    /// Symbols are still to come.
    pub fn is_coming(&self) -> bool {
        !self.lane.is_empty()
    }
}
