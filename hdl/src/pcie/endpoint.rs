//! The whole endpoint: from the symbol seam to the TLP edge of the core.
//!
//! ```text
//!                          pclk                                 │  clock
//!              ┌─────┐ symbols ┌──────┐ arrived ┌─────────────┐ │ ┌──────────┐──► tlp_rx
//!   rx_*   ───►│     ├────────►│      ├────────►│             ├─┼►│          │◄── tlp_rx_np_ready
//!   tx_*   ◄───│ mac │  line   │ link │ offered │ transaction │ │ │ crossing │◄── tlp_tx
//! detect_* ◄──►│     │◄────────┤      │◄────────┤             │◄┼─┤          │──► credit, cfg, link_down
//!              └─────┘         └──────┘         └─────────────┘ │ └──────────┘◄── function_reset_done
//!      ltssm_* ◄─┘                  └─► watch_in, watch_out
//! ```
//! Contract: docs/pcie.md, "The symbol seam" for the left side, docs/bring-up.md, "The ports of the top", for the right one. While `phy_ready`
//! is low everything in the domain of `pclk` is in reset, and `link_down` is high. `clock` is at least half as fast as `pclk`.
//!
//! Latency: the sum of its layers'.
//!
//! Example: the transceiver shows `phy_ready`, the root port trains the link, and `link_down` falls. A configuration request of the host's
//! is answered here; a store into BAR 0 comes out of `tlp_rx`.
//!
//! Tests: `tests/pcie/endpoint/`; each layer has its own, and `--link pcie` of the simulator puts it before the NIC.

