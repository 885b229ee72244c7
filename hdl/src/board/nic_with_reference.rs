//! The card on a board whose PHY has no oscillator: it gets the board's.
//!
//! ```text
//!      clock_in ──►┌──────────────────┐◄─► phy_*
//!                  │ NicWithReference │──► phy_reference
//!  lane, perst_n ◄─►└──────────────────┘──► lights, trace
//! ```
//! Contract: as [`NicBoard`], and `phy_reference` is `clock_in`.
//!
//! Latency: none; wires.
//!
//! Example: the ULX4M-LD has an oscillator of 25 MHz, and leads it to the pin of its PHY's clock.
//!
//! Tests: as [`NicBoard`].

use super::{BoardOptions, NicBoard, Wiring};
use crate::mac::RgmiiPads;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `INVERTED`: lights that are on while their pins are low.
#[derive(LogicBlock)]
pub struct NicWithReference<const INVERTED: u64> {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// The oscillator's clock again, for the PHY.
    pub phy_reference: Signal<Out, Clock>,
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
    /// See [`super::Lights`].
    pub lights: Signal<Out, Bits<8>>,
    /// See [`super::trace::TlpTrace`].
    pub trace: Signal<Out, bool>,
    board: NicBoard<INVERTED>,
}

impl<const INVERTED: u64> NicWithReference<INVERTED> {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring, options: BoardOptions) -> Self {
        Self {
            clock_in: Default::default(),
            phy_reference: Default::default(),
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
            board: NicBoard::new(wiring, options),
        }
    }
}

impl<const INVERTED: u64> Logic for NicWithReference<INVERTED> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, clock_in => phy_reference, board.clock_in; phy_rx_clock => board.phy_rx_clock;
            board.phy_reset_n => phy_reset_n; perst_n => board.perst_n; reference_p => board.reference_p;
            reference_n => board.reference_n; lane_rx_p => board.lane_rx_p; lane_rx_n => board.lane_rx_n;
            board.lane_tx_p => lane_tx_p; board.lane_tx_n => lane_tx_n; board.lights => lights;
            board.trace => trace);
        RgmiiPads::link(&mut self.phy, &mut self.board.phy);
    }
}
