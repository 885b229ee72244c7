//! The whole downstream port at the symbol seam, with the wires to and from the endpoint.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::damage::{Damage, Mischief, Wire};
use crate::link::{Counters, Refused};
use crate::ltssm::{Request, Role, State};
use crate::seam::{Cycle, FromEndpoint, Sent, ToEndpoint};
use crate::side::{Options, Side};
use crate::symbol::Symbol;
use crate::tlp::Tlp;

/// Receiver detection, at either end.
#[derive(Debug, Clone)]
struct Detector {
    cycles: Cycle,
    passed: Cycle,
}

impl Detector {
    fn new(cycles: Cycle) -> Self {
        Self { cycles, passed: 0 }
    }

    /// Detection has ended.
    fn tick(&mut self, request: bool) -> bool {
        self.passed = if request { self.passed + 1 } else { 0 };
        self.passed > self.cycles
    }
}

/// The port's clock beside the endpoint's.
#[derive(Debug, Clone)]
struct Drift {
    ppm: i32,
    /// Millionths of a cycle that the port is ahead by.
    ahead: i32,
}

impl Drift {
    const CYCLE: i32 = 1_000_000;

    /// The port's cycles in the endpoint's next one.
    fn cycles(&mut self) -> usize {
        self.ahead += self.ppm;
        let more = self.ahead / Self::CYCLE;
        self.ahead %= Self::CYCLE;
        (1 + more) as usize
    }
}

/// How the port and its surroundings are set up.
#[derive(Debug, Clone)]
pub struct PortOptions {
    /// The port.
    pub side: Options,
    /// Damage on the way to the endpoint.
    pub to_endpoint: Damage,
    /// Damage on the way from the endpoint.
    pub from_endpoint: Damage,
    /// By how many millionths the port's clock is faster than the endpoint's: 600 at most, either way. Then its time is counted in its own cycles.
    pub ppm: i32,
    /// Cycles that receiver detection takes.
    pub detection: Cycle,
    /// The endpoint's receiver is there for the port to detect.
    pub endpoint_present: bool,
    /// The port's receiver is there for the endpoint to detect.
    pub port_present: bool,
    /// The port has power from this cycle on.
    pub starts: Cycle,
    /// The endpoint's physical part has locked from this cycle on.
    pub locks: Cycle,
}

impl PortOptions {
    /// Healthy, with power.
    pub fn new(seed: u64) -> Self {
        Self {
            side: Options::new(Role::Downstream, seed),
            to_endpoint: Damage::default(),
            from_endpoint: Damage::default(),
            ppm: 0,
            detection: 1000,
            endpoint_present: true,
            port_present: true,
            starts: 0,
            locks: 0,
        }
    }
}

/// The downstream port.
#[derive(Debug, Clone)]
pub struct Port {
    side: Side,
    to_endpoint: Wire,
    from_endpoint: Wire,
    drift: Drift,
    own: Detector,
    other: Detector,
    endpoint_present: bool,
    port_present: bool,
    /// Cycles until it has power.
    wait: Cycle,
    /// Cycles until the endpoint's physical part has locked.
    unlocked: Cycle,
    /// What stands in the place of symbols that cannot be decoded: now and then it looks valid.
    junk: ChaCha8Rng,
}