use super::bus::{LineWord, Symbols, TlpWord};
use super::crossing::PcieCrossing;
use super::link::PcieLink;
use super::mac::PcieMac;
use super::transaction::PcieTransaction;
use crate::edge::{ConfigSource, TlpCreditsSource, TlpRxSource, TlpTxSink};
use crate::stream::{FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct PcieEndpoint {
    /// Rising edge, 125 MHz: the transceiver's clock.
    pub pclk: Signal<In, Clock>,
    /// The transceiver runs; until then nothing of the seam means anything.
    pub phy_ready: Signal<In, bool>,
    /// Two symbols received, the first one in the low byte.
    pub rx_data: Signal<In, Bits<16>>,
    /// Which of them are K.
    pub rx_k: Signal<In, Bits<2>>,
    /// Which of them are damaged: value and K mean nothing.
    pub rx_error: Signal<In, Bits<2>>,
    /// Electrical idle, not filtered.
    pub rx_idle: Signal<In, bool>,
    /// The lane's polarity is to be inverted.
    pub rx_invert: Signal<Out, bool>,
    /// Two symbols to send, the first one in the low byte.
    pub tx_data: Signal<Out, Bits<16>>,
    /// Which of them are K.
    pub tx_k: Signal<Out, Bits<2>>,
    /// Electrical idle in place of both symbols.
    pub tx_idle: Signal<Out, bool>,
    /// Look for a receiver; it holds until `detect_done`.
    pub detect_request: Signal<Out, bool>,
    /// The look has ended.
    pub detect_done: Signal<In, bool>,
    /// There is a receiver; it counts with `detect_done`.
    pub detect_present: Signal<In, bool>,
    /// The state of the LTSSM, for lights: [`codes`](super::mac::state::codes).
    pub ltssm_state: Signal<Out, Bits<5>>,
    /// How far training has come since `phy_ready`, for lights.
    pub ltssm_deepest: Signal<Out, Bits<5>>,
    /// Rising edge; the core's clock.
    pub clock: Signal<In, Clock>,
    /// Packets from the host, for the core.
    pub tlp_rx: TlpRxSource,
    /// From the core: there is room for a non-posted request.
    pub tlp_rx_np_ready: Signal<In, bool>,
    /// Packets of the core's, to the host.
    pub tlp_tx: TlpTxSink,
    /// How much the core may send now.
    pub credit: TlpCreditsSource,
    /// The function's configuration space, as far as the core looks at it.
    pub cfg: ConfigSource,
    /// From the core: its function-level reset is done.
    pub function_reset_done: Signal<In, bool>,
    /// The link is down, or in hot reset.
    pub link_down: Signal<Out, bool>,
    /// The TLPs that come, as they do: for traces.
    pub watch_in: FlowSource<TlpWord>,
    /// The TLPs that go, in the cycles in which their words move: for traces.
    pub watch_out: FlowSource<TlpWord>,
    mac: PcieMac,
    link: PcieLink,
    transaction: PcieTransaction,
    crossing: PcieCrossing,
    unready: Signal<Local, bool>,
}

impl PcieEndpoint {
    /// With the options of [`PcieMac`]: training sets that ask for no scrambling, and no receiver detection.
    pub fn new(no_scramble: bool, ignore_detect: bool) -> Self {
        Self {
            pclk: Default::default(),
            phy_ready: Default::default(),
            rx_data: Default::default(),
            rx_k: Default::default(),
            rx_error: Default::default(),
            rx_idle: Default::default(),
            rx_invert: Default::default(),
            tx_data: Default::default(),
            tx_k: Default::default(),
            tx_idle: Default::default(),
            detect_request: Default::default(),
            detect_done: Default::default(),
            detect_present: Default::default(),
            ltssm_state: Default::default(),
            ltssm_deepest: Default::default(),
            clock: Default::default(),
            tlp_rx: Default::default(),
            tlp_rx_np_ready: Default::default(),
            tlp_tx: Default::default(),
            credit: Default::default(),
            cfg: Default::default(),
            function_reset_done: Default::default(),
            link_down: Default::default(),
            watch_in: Default::default(),
            watch_out: Default::default(),
            mac: PcieMac::new(no_scramble, ignore_detect),
            link: Default::default(),
            transaction: Default::default(),
            crossing: Default::default(),
            unready: Default::default(),
        }
    }
}

impl Logic for PcieEndpoint {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, pclk, mac, link, transaction);
        self.unready.next = !self.phy_ready.val();
        drive!(self, pclk => crossing.pclk; clock => crossing.clock;
            unready => mac.reset, link.reset, transaction.reset);

        // The seam.
        drive!(self, phy_ready => mac.seam.phy_ready; rx_data => mac.seam.rx_data; rx_k => mac.seam.rx_k;
            rx_error => mac.seam.rx_error; rx_idle => mac.seam.rx_idle; mac.seam.rx_invert => rx_invert;
            mac.seam.tx_data => tx_data; mac.seam.tx_k => tx_k; mac.seam.tx_idle => tx_idle;
            mac.seam.detect_request => detect_request; detect_done => mac.seam.detect_done;
            detect_present => mac.seam.detect_present; mac.state => ltssm_state; mac.deepest => ltssm_deepest);

        // Between mac and link.
        join!(self, FlowSource<Symbols>, mac.symbols => link.symbols);
        join!(self, Source<LineWord>, link.line => mac.line);
        drive!(self, mac.link_up => link.link_up, transaction.link_up; mac.in_l0 => link.in_l0;
            mac.hot_reset => transaction.hot_reset; link.retrain => mac.retrain; link.sleep => mac.sleep;
            link.wake => mac.wake);

        // Between link and transaction.
        join!(self, FlowSource<TlpWord>, link.arrived => transaction.arrived);
        join!(self, Source<TlpWord>, transaction.offered => link.offered);
        drive!(self, link.active => transaction.active; link.limits => transaction.limits;
            transaction.freed => link.freed; transaction.max_payload => link.max_payload;
            transaction.enter_l1 => link.enter_l1; transaction.enter_l23 => link.enter_l23);

        // Between transaction and the core.
        drive!(self, transaction.to_core.valid => crossing.to_core.valid;
            transaction.to_core.data => crossing.to_core.data; crossing.read_freed => transaction.read_freed;
            transaction.core_limits => crossing.core_limits; transaction.core_config => crossing.core_config;
            transaction.core_reset => crossing.core_reset;
            crossing.function_reset_done => transaction.function_reset_done);
        join!(self, Source<TlpWord>, crossing.from_core => transaction.from_core);

        // Traces.
        drive!(self, link.arrived.valid => watch_in.valid; link.arrived.data => watch_in.data;
            transaction.offered.data => watch_out.data);
        self.watch_out.valid.next = self.transaction.offered.valid.val() & self.link.offered.ready.val();

        // The core.
        TlpRxSource::link(&mut self.tlp_rx, &mut self.crossing.tlp_rx);
        TlpTxSink::link(&mut self.tlp_tx, &mut self.crossing.tlp_tx);
        TlpCreditsSource::link(&mut self.credit, &mut self.crossing.credit);
        ConfigSource::link(&mut self.cfg, &mut self.crossing.cfg);
        drive!(self, tlp_rx_np_ready => crossing.tlp_rx_np_ready;
            function_reset_done => crossing.core_reset_done; crossing.link_down => link_down);
    }
}
