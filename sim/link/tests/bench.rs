//! A downstream and an upstream port at the seam, and traffic between them.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::endpoint::Endpoint;
use viaduct_link::generation::Generation;
use viaduct_link::ltssm::{Role, State, Times};
use viaduct_link::monitor::{Monitor, MonitorOptions, Party, Rule};
use viaduct_link::port::{Port, PortOptions};
use viaduct_link::seam::{FromEndpoint, ToEndpoint};
use viaduct_link::side::Options;
use viaduct_link::tlp::{Class, Tlp};

/// Times for tests that are not about training: as the specification's, but for Detect.Quiet and the
/// number of TS1.
pub fn quick() -> Times {
    Times { detect_quiet: 2000, polling_sets: 64, ..Times::default() }
}

/// The two sides.
#[derive(Clone)]
pub struct Pair {
    pub port: Port,
    pub endpoint: Endpoint,
    pub to: ToEndpoint,
    pub from: FromEndpoint,
    pub cycle: u64,
    /// The cycle from which the endpoint has power.
    pub endpoint_starts: u64,
    /// What the root port says of itself.
    generation: Generation,
    /// Looks on, if it is there.
    pub monitor: Option<Monitor>,
}

impl Pair {
    /// From options for both.
    pub fn new(port: PortOptions, endpoint: Options) -> Self {
        Self {
            generation: port.side.generation,
            port: Port::new(port),
            endpoint: Endpoint::new(endpoint),
            to: ToEndpoint::default(),
            from: FromEndpoint::default(),
            cycle: 0,
            endpoint_starts: 0,
            monitor: None,
        }
    }

    /// Both with quick times and no damage.
    pub fn healthy(seed: u64) -> Self {
        let (port, endpoint) = options(seed);
        Self::new(port, endpoint)
    }

    /// A cycle.
    pub fn step(&mut self) {
        self.cycle += 1;
        self.to = self.port.cycle(self.from);
        if self.cycle > self.endpoint_starts {
            self.from = self.endpoint.cycle(self.to);
        }
        if let Some(monitor) = &mut self.monitor {
            monitor.watch(&self.from, &self.to);
        }
    }

    /// So many cycles.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
    }

    /// Until something is so, which has to be within so many cycles. Says how many it took.
    pub fn until(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> u64 {
        for passed in 0..cycles {
            if done(self) {
                return passed;
            }
            self.step();
        }
        panic!("not within {cycles} cycles: {:?} and {:?}", self.port.state(), self.endpoint.side.state());
    }

    /// Both data link layers are active.
    pub fn is_active(&self) -> bool {
        self.port.is_active() && self.endpoint.side.is_active()
    }

    /// With a monitor for quick times; what the root port sends is checked or not.
    pub fn watched(mut self, root: bool) -> Self {
        let options = MonitorOptions {
            polling_sets: 64,
            root,
            generation: self.generation,
            ..MonitorOptions::default()
        };
        self.monitor = Some(Monitor::new(options));
        self
    }

    /// What the monitor counted.
    pub fn broken(&self) -> Vec<(Party, Rule)> {
        self.monitor.iter().flat_map(|monitor| monitor.counts().keys().copied()).collect()
    }

    /// The monitor has seen nothing wrong.
    pub fn assert_silent(&self) {
        let Some(monitor) = &self.monitor else { panic!("nobody looks on") };
        let first: Vec<_> = monitor.violations().iter().take(8).map(ToString::to_string).collect();
        assert!(monitor.counts().is_empty(), "{:?}\n{}", monitor.counts(), first.join("\n"));
    }

    /// Trains from power-up.
    pub fn train(&mut self) -> u64 {
        self.until(20_000_000, |pair| pair.is_active())
    }

    /// Both states.
    pub fn states(&self) -> (State, State) {
        (self.port.state(), self.endpoint.side.state())
    }
}

/// Options of a healthy pair.
pub fn options(seed: u64) -> (PortOptions, Options) {
    let mut port = PortOptions::new(seed);
    port.side.times = quick();
    let mut endpoint = Options::new(Role::Upstream, seed.wrapping_add(1000));
    endpoint.times = quick();
    (port, endpoint)
}