impl Port {
    /// Before its first cycle.
    pub fn new(options: PortOptions) -> Self {
        let seed = options.side.seed;
        Self {
            to_endpoint: Wire::new(options.to_endpoint, seed ^ 1 << 62),
            from_endpoint: Wire::new(options.from_endpoint, seed ^ 1 << 63),
            side: Side::new(options.side),
            drift: Drift { ppm: options.ppm, ahead: 0 },
            own: Detector::new(options.detection),
            other: Detector::new(options.detection),
            endpoint_present: options.endpoint_present,
            port_present: options.port_present,
            wait: options.starts,
            unlocked: options.locks,
            junk: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// A cycle of the endpoint's, 8 ns: what the endpoint sends, and what it receives.
    pub fn cycle(&mut self, from: FromEndpoint) -> ToEndpoint {
        self.from_endpoint.enter(from.sent());
        for _ in 0..self.drift.cycles() {
            self.own_cycle();
        }
        let heard = self.to_endpoint.leave(from.rx_invert);
        self.unlocked = self.unlocked.saturating_sub(1);
        let done = self.other.tick(from.detect_request);
        let to = ToEndpoint {
            detect_done: done,
            detect_present: done && self.port_present && self.wait == 0,
            phy_ready: self.unlocked == 0,
            ..ToEndpoint::default()
        };
        let wrong = if heard.symbols.contains(&None) { self.wrong() } else { Symbol::IDLE };
        to.carry(heard, wrong)
    }

    /// A cycle of the port's.
    fn own_cycle(&mut self) {
        let heard = self.from_endpoint.leave(self.side.inverts());
        let sent = if self.wait > 0 {
            self.wait -= 1;
            Sent::SILENCE
        } else {
            let detected = self.own.tick(self.side.detects());
            self.side.step(heard, detected.then_some(self.endpoint_present))
        };
        self.to_endpoint.enter(sent);
    }

    /// The value of a symbol that cannot be decoded.
    fn wrong(&mut self) -> Symbol {
        match self.junk.random_range(0..4) {
            0 => Symbol::CONTROLS[self.junk.random_range(0..Symbol::CONTROLS.len())],
            // As the ECP5 shows it.
            1 => Symbol::control(0xEE),
            _ => Symbol::data(self.junk.random()),
        }
    }

    /// The port without its wires, to look at.
    pub fn side(&self) -> &Side {
        &self.side
    }

    /// The state of the LTSSM.
    pub fn state(&self) -> State {
        self.side.state()
    }

    /// LinkUp.
    pub fn link_up(&self) -> bool {
        self.side.link_up()
    }

    /// DL_Active: TLPs may pass.
    pub fn is_active(&self) -> bool {
        self.side.is_active()
    }

    /// Queues a TLP to the endpoint. It goes when the endpoint has given credits for it.
    pub fn send(&mut self, tlp: Tlp) -> Result<(), Refused> {
        self.side.send(tlp)
    }

    /// Takes a TLP of the endpoint's. Its credits are returned.
    pub fn receive(&mut self) -> Option<Tlp> {
        self.side.receive()
    }

    /// TLPs that are still to be sent or acknowledged.
    pub fn backlog(&self) -> usize {
        self.side.backlog()
    }

    /// What the data link layer has seen and done.
    pub fn counters(&self) -> Counters {
        self.side.counters()
    }

    /// Max_Payload_Size in bytes from now on.
    pub fn set_max_payload(&mut self, bytes: u32) {
        self.side.set_max_payload(bytes);
    }

    /// Hot reset, through Recovery: at once, or when the link is next in L0.
    pub fn hot_reset(&mut self) {
        self.side.direct(Request::HotReset);
    }

    /// Disables the link until [`Port::enable`].
    pub fn disable(&mut self) {
        self.side.direct(Request::Disable);
    }

    /// Lets the link train again.
    pub fn enable(&mut self) {
        self.side.enable();
    }

    /// Retrains the link: Recovery. It also wakes the link from L1.
    pub fn retrain(&mut self) {
        self.side.direct(Request::Retrain);
    }

    /// Configures the link anew, through Recovery: LinkUp stays, and nothing is lost.
    pub fn reconfigure(&mut self) {
        self.side.direct(Request::Reconfigure);
    }

    /// Nothing but SKP and UpdateFC is due, and in which of its cycles it is: see [`Side::idle`].
    pub fn idle(&self) -> Option<Cycle> {
        self.side.idle()
    }

    /// Whether each side finds the other one's receiver from now on.
    pub fn set_present(&mut self, endpoint: bool, port: bool) {
        (self.endpoint_present, self.port_present) = (endpoint, port);
    }

    /// Other damage from now on: to the endpoint, from the endpoint.
    pub fn set_damage(&mut self, to: Damage, from: Damage) {
        self.to_endpoint.set(to);
        self.from_endpoint.set(from);
    }

    /// Other mischief from now on.
    pub fn set_mischief(&mut self, mischief: Mischief) {
        self.side.set_mischief(mischief);
    }

    /// Electrical idle for so many cycles, whatever is sent: to the endpoint, from the endpoint.
    pub fn silence(&mut self, to: Cycle, from: Cycle) {
        self.to_endpoint.silence(to);
        self.from_endpoint.silence(from);
    }
}
