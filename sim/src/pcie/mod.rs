//! A NIC behind a PCI Express link: the endpoint's RTL between the NIC's and a root port, two symbols a cycle.
//!
//! ```text
//!   root complex ◄── beats ──►┌──────────┐◄─ TLPs ─►┌──────┐◄─ symbols ─►┌──────────┐◄── beats ──►┌─────┐
//!   cfg, credit, resets ─────►│ Platform │          │ Port │      │      │ Endpoint │── cfg ─────►│ Nic │
//!                             └──────────┘          └──────┘   Monitor   └──────────┘             └─────┘
//! ```
//!
//! To the root complex it looks as the NIC alone does ([`Nic`]): what would be side band there (configuration, resets) the [`Platform`]
//! says by configuration requests, as firmware and an operating system do. The monitor trusts neither side; what it finds counts as a
//! violation of the bus.

mod endpoint;
mod platform;
mod upward;

use std::io;

use viaduct_link::monitor::{Monitor, MonitorOptions};
use viaduct_link::port::{Port, PortOptions};
use viaduct_link::seam::FromEndpoint;

use crate::nic::{Nic, NicIn, NicOut};
use endpoint::Endpoint;
use platform::Platform;
use upward::Upward;

/// Cycles of the endpoint's clock after which nothing that has crossed an edge is under way in the endpoint any more.
const STILL: u64 = 512;
/// Cycles for a link to come up and for enumeration.
const TRAINING: u64 = 4_000_000;

/// How a link is simulated.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// The root port, and the damage between it and the endpoint.
    pub port: PortOptions,
    /// Cycles of the endpoint's clock to cycles of the NIC's: 1 to 1, or 7 to 6 as on a board.
    pub ratio: (u64, u64),
}

impl LinkOptions {
    /// A healthy link.
    pub fn new(seed: u64) -> Self {
        let mut port = PortOptions::new(seed);
        // The endpoint need not wait for a port that has power already.
        port.side.times.detect_quiet = 1000;
        Self { port, ratio: (1, 1) }
    }
}

/// A NIC and its endpoint.
pub struct PcieNic {
    nic: Box<dyn Nic>,
    endpoint: Endpoint,
    port: Port,
    monitor: Monitor,
    from: FromEndpoint,
    platform: Platform,
    upward: Upward,
    /// Packets of the root complex's that wait for the platform or have not come whole.
    downward: Vec<u32>,
    held: Vec<Vec<u32>>,
    ratio: (u64, u64),
    /// How far the endpoint's clock is ahead, in `ratio.1`-ths of its cycle.
    phase: u64,
    /// Cycles of the endpoint's clock since something crossed an edge.
    still: u64,
    seen: usize,
}

impl PcieNic {
    /// Trains the link and enumerates the function; the NIC stands still meanwhile.
    ///
    /// # Errors
    /// The endpoint's Verilog cannot be compiled, or the link does not come up.
    pub fn new(nic: Box<dyn Nic>, seed: u64, options: LinkOptions) -> io::Result<Self> {
        let polling_sets = options.port.side.times.polling_sets;
        let mut this = Self {
            nic,
            endpoint: Endpoint::new(seed)?,
            port: Port::new(options.port),
            monitor: Monitor::new(MonitorOptions { polling_sets, ..MonitorOptions::default() }),
            from: FromEndpoint::default(),
            platform: Platform::new(),
            upward: Upward::default(),
            downward: Vec::new(),
            held: Vec::new(),
            ratio: options.ratio,
            phase: seed % options.ratio.1.max(1),
            still: 0,
            seen: 0,
        };
        for _ in 0..TRAINING {
            this.symbols();
            this.endpoint.core_edge(&NicOut { tlp_rx_np_ready: true, ..NicOut::default() });
            if this.platform.is_ready() {
                return Ok(this);
            }
        }
        Err(io::Error::other(format!(
            "the PCI Express link does not come up: the port is in {:?}, the endpoint in state {}",
            this.port.state(),
            this.endpoint.state()
        )))
    }

    /// A cycle of the link.
    fn symbols(&mut self) {
        let to = self.port.cycle(self.from);
        self.monitor.watch(&self.from, &to);
        self.from = self.endpoint.pclk_edge(&to);
        self.still += 1;
        while let Some(tlp) = self.port.receive() {
            self.still = 0;
            if let Some(tlp) = self.platform.hear(tlp) {
                self.upward.push(tlp);
            }
        }
        if !self.port.is_active() {
            self.platform.link_is_down();
            return;
        }
        while let Some(tlp) = self.platform.next() {
            self.send(tlp);
        }
        if self.platform.is_ready() {
            for tlp in std::mem::take(&mut self.held) {
                self.send(tlp);
            }
        }
    }

    fn send(&mut self, tlp: Vec<u32>) {
        self.still = 0;
        if let Err(refused) = self.port.send(tlp) {
            tracing::error!(%refused, "a packet of the host's is lost");
        }
    }

    /// A beat of the root complex's.
    fn take(&mut self, input: &NicIn) {
        self.downward.push(input.tlp_rx_data as u32);
        if input.tlp_rx_keep == 0b11 {
            self.downward.push((input.tlp_rx_data >> 32) as u32);
        }
        if input.tlp_rx_last {
            let tlp = std::mem::take(&mut self.downward);
            self.held.push(tlp);
        }
    }

    /// The rules that the monitor has found broken since the last look.
    fn look(&mut self, output: &mut NicOut) {
        let _ = output;
        for violation in self.monitor.violations().iter().skip(self.seen) {
            tracing::error!(?violation, "a rule of the link is broken");
        }
        self.seen = self.monitor.violations().len();
    }
}

impl Nic for PcieNic {
    fn cycle(&mut self, input: &NicIn, output: &mut NicOut) {
        if input.tlp_rx_valid {
            self.take(input);
        }
        if self.platform.wish(input) {
            self.port.hot_reset();
            self.held.clear();
            self.downward.clear();
            self.upward.clear();
        }
        let mut inner = *input;
        self.endpoint.drive(&mut inner);
        let mut shown = NicOut::default();
        self.nic.cycle(&inner, &mut shown);
        if shown.tlp_tx_valid || inner.tlp_rx_valid {
            self.still = 0;
        }
        self.platform.observe(&shown);
        self.endpoint.core_edge(&shown);
        self.phase += self.ratio.0;
        while self.phase >= self.ratio.1 {
            self.phase -= self.ratio.1;
            self.symbols();
        }
        *output = shown;
        output.tlp_rx_np_ready = true;
        output.function_reset_done = self.platform.function_reset_done();
        self.upward.present(input, output);
        output.idle = shown.idle
            && self.platform.is_idle()
            && self.held.is_empty()
            && self.upward.is_empty()
            && self.still > STILL
            && self.port.idle().is_some();
        self.look(output);
    }
}