/// A random TLP with its number in it.
pub fn random_tlp(random: &mut ChaCha8Rng, number: u32, max_payload: u32) -> Tlp {
    let (kind, data) = match random.random_range(0..7) {
        0 | 1 => ([0x40, 0x60][random.random_range(0..2_usize)], true),
        2 => ([0x00, 0x20][random.random_range(0..2_usize)], false),
        3 => (0x4A, true),
        4 => (0x0A, false),
        5 => (0x74, true),
        _ => (0x44, true),
    };
    let length: u32 = match kind {
        0x44 => 1,
        _ if data => random.random_range(1..=max_payload / 4),
        _ => random.random_range(1..=1023),
    };
    let mut tlp = vec![kind << 24 | length, random.random(), number];
    if kind & 0x20 != 0 {
        tlp.push(random.random());
    }
    if data {
        tlp.extend((0..length).map(|_| random.random::<u32>()));
    }
    tlp
}

/// TLPs one way: what was sent and has not come, by class.
#[derive(Default)]
pub struct Stream {
    pub sent: u32,
    pub came: u32,
    expected: [VecDeque<Tlp>; 3],
    /// Number of the last posted TLP that came.
    posted: u32,
}

impl Stream {
    fn send(&mut self, tlp: &Tlp) {
        self.sent += 1;
        self.expected[Class::of(tlp[0]).index()].push_back(tlp.clone());
    }

    /// A TLP has come: it is the next one of its class, and no posted one is missing before it.
    fn came(&mut self, tlp: Tlp) {
        self.came += 1;
        let class = Class::of(tlp[0]);
        assert_eq!(self.expected[class.index()].pop_front().as_ref(), Some(&tlp), "TLP {}", self.came);
        if let Some(posted) = self.expected[0].front().filter(|_| class != Class::Posted) {
            assert!(tlp[2] < posted[2], "a TLP has passed a posted one");
        }
        self.posted = self.posted.max(tlp[2]);
    }
}

/// Random traffic both ways.
pub struct Traffic {
    random: ChaCha8Rng,
    max_payload: u32,
    /// TLPs each way.
    pub count: u32,
    pub down: Stream,
    pub up: Stream,
}

impl Traffic {
    pub fn new(seed: u64, count: u32, max_payload: u32) -> Self {
        println!("seed {seed}");
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { random, max_payload, count, down: Stream::default(), up: Stream::default() }
    }

    /// Sends and takes what it can in this cycle.
    pub fn step(&mut self, pair: &mut Pair) {
        if self.down.sent < self.count && pair.port.backlog() < 24 && pair.port.is_active() {
            let tlp = random_tlp(&mut self.random, self.down.sent + 1, self.max_payload);
            self.down.send(&tlp);
            pair.port.send(tlp).expect("the link is up");
        }
        if self.up.sent < self.count && pair.endpoint.side.backlog() < 24 && pair.endpoint.side.is_active() {
            let tlp = random_tlp(&mut self.random, self.up.sent + 1, self.max_payload);
            self.up.send(&tlp);
            pair.endpoint.side.send(tlp).expect("the link is up");
        }
        self.step_receive(pair);
    }

    /// Takes what has come.
    pub fn step_receive(&mut self, pair: &mut Pair) {
        while let Some(tlp) = pair.endpoint.side.receive() {
            self.down.came(tlp);
        }
        while let Some(tlp) = pair.port.receive() {
            self.up.came(tlp);
        }
    }

    /// Everything has come.
    pub fn is_done(&self) -> bool {
        self.down.came == self.count && self.up.came == self.count
    }

    /// Runs it to its end, within so many cycles, with something else in each cycle.
    pub fn run(&mut self, pair: &mut Pair, cycles: u64, mut each: impl FnMut(&mut Pair, u64)) -> u64 {
        for passed in 0..cycles {
            if self.is_done() {
                return passed;
            }
            self.step(pair);
            each(pair, passed);
            pair.step();
        }
        panic!(
            "{} and {} of {} within {cycles} cycles: {:?} {:?} {:?}",
            self.down.came,
            self.up.came,
            self.count,
            pair.states(),
            pair.port.counters(),
            pair.endpoint.side.counters()
        );
    }
}

/// The states that a side enters, in order.
#[derive(Default)]
pub struct Path(pub Vec<State>);

impl Path {
    pub fn push(&mut self, state: State) {
        if self.0.last() != Some(&state) {
            self.0.push(state);
        }
    }
}
