//! A top of a board whose PHY has no oscillator: it gets the board's.
//!
//! Contract: as [`EchoBoard`], and `phy_reference` is `clock_in`.
//!
//! Tests: as [`EchoBoard`].

use super::{EchoBoard, Wiring};
use rust_hdl::prelude::*;

/// See the module's description. `L` is the number of lights, on when their pins are high.
#[derive(LogicBlock, Default)]
pub struct WithReference<const L: usize> {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// The same, for the PHY.
    pub phy_reference: Signal<Out, Clock>,
    /// RGMII.
    pub phy_tx_clock: Signal<Out, Bits<1>>,
    /// RGMII.
    pub phy_tx_data: Signal<Out, Bits<4>>,
    /// RGMII.
    pub phy_tx_control: Signal<Out, Bits<1>>,
    /// RGMII.
    pub phy_rx_clock: Signal<In, Clock>,
    /// RGMII.
    pub phy_rx_data: Signal<In, Bits<4>>,
    /// RGMII.
    pub phy_rx_control: Signal<In, Bits<1>>,
    /// Management.
    pub phy_mdc: Signal<Out, bool>,
    /// Management.
    pub phy_mdio: Signal<InOut, Bits<1>>,
    /// Reset of the PHY.
    pub phy_reset_n: Signal<Out, bool>,
    /// Lights.
    pub lights: Signal<Out, Bits<L>>,
    board: EchoBoard<L, 0>,
}

impl<const L: usize> WithReference<L> {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring) -> Self {
        Self { board: EchoBoard::new(wiring), ..Self::default() }
    }
}

impl<const L: usize> Logic for WithReference<L> {
    #[hdl_gen]
    fn update(&mut self) {
        Signal::<InOut, Bits<1>>::link(&mut self.phy_mdio, &mut self.board.phy_mdio);
        self.phy_reference.next = self.clock_in.val();
        self.board.clock_in.next = self.clock_in.val();
        self.board.phy_rx_clock.next = self.phy_rx_clock.val();
        self.board.phy_rx_data.next = self.phy_rx_data.val();
        self.board.phy_rx_control.next = self.phy_rx_control.val();
        self.phy_tx_clock.next = self.board.phy_tx_clock.val();
        self.phy_tx_data.next = self.board.phy_tx_data.val();
        self.phy_tx_control.next = self.board.phy_tx_control.val();
        self.phy_mdc.next = self.board.phy_mdc.val();
        self.phy_reset_n.next = self.board.phy_reset_n.val();
        self.lights.next = self.board.lights.val();
    }
}
