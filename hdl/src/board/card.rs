//! The whole card but its transceiver and its clocks: the endpoint, the NIC and its MAC.
//!
//! ```text
//!  rx_*, tx_*, detect_* ◄─►┌──────┐◄─► pads
//!                  pclk ──►│ Card │◄── rx_clock, tx_clock
//!               ltssm_* ◄──│      │◄── clock, reset
//!                          └──────┘──► watch_in, watch_out
//! ```
//! Contract: docs/pcie.md, "The symbol seam", for the host's side; docs/boards.md, "The MAC", for the PHY's. `clock` is 100 MHz, of any phase
//! to `pclk`: device time counts by it.
//!
//! Latency: the endpoint's, the NIC's and the MAC's; the wires between them have none.
//!
//! Example: a packet of the host's stores a doorbell; the frame of that send leaves at `pads`.
//!
//! Tests: the blocks have theirs; `cargo xtask export` writes it as card.v.

use super::{NicWithMac, Ticks};
use crate::edge::{ConfigSource, TlpCreditsSource, TlpRxSource, TlpTx};
use crate::mac::RgmiiPads;
use crate::pcie::bus::TlpWord;
use crate::pcie::PcieEndpoint;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Card {
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
    /// The state of the LTSSM, for lights: [`codes`](crate::pcie::mac::state::codes).
    pub ltssm_state: Signal<Out, Bits<5>>,
    /// How far training has come since `phy_ready`, for lights.
    pub ltssm_deepest: Signal<Out, Bits<5>>,
    /// The TLPs that come, for traces.
    pub watch_in: FlowSource<TlpWord>,
    /// The TLPs that go, for traces.
    pub watch_out: FlowSource<TlpWord>,
    /// Rising edge, 100 MHz: the core's clock.
    pub clock: Signal<In, Clock>,
    /// Power-up reset of the core and the MAC, synchronous to `clock`.
    pub reset: Signal<In, bool>,
    /// 125 MHz for Ethernet's transmit side.
    pub tx_clock: Signal<In, Clock>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub pads: RgmiiPads,
    // The core comes first, so that its modules have the names here that they have alone.
    nic: NicWithMac,
    endpoint: PcieEndpoint,
    ticks: Ticks,
}

impl Card {
    /// With the options of [`PcieEndpoint`], and so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(no_scramble: bool, ignore_detect: bool, tx_steps: u8, rx_steps: u8) -> Self {
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
            watch_in: Default::default(),
            watch_out: Default::default(),
            clock: Default::default(),
            reset: Default::default(),
            tx_clock: Default::default(),
            rx_clock: Default::default(),
            pads: Default::default(),
            nic: NicWithMac::new(tx_steps, rx_steps),
            endpoint: PcieEndpoint::new(no_scramble, ignore_detect),
            ticks: Default::default(),
        }
    }
}

impl Logic for Card {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, nic, endpoint, ticks);
        drive!(self, pclk => endpoint.pclk; tx_clock => nic.tx_clock; rx_clock => nic.rx_clock;
            reset => nic.reset; ticks.time_now => nic.time_now);

        // The seam.
        drive!(self, phy_ready => endpoint.phy_ready; rx_data => endpoint.rx_data; rx_k => endpoint.rx_k;
            rx_error => endpoint.rx_error; rx_idle => endpoint.rx_idle; endpoint.rx_invert => rx_invert;
            endpoint.tx_data => tx_data; endpoint.tx_k => tx_k; endpoint.tx_idle => tx_idle;
            endpoint.detect_request => detect_request; detect_done => endpoint.detect_done;
            detect_present => endpoint.detect_present; endpoint.ltssm_state => ltssm_state;
            endpoint.ltssm_deepest => ltssm_deepest);
        FlowSource::<TlpWord>::link(&mut self.watch_in, &mut self.endpoint.watch_in);
        FlowSource::<TlpWord>::link(&mut self.watch_out, &mut self.endpoint.watch_out);

        // The TLP edge.
        join!(self, TlpRxSource, endpoint.tlp_rx => nic.tlp_rx);
        join!(self, TlpTx, nic.tlp_tx => endpoint.tlp_tx);
        join!(self, TlpCreditsSource, endpoint.credit => nic.credit);
        join!(self, ConfigSource, endpoint.cfg => nic.cfg);
        drive!(self, nic.tlp_rx_np_ready => endpoint.tlp_rx_np_ready; endpoint.link_down => nic.link_down;
            nic.function_reset_done => endpoint.function_reset_done);

        // Ethernet.
        RgmiiPads::link(&mut self.pads, &mut self.nic.pads);
    }
}
