//! The two ends of a link and the monitor between them, and how the link's clock runs beside the core's.

use std::{fmt, io};

use viaduct_link::link::{Counters, Refused};
use viaduct_link::monitor::{Monitor, MonitorOptions};
use viaduct_link::port::Port;
use viaduct_link::seam::FromEndpoint;
use viaduct_link::tlp::Tlp;

use super::endpoint::Endpoint;
use super::options::Options;
use super::LATENCY;
use crate::nic::{NicIn, NicOut};
use crate::root_complex::Limits;

/// Cycles of the link without a packet at any edge after which nothing is under way, whatever was counted: longer than four replays by
/// time-out and a Recovery. The endpoint answers some requests itself, so that the core never sees them.
const STILL: u64 = 16_384;

/// See the module's description.
pub struct Lane {
    endpoint: Endpoint,
    port: Port,
    monitor: Monitor,
    from: FromEndpoint,
    ratio: (u32, u32),
    /// How far the link's clock is ahead, in `ratio.1`-ths of its cycle.
    phase: u32,
    /// The link's edges lie before the core's in a cycle of the core's, or behind.
    side: usize,
    /// Max_Payload_Size of the root port, and cycles until a lesser one is taken up.
    payload: (u32, u64),
    /// Packets sent to the core less those that it has seen, and packets of the core's less those that were heard.
    to_core: i64,
    from_core: i64,
    /// Cycles of the link since a packet crossed an edge.
    still: u64,
    /// Violations of the monitor's that have been looked at.
    seen: usize,
}

impl Lane {
    /// After power-up.
    ///
    /// # Errors
    /// The endpoint's mutant cannot be compiled.
    pub fn new(seed: u64, options: &Options, credits: &Limits) -> io::Result<Self> {
        let port = options.port(seed, credits);
        let (fast, slow) = options.ratio;
        if slow == 0 || fast < slow || fast > 2 * slow {
            return Err(io::Error::other(format!(
                "clocks of {fast} to {slow}: from 1 to 1 to 2 to 1 there are"
            )));
        }
        let monitor = MonitorOptions {
            max_payload: port.side.link.max_payload,
            polling_sets: port.side.times.polling_sets,
            generation: port.side.generation,
            // Neither what the wire does to the port's symbols nor what the port is told to do is its fault.
            root: options.shows_the_root_port(),
        };
        Ok(Self {
            endpoint: Endpoint::new(seed)?,
            payload: (port.side.link.max_payload, 0),
            port: Port::new(port),
            monitor: Monitor::new(monitor),
            from: FromEndpoint::default(),
            ratio: (fast, slow),
            phase: (seed >> 1) as u32 % slow,
            side: (seed & 1) as usize,
            to_core: 0,
            from_core: 0,
            still: 0,
            seen: 0,
        })
    }

    /// How many cycles of the link are before (0) or behind (1) the core's edge of this cycle.
    pub fn due(&mut self, side: usize) -> u32 {
        if side != self.side {
            return 0;
        }
        self.phase += self.ratio.0;
        let due = self.phase / self.ratio.1;
        self.phase %= self.ratio.1;
        due
    }

    /// A cycle of the link, for a function that may have taken up this Max_Payload_Size.
    pub fn cycle(&mut self, max_payload: u32) {
        self.follow(max_payload);
        let to = self.port.cycle(self.from);
        if to.phy_ready {
            self.monitor.watch(&self.from, &to);
        }
        self.from = self.endpoint.pclk_edge(&to);
        self.still += 1;
        if !self.port.is_active() {
            while self.port.receive().is_some() {}
            (self.to_core, self.from_core) = (0, 0);
        }
    }

    /// The port has the function's Max_Payload_Size. A lesser one counts later: what was cut before is on its way.
    fn follow(&mut self, max_payload: u32) {
        let (now, wait) = &mut self.payload;
        if max_payload == *now {
            *wait = LATENCY;
            return;
        }
        if max_payload < *now && self.port.is_active() && *wait > 0 {
            *wait -= 1;
            return;
        }
        *now = max_payload;
        self.port.set_max_payload(max_payload);
        self.monitor.set_max_payload(max_payload);
    }

