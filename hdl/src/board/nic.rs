//! The card on a board: the transceiver at the slot, the endpoint, the NIC, its MAC at the pins of a PHY; lights, and a trace on a serial line.
//!
//! ```text
//!      clock_in ──►┌──────────┐◄─► phy_*
//!  lane, perst_n ◄─►│ NicBoard │──► lights, trace
//!                  └──────────┘
//! ```
//! Contract: docs/boards.md. While `perst_n` is low the transceiver and the endpoint are in reset, and so is the core, by `link_down`.
//! Management of the PHY is left alone.
//!
//! Latency: none; wires, clocks and resets.
//!
//! Example: the slot has power: the core's clock is `Pll`'s of 100 MHz, the endpoint's is the transceiver's of 125, and the MAC sends by
//! `Pll`'s of 125.
//!
//! The core runs at 100 MHz and not at 125: three placements of three are then fast enough (docs/boards.md).
//!
//! Tests: what is inside has its own; this is built by `viaduct-export board`.

use super::trace::TlpTrace;
use super::{BoardOptions, Card, Lights, Pll, Start, Wiring};
use crate::mac::RgmiiPads;
use crate::pcie::bus::TlpWord;
use crate::pcie::phy::PciePhy;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Cycles of 125 MHz in a bit of 115 200 baud.
const BAUD: u64 = 1085;

/// See the module's description. `INVERTED`: lights that are on while their pins are low.
#[derive(LogicBlock)]
pub struct NicBoard<const INVERTED: u64> {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// The PHY's clock.
    pub phy_rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub phy: RgmiiPads,
    /// Reset of the PHY; low: the PHY is reset.
    pub phy_reset_n: Signal<Out, bool>,
    /// PERST# of the slot; low: the host holds the card in reset.
    pub perst_n: Signal<In, bool>,
    /// The reference clock of the slot, 100 MHz.
    pub reference_p: Signal<In, Clock>,
    /// The negative pad of the reference clock, from the slot.
    pub reference_n: Signal<In, Clock>,
    /// The lane from the host.
    pub lane_rx_p: Signal<In, bool>,
    /// The negative pad of the lane from the host.
    pub lane_rx_n: Signal<In, bool>,
    /// The lane to the host.
    pub lane_tx_p: Signal<Out, bool>,
    /// The negative pad of that pair.
    pub lane_tx_n: Signal<Out, bool>,
    /// See [`Lights`].
    pub lights: Signal<Out, Bits<8>>,
    /// See [`TlpTrace`].
    pub trace: Signal<Out, bool>,
    pll: Pll,
    start: Start,
    card: Card,
    transceiver: PciePhy,
    signs: Lights<INVERTED>,
    tracer: TlpTrace,
}

impl<const INVERTED: u64> NicBoard<INVERTED> {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring, options: BoardOptions) -> Self {
        let BoardOptions { no_scramble, ignore_detect, dcu } = options;
        Self {
            clock_in: Default::default(),
            phy_rx_clock: Default::default(),
            phy: Default::default(),
            phy_reset_n: Default::default(),
            perst_n: Default::default(),
            reference_p: Default::default(),
            reference_n: Default::default(),
            lane_rx_p: Default::default(),
            lane_rx_n: Default::default(),
            lane_tx_p: Default::default(),
            lane_tx_n: Default::default(),
            lights: Default::default(),
            trace: Default::default(),
            pll: Pll::new(wiring.oscillator),
            start: Default::default(),
            transceiver: PciePhy::new(dcu),
            card: Card::new(no_scramble, ignore_detect, wiring.tx_steps, wiring.rx_steps),
            signs: Default::default(),
            tracer: TlpTrace::new(BAUD),
        }
    }
}

impl<const INVERTED: u64> Logic for NicBoard<INVERTED> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        // Clocks and resets.
        drive!(self, clock_in => pll.clock_in; pll.core_clock_out => start.clock, card.clock, transceiver.clock;
            pll.clock_out => card.tx_clock; phy_rx_clock => card.rx_clock;
            transceiver.pclk => card.pclk, signs.clock, tracer.clock; pll.locked => start.locked;
            start.core_reset => card.reset; start.phy_reset_n => phy_reset_n; perst_n => transceiver.run);

        // The slot.
        drive!(self, reference_p => transceiver.reference_p; reference_n => transceiver.reference_n;
            lane_rx_p => transceiver.rx_p; lane_rx_n => transceiver.rx_n; transceiver.tx_p => lane_tx_p;
            transceiver.tx_n => lane_tx_n);

        // The seam.
        drive!(self, transceiver.seam.phy_ready => card.phy_ready; transceiver.seam.rx_data => card.rx_data;
            transceiver.seam.rx_k => card.rx_k; transceiver.seam.rx_error => card.rx_error;
            transceiver.seam.rx_idle => card.rx_idle; card.rx_invert => transceiver.seam.rx_invert;
            card.tx_data => transceiver.seam.tx_data; card.tx_k => transceiver.seam.tx_k;
            card.tx_idle => transceiver.seam.tx_idle; card.detect_request => transceiver.seam.detect_request;
            transceiver.seam.detect_done => card.detect_done;
            transceiver.seam.detect_present => card.detect_present);

        // What a person sees of it.
        drive!(self, card.ltssm_state => signs.state; card.ltssm_deepest => signs.deepest;
            transceiver.rx_ready => signs.rx_ready; signs.lights => lights; tracer.line => trace);
        join!(self, FlowSource<TlpWord>, card.watch_in => tracer.came);
        join!(self, FlowSource<TlpWord>, card.watch_out => tracer.went);

        // Ethernet.
        RgmiiPads::link(&mut self.phy, &mut self.card.pads);
    }
}
