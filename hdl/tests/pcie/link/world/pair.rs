//! The data link layer and a root port, with the mac between them and the monitor beside them.

use viaduct_link::ltssm::Times;
use viaduct_link::monitor::{Monitor, MonitorOptions};
use viaduct_link::port::{Port, PortOptions};
use viaduct_link::seam::{FromEndpoint, ToEndpoint};

use super::device::Device;
use super::mac::Mac;

/// Times for tests that are not about training.
fn quick() -> Times {
    Times { detect_quiet: 2000, polling_sets: 64, ..Times::default() }
}

/// Options of a healthy root port.
pub fn options(seed: u64) -> PortOptions {
    let mut port = PortOptions::new(seed);
    port.side.times = quick();
    port
}

/// See the module's description.
pub struct Pair {
    pub device: Device,
    pub mac: Mac,
    pub port: Port,
    pub monitor: Monitor,
    pub cycle: u64,
    from: FromEndpoint,
}

impl Pair {
    /// From power-up. The root port's side of the wire is only checked if it is not damaged.
    pub fn new(options: PortOptions, root: bool) -> Self {
        let seed = options.side.seed;
        let max_payload = options.side.link.max_payload;
        let monitor = MonitorOptions { polling_sets: 64, root, max_payload, ..MonitorOptions::default() };
        let mut pair = Self {
            device: Device::new(seed),
            mac: Mac::new(quick(), seed),
            port: Port::new(options),
            monitor: Monitor::new(monitor),
            cycle: 0,
            from: FromEndpoint::default(),
        };
        pair.device.max_payload = u64::from(max_payload.trailing_zeros() - 7);
        pair
    }

    /// A healthy pair that has trained.
    pub fn trained(seed: u64) -> Self {
        let mut pair = Self::new(options(seed), true);
        pair.train();
        pair
    }

    /// A cycle.
    pub fn step(&mut self) {
        self.cycle += 1;
        let to: ToEndpoint = self.port.cycle(self.from);
        self.from = self.mac.cycle(&to, &mut self.device);
        self.monitor.watch(&self.from, &to);
    }

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
        panic!(
            "not within {cycles} cycles: {:?} and {:?}, {:?}\n{}",
            self.port.state(),
            self.mac.ltssm.state(),
            self.port.counters(),
            self.first_violations()
        );
    }

    pub fn is_active(&self) -> bool {
        self.port.is_active() && self.device.is_active()
    }

    /// Until both are active.
    pub fn train(&mut self) -> u64 {
        self.until(20_000_000, |pair| pair.is_active())
    }

    pub fn first_violations(&self) -> String {
        let all = self.monitor.violations().iter().take(8).map(ToString::to_string);
        format!("{:?}\n{}", self.monitor.counts(), all.collect::<Vec<_>>().join("\n"))
    }

    /// The monitor has seen nothing wrong of the endpoint, nor of a root port that it checks.
    pub fn assert_silent(&self) {
        assert!(self.monitor.counts().is_empty(), "{}", self.first_violations());
    }
}
