//! `mac-echo` on a board whose PHY has no oscillator: it gets the board's.
//!
//! ```text
//!  clock_in ──►┌───────────────────┐◄─► phy_*
//!              │ EchoWithReference │──► phy_reference
//!              └───────────────────┘──► lights
//! ```
//! Contract: as [`EchoBoard`], and `phy_reference` is `clock_in`.
//!
//! Latency: none; wires.
//!
//! Example: `EchoWithReference::<4>` has four lights, each on while its pin is high.
//!
//! Tests: as [`EchoBoard`].

use super::{EchoBoard, Wiring};
use crate::mac::RgmiiPads;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `L` is the number of lights, on when their pins are high.
#[derive(LogicBlock, Default)]
pub struct EchoWithReference<const L: usize> {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// The oscillator's clock again, for the PHY.
    pub phy_reference: Signal<Out, Clock>,
    /// The PHY's clock.
    pub phy_rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub phy: RgmiiPads,
    /// The clock of the management bus.
    pub phy_mdc: Signal<Out, bool>,
    /// The data line of the management bus, to and from the PHY.
    pub phy_mdio: Signal<InOut, Bits<1>>,
    /// Reset of the PHY; low: the PHY is reset.
    pub phy_reset_n: Signal<Out, bool>,
    /// The lights, as [`EchoBoard`] has them.
    pub lights: Signal<Out, Bits<L>>,
    board: EchoBoard<L, 0>,
}

impl<const L: usize> EchoWithReference<L> {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring) -> Self {
        Self { board: EchoBoard::new(wiring), ..Self::default() }
    }
}

impl<const L: usize> Logic for EchoWithReference<L> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        Signal::<InOut, Bits<1>>::link(&mut self.phy_mdio, &mut self.board.phy_mdio);
        drive!(self, clock_in => phy_reference, board.clock_in; phy_rx_clock => board.phy_rx_clock;
            board.phy_mdc => phy_mdc; board.phy_reset_n => phy_reset_n; board.lights => lights);
        RgmiiPads::link(&mut self.phy, &mut self.board.phy);
    }
}