    /// TLPs may pass.
    pub fn is_active(&self) -> bool {
        self.port.is_active()
    }

    /// Queues a TLP to the endpoint, for the core or not.
    pub fn send(&mut self, tlp: Tlp, to_core: bool) -> Result<(), Refused> {
        self.still = 0;
        self.to_core += i64::from(to_core);
        self.port.send(tlp)
    }

    /// Takes a TLP of the endpoint's.
    pub fn receive(&mut self) -> Option<Tlp> {
        let tlp = self.port.receive()?;
        self.still = 0;
        Some(tlp)
    }

    /// A TLP that was received is the core's.
    pub fn note_heard(&mut self) {
        self.from_core -= 1;
    }

    /// What crosses the core's edge in this cycle.
    pub fn note_core(&mut self, input: &NicIn, output: &NicOut) {
        if input.link_down {
            return;
        }
        let down = input.tlp_rx_valid && input.tlp_rx_last;
        let up = output.tlp_tx_valid && input.tlp_tx_ready && output.tlp_tx_last;
        self.to_core -= i64::from(down);
        self.from_core += i64::from(up);
        if input.tlp_rx_valid || output.tlp_tx_valid {
            self.still = 0;
        }
    }

    /// Retrains the link: Recovery.
    pub fn retrain(&mut self) {
        self.port.retrain();
    }

    /// Starts a hot reset.
    pub fn hot_reset(&mut self) {
        self.port.hot_reset();
    }

    /// Sets the NIC's inputs: see [`Endpoint::drive`].
    pub fn drive(&self, input: &mut NicIn) {
        self.endpoint.drive(input);
    }

    /// A rising edge of the core's clock with what the NIC did in this cycle.
    pub fn core_edge(&mut self, output: &NicOut) {
        self.endpoint.core_edge(output);
    }

    /// Packets on their way to the core.
    pub fn to_core(&self) -> usize {
        match self.still < STILL {
            true => self.to_core.max(0) as usize,
            false => 0,
        }
    }

    /// No packet of the core's is on its way.
    pub fn has_all_of_the_core(&self) -> bool {
        self.from_core <= 0 || self.still >= STILL
    }

    /// Nothing is under way, and nothing but SKP and UpdateFC is due: both ends may stop together.
    pub fn is_idle(&self) -> bool {
        let nothing = self.to_core <= 0 && self.from_core <= 0 || self.still >= STILL;
        nothing && self.port.idle().is_some()
    }

    /// What the root port has seen and done.
    pub fn counters(&self) -> Counters {
        self.port.counters()
    }

    /// What the monitor has found since the last look.
    pub fn take_wrong(&mut self) -> Vec<String> {
        let found = self.monitor.violations();
        let new = found[self.seen..].iter().map(|violation| format!("on the link: {violation}")).collect();
        self.seen = found.len();
        new
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (port, state) = (self.port.state(), self.endpoint.state());
        write!(f, "the root port is in {port:?}, the endpoint's LTSSM shows {state:#x}")?;
        if self.endpoint.link_down() {
            write!(f, ", and the core is held in reset")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From each phase, and with the link's edges on either side of the core's: after any number of the core's cycles the link has had its share of
    /// them, and not one more.
    #[test]
    fn the_link_runs_in_its_ratio_to_the_core_from_each_phase() {
        for ratio in [(1, 1), (5, 4), (2, 1)] {
            let (fast, slow) = (u64::from(ratio.0), u64::from(ratio.1));
            for seed in 0..2 * slow {
                let options = Options { ratio, ..Options::default() };
                let mut lane = Lane::new(seed, &options, &Limits::default()).unwrap();
                let (side, phase) = ((seed & 1) as usize, seed / 2);
                let mut passed = 0;
                for cycle in 1..=100 {
                    let due = [0, 1].map(|side| u64::from(lane.due(side)));
                    assert_eq!(due[1 - side], 0, "{ratio:?}, seed {seed}: on both sides of an edge");
                    passed += due[side];
                    assert_eq!(
                        passed,
                        (phase + fast * cycle) / slow,
                        "{ratio:?}, seed {seed}, {cycle} cycles"
                    );
                }
            }
        }
    }
}
