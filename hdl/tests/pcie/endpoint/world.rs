//! The endpoint in Verilator, between a root port and a core.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::pcie_endpoint;
use viaduct_link::ltssm::Times;
use viaduct_link::monitor::{Monitor, MonitorOptions};
use viaduct_link::port::{Port, PortOptions};
use viaduct_link::seam::{FromEndpoint, ToEndpoint};
use viaduct_link::tlp::{from_bytes, Tlp};
use viaduct_verilate::{Dut, Handle};

use super::core::Core;
use super::host::{requester, Host, CONFIGURATION};
use super::traffic::Traffic;
use crate::clock::{clockless, Clock};
use crate::seam::Seam;
use crate::transaction::tlp::{answer, configuration, slot_power};

/// Periods of `pclk` and of the core's clock: one, 5 to 4, and what has every phase.
pub const PERIODS: [(u64, u64); 3] = [(8000, 8000), (8000, 10_000), (8000, 9333)];

/// Where the BARs are.
pub const BAR0: u64 = 0xFE00_0000;
pub const BAR2: u64 = 0x40_0000_0000;

/// The function's number.
pub const ID: u16 = 0x05A8;

/// The seed of a test: `VIADUCT_SEED`, or always the same one; printed.
pub fn seed(name: &str) -> u64 {
    let seed = std::env::var("VIADUCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x656e_6470);
    println!("{name}, seed {seed} (VIADUCT_SEED={seed})");
    seed
}

/// A root port that waits in Detect.Quiet for 16 us only.
pub fn quick(seed: u64) -> PortOptions {
    let mut options = PortOptions::new(seed);
    options.side.times = Times { detect_quiet: 2000, ..Times::default() };
    // The power comes first, the transceiver's clock a little later.
    options.locks = 8;
    options
}

/// See the module's description.
pub struct World {
    pub dut: Dut,
    pclk: Clock,
    clock: Clock,
    seam: Seam,
    state: Handle,
    pub random: ChaCha8Rng,
    pub port: Port,
    pub monitor: Monitor,
    pub host: Host,
    pub core: Core,
    pub traffic: Traffic,
    /// Most double words of a payload of the host's.
    pub most: u32,
    /// The transceiver works.
    pub ready: bool,
    /// Cycles of `pclk`.
    pub cycle: u64,
    pub from: FromEndpoint,
    pub to: ToEndpoint,
    /// States entered, each with its cycle.
    pub path: Vec<(u64, u64)>,
    tag: u8,
    /// Whom configuration requests are to, and under which number the function answers.
    pub target: u16,
    pub id: u16,
}

impl World {
    /// From power-up, with clocks of these periods. The root port is only checked if its wire is not damaged, and its clock is the endpoint's.
    pub fn new(options: PortOptions, (pclk, core): (u64, u64)) -> Self {
        let seed = options.side.seed;
        let damaged = options.to_endpoint != Default::default() || options.ppm != 0;
        let dut = clockless("pcie endpoint", &pcie_endpoint(), seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xe9d);
        let max_payload = options.side.link.max_payload;
        let generation = options.side.generation;
        let monitor = MonitorOptions { root: !damaged, max_payload, generation, ..MonitorOptions::default() };
        Self {
            pclk: Clock::new(&dut, "pclk", 2 * pclk, 0),
            clock: Clock::new(&dut, "clock", 2 * core, random.random_range(0..2 * core)),
            seam: Seam::of(&dut, ""),
            state: dut.port("ltssm_state"),
            port: Port::new(options),
            monitor: Monitor::new(monitor),
            host: Host::default(),
            core: Core::of(&dut),
            traffic: Traffic::default(),
            most: max_payload / 4,
            ready: true,
            cycle: 0,
            from: FromEndpoint::default(),
            to: ToEndpoint::default(),
            path: Vec::new(),
            tag: CONFIGURATION,
            target: ID,
            id: 0,
            random,
            dut,
        }
    }

    /// A healthy link that is up, and a function that Linux has found.
    pub fn enumerated(options: PortOptions, periods: (u64, u64)) -> Self {
        let mut world = Self::new(options, periods);
        world.train();
        world.enumerate();
        world
    }

    /// The state of the LTSSM.
    pub fn state(&self) -> u64 {
        self.dut.read(self.state)
    }

    /// What the endpoint tells the transceiver.
    pub fn told(&self) -> FromEndpoint {
        self.seam.read(&self.dut)
    }

    /// A cycle of `pclk`, and those of the core's clock that fall into it.
    pub fn step(&mut self) {
        self.cycle += 1;
        self.begin_traffic();
        self.pump();
        loop {
            if self.pclk.next > self.clock.next {
                if !self.clock.level {
                    self.core.cycle(&mut self.dut, &mut self.random);
                    self.note_core();
                }
                self.clock.turn(&mut self.dut);
            } else if self.pclk.level {
                self.pclk.turn(&mut self.dut);
            } else {
                self.link();
                return;
            }
        }
    }

    /// What the core did goes into the book.
    fn note_core(&mut self) {
        std::mem::take(&mut self.core.begun).into_iter().for_each(|packet| self.host.sent_by_core(packet));
        std::mem::take(&mut self.core.heard).iter().for_each(|packet| self.host.heard_by_core(packet));
    }

    /// The root complex sends and takes what it can.
    fn pump(&mut self) {
        while self.port.is_active() && self.port.backlog() < 24 {
            let Some(tlp) = self.host.completions.pop_front() else { break };
            self.send(tlp, Some(0));
        }
        while let Some(tlp) = self.port.receive() {
            self.host.hear(tlp, self.most, &mut self.random);
        }
        if !self.port.link_up() && self.core.is_down() {
            self.host.forget();
        }
    }

    /// An edge of `pclk`.
    fn link(&mut self) {
        self.to = self.port.cycle(self.from);
        self.to.phy_ready &= self.ready;
        let mut shown = self.to;
        if !shown.phy_ready {
            // Nothing else of the seam means anything.
            (shown.rx_data, shown.rx_k) = (self.random.random(), self.random.random_range(0..4));
            (shown.rx_error, shown.rx_idle) = (self.random.random_range(0..4), self.random.random());
        }
        self.seam.write(&mut self.dut, &shown);
        self.dut.eval();
        self.pclk.turn(&mut self.dut);
        // A transceiver that does not run sends nothing, whatever it is told.
        self.from = if shown.phy_ready { self.told() } else { FromEndpoint::default() };
        self.monitor.watch(&self.from, &self.to);
        let state = self.state();
        if self.path.last().is_none_or(|(_, last)| *last != state) {
            self.path.push((self.cycle, state));
        }
    }

    /// The host sends a packet, which the core hears if it is for a BAR, or a completion.
    pub fn send(&mut self, tlp: Tlp, to_core: Option<u64>) {
        if let Some(bar) = to_core {
            self.host.expects(&tlp, bar);
        }
        self.port.send(tlp).expect("the link is up");
    }

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
        let tail: Vec<_> = self.path.iter().rev().take(8).collect();
        panic!(
            "not within {cycles} cycles: {:?} and {tail:?} at {}, {:?}\n{:?} left, {} of the core's, came {:?}\n{}",
            self.port.state(),
            self.cycle,
            self.port.counters(),
            self.traffic,
            self.core.backlog(),
            self.host.came,
            self.violations()
        );
    }

    /// Until TLPs may pass.
    #[track_caller]
    pub fn train(&mut self) -> u64 {
        self.until(10_000_000, |world| world.port.is_active() && !world.core.is_down())
    }

    /// Until all traffic has begun and ended.
    #[track_caller]
    pub fn drain(&mut self, cycles: u64) -> u64 {
        self.until(cycles, |world| world.is_drained())
    }

    /// All traffic has begun and ended.
    pub fn is_drained(&self) -> bool {
        self.traffic == Traffic::default()
            && self.host.is_empty()
            && self.core.backlog() == 0
            && self.port.backlog() == 0
    }

    /// A configuration request and its answer, with all else going on meanwhile.
    #[track_caller]
    pub fn request(&mut self, register: u16, data: Option<u32>) -> u32 {
        self.tag = self.tag.wrapping_add(1) | CONFIGURATION;
        let request = configuration(self.target, register, 0xF, self.tag, data);
        self.send(from_bytes(&request).expect("a TLP"), None);
        if data.is_some() {
            self.id = self.target;
        }
        self.until(100_000, |world| !world.host.answers.is_empty());
        let got = self.host.answers.pop_front().expect("it is there");
        let value = data.is_none().then(|| got.get(3).copied().unwrap_or(0));
        let expected = from_bytes(&answer(&request, self.id, value, false)).expect("a TLP");
        assert_eq!(got, expected, "register {register:#x}");
        assert_eq!(requester(got[2]).1, self.tag);
        value.unwrap_or(0)
    }

    #[track_caller]
    pub fn read(&mut self, register: u16) -> u32 {
        self.request(register, None)
    }

    #[track_caller]
    pub fn write(&mut self, register: u16, value: u32) {
        self.request(register, Some(value));
    }

    /// The shortest way to a function that works: a message first, then its addresses.
    #[track_caller]
    pub fn enumerate(&mut self) {
        self.id = 0;
        self.send(from_bytes(&slot_power()).expect("a TLP"), None);
        self.map();
    }

    /// Addresses, then memory and bus master.
    #[track_caller]
    pub fn map(&mut self) {
        self.write(0x10, BAR0 as u32);
        self.write(0x18, BAR2 as u32);
        self.write(0x1C, (BAR2 >> 32) as u32);
        self.write(0x04, 6);
        self.until(1000, |world| world.core.may_ask(&world.dut));
    }

    pub fn violations(&self) -> String {
        let all = self.monitor.violations().iter().take(8).map(ToString::to_string);
        format!("{:?}\n{}", self.monitor.counts(), all.collect::<Vec<_>>().join("\n"))
    }

    /// The monitor has seen nothing wrong.
    #[track_caller]
    pub fn assert_silent(&self) {
        assert!(self.monitor.counts().is_empty(), "{}", self.violations());
    }
}
