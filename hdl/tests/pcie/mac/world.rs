//! The layer between a root port and a data link layer.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::mac::state::codes;
use viaduct_hdl::pcie::mac::PcieMac;
use viaduct_link::link::frame::Deframer;
use viaduct_link::link::{DataLink, LinkOptions, What};
use viaduct_link::ltssm::{LowPower, Role, State, Times};
use viaduct_link::monitor::{Monitor, MonitorOptions};
use viaduct_link::port::{Port, PortOptions};
use viaduct_link::seam::{FromEndpoint, ToEndpoint};
use viaduct_link::symbol::Symbol;
use viaduct_verilate::{Dut, Options};

use super::ports::{words, Ports};
use super::script::Script;

/// Cycles in a millisecond.
pub const MS: u64 = 125_000;

/// The seed of a test: `VIADUCT_SEED`, or always the same one; printed.
pub fn seed(name: &str) -> u64 {
    let seed = std::env::var("VIADUCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x7063_6965);
    println!("{name}, seed {seed} (VIADUCT_SEED={seed})");
    seed
}

/// A root port that waits in Detect.Quiet for 16 us only.
pub fn quick(seed: u64) -> PortOptions {
    let mut options = PortOptions::new(seed);
    options.side.times = Times { detect_quiet: 2000, ..Times::default() };
    options
}

/// A packet at `line`.
struct Leaving {
    words: Vec<u64>,
    place: usize,
    what: What,
}

/// See the module's description.
pub struct World {
    pub dut: Dut,
    ports: Ports,
    pub port: Port,
    pub monitor: Monitor,
    pub random: ChaCha8Rng,
    pub cycle: u64,
    pub to: ToEndpoint,
    pub from: FromEndpoint,
    /// The data link layer, the way in to it, and the packet that it sends.
    pub link: DataLink,
    deframer: Deframer,
    leaving: Option<Leaving>,
    /// SKP in `symbols`, which the layer itself puts there: outside of packets, and within.
    pub fillers: [u64; 2],
    /// Per thousand of cycles in which nothing is begun.
    pub pauses: u32,
    /// Levels of the cycle before, and the wishes of the test.
    pub link_up: bool,
    pub in_l0: bool,
    pub hot_reset: bool,
    pub retrain: bool,
    pub sleep: bool,
    pub wake: bool,
    /// In place of the root port.
    pub script: Option<Script>,
    /// States entered, each with its cycle.
    pub path: Vec<(u64, u64)>,
    last_state: u64,
}

impl World {
    /// With a root port, and the layer's options `no_scramble` and `ignore_detect`.
    pub fn with(name: &str, options: PortOptions, no_scramble: bool, ignore_detect: bool) -> Self {
        let seed = options.side.seed;
        let damaged = options.to_endpoint != Default::default();
        let source = verilog(PcieMac::new(no_scramble, ignore_detect));
        let dut = match Dut::seeded(&source, &Options::named(name), seed) {
            Ok(dut) => dut,
            Err(error) => panic!("{error}"),
        };
        let max_payload = options.side.link.max_payload;
        let monitor = MonitorOptions { root: !damaged, max_payload, ..MonitorOptions::default() };
        let quiet = viaduct_link::damage::Trouble::new(Default::default(), seed);
        Self {
            ports: Ports::of(&dut),
            dut,
            port: Port::new(options),
            monitor: Monitor::new(monitor),
            random: ChaCha8Rng::seed_from_u64(seed ^ 0x5eed),
            cycle: 0,
            to: ToEndpoint::default(),
            from: FromEndpoint::default(),
            link: DataLink::new(LinkOptions::new(Role::Upstream, max_payload), quiet),
            deframer: Deframer::default(),
            leaving: None,
            fillers: [0; 2],
            pauses: 100,
            link_up: false,
            in_l0: false,
            hot_reset: false,
            retrain: false,
            sleep: false,
            wake: false,
            script: None,
            path: vec![(0, codes::DETECT_QUIET)],
            last_state: codes::DETECT_QUIET,
        }
        .after_reset()
    }

    /// With a root port.
    pub fn new(options: PortOptions) -> Self {
        Self::with("pcie_mac", options, false, false)
    }

    fn after_reset(mut self) -> Self {
        self.dut.write(self.ports.reset, 1);
        self.ports.seam.write(&mut self.dut, &ToEndpoint::default());
        (0..8).for_each(|_| self.dut.tick());
        self.dut.write(self.ports.reset, 0);
        self
    }

    /// The state of the LTSSM.
    pub fn state(&self) -> u64 {
        self.dut.read(self.ports.state)
    }

    /// How far training has come.
    pub fn deepest(&self) -> u64 {
        self.dut.read(self.ports.deepest)
    }

    /// A cycle.
    pub fn step(&mut self) {
        self.cycle += 1;
        self.to = match &mut self.script {
            None => self.port.cycle(self.from),
            Some(script) => script.cycle(self.from),
        };
        let to = self.to;
        self.ports.seam.write(&mut self.dut, &to);
        self.offer();
        let low_power = self.link.low_power() == LowPower::Agreed;
        let wishes = [
            self.in_l0 && self.retrain,
            self.in_l0 && (self.sleep || low_power),
            self.wake || self.state() == codes::L1 && self.link.has_work(),
        ];
        for (port, value) in self.ports.wishes.into_iter().zip(wishes) {
            self.dut.write(port, value.into());
        }
        self.dut.eval();
        self.take();
        self.dut.tick();
        self.from = self.ports.seam.read(&self.dut);
        if self.script.is_none() {
            self.monitor.watch(&self.from, &self.to);
        }
        self.follow();
        let state = self.state();
        if self.last_state != state {
            self.last_state = state;
            self.path.push((self.cycle, state));
        }
    }

    /// The data link layer offers a packet.
    fn offer(&mut self) {
        // What was not begun before L0 was left stays offered until it is back: no number is left out. What the link's end cuts is lost.
        if !self.link_up {
            if let Some(packet) = self.leaving.take() {
                self.link.spoken(packet.what);
            }
        }
        let pauses = self.random.random_range(0..1000) < self.pauses;
        if self.leaving.is_none() && self.in_l0 && !pauses {
            self.leaving = self.link.speak().map(|packet| Leaving {
                words: words(&packet.symbols),
                place: 0,
                what: packet.what,
            });
        }
        self.dut.write(self.ports.line_valid, self.leaving.is_some().into());
        // What is not valid means nothing.
        let junk = self.random.random::<u64>() & 0x7ffff;
        let word = self.leaving.as_ref().map_or(junk, |packet| packet.words[packet.place]);
        self.dut.write(self.ports.line, word);
    }

    /// What moves at this edge.
    fn take(&mut self) {
        let ready = self.dut.read(self.ports.line_ready) == 1;
        if let Some(packet) = &mut self.leaving {
            assert!(ready || packet.place == 0, "ready falls within a packet");
            packet.place += usize::from(ready);
            if packet.place == packet.words.len() {
                self.link.spoken(packet.what);
                self.leaving = None;
            }
        }
        if self.dut.read(self.ports.symbols[1]) == 1 {
            let word = self.dut.read(self.ports.symbols[0]);
            for place in 0..2 {
                let bit = |low: u64| word >> (low + place) & 1 == 1;
                let symbol = Symbol { value: (word >> (8 * place)) as u8, k: bit(16) };
                assert!(place == 0 || bit(18 + place - 1) || symbol != Symbol::COM || bit(18), "COM is high");
                if symbol == Symbol::SKP && !bit(18) {
                    self.fillers[usize::from(self.deframer.inside())] += 1;
                }
                if let Some(frame) = self.deframer.push((!bit(18)).then_some(symbol)) {
                    self.link.heard(frame);
                }
            }
        }
    }

    /// The data link layer follows the levels.
    fn follow(&mut self) {
        let was_in_l0 = self.in_l0;
        [self.link_up, self.in_l0, self.hot_reset] = self.ports.levels.map(|port| self.dut.read(port) == 1);
        self.link.set_up(self.link_up);
        if self.in_l0 && !was_in_l0 {
            self.link.resumed();
        }
        if self.in_l0 && self.link.tick() {
            self.retrain = true;
        } else if !self.in_l0 {
            (self.retrain, self.sleep) = (false, false);
        }
    }

    /// So many cycles.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Until something is so, which has to be within so many cycles. Says how many it took.
    #[track_caller]
    pub fn until(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> u64 {
        for passed in 0..cycles {
            if done(self) {
                return passed;
            }
            self.step();
        }
        let tail: Vec<_> = self.path.iter().rev().take(12).collect();
        panic!("not within {cycles} cycles: {:?}, ours {tail:?}, now {}", self.port.state(), self.cycle);
    }

    /// Until the LTSSM is in a state.
    #[track_caller]
    pub fn reach(&mut self, cycles: u64, state: u64) -> u64 {
        self.until(cycles, |world| world.state() == state)
    }

    /// Until both data link layers are active.
    #[track_caller]
    pub fn train(&mut self) -> u64 {
        self.until(60 * MS, |world| world.is_active())
    }

    /// Both data link layers are active, and both sides in L0.
    pub fn is_active(&self) -> bool {
        self.port.is_active() && self.link.is_active() && self.in_l0 && self.port.state() == State::L0
    }

    /// Both sides forget what has come.
    pub fn forget(&mut self) {
        while self.link.receive().is_some() || self.port.receive().is_some() {}
    }

    /// The states entered since the last call.
    pub fn take_path(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.path).into_iter().map(|(_, state)| state).collect()
    }
}
