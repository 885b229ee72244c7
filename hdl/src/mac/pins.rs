//! The pins of a PHY, as ports: those of RGMII, and those of the management bus.
//!
//! A block that passes them on links them, `RgmiiPads::link(&mut self.pads, &mut self.rgmii.pads)`. The PHY's own clock is a port beside
//! them, since a clock is no part of an interface. In the exported Verilog a port `pads` is `pads_tx_clock`, `pads_tx_data` and so on; a
//! board's top calls it `phy`, for the names in its constraints.
//!
//! Latency: none; these are wires. Tests: `tests/mac/`.

#![allow(missing_docs, reason = "derive(LogicInterface) makes a method without documentation")]

use rust_hdl::prelude::*;

/// RGMII without the PHY's clock.
#[derive(Clone, Debug, Default, LogicInterface)]
pub struct RgmiiPads {
    /// The clock to the PHY.
    pub tx_clock: Signal<Out, Bits<1>>,
    /// Data to the PHY, four bits at each edge.
    pub tx_data: Signal<Out, Bits<4>>,
    /// Control to the PHY.
    pub tx_control: Signal<Out, Bits<1>>,
    /// Data from the PHY, four bits at each edge.
    pub rx_data: Signal<In, Bits<4>>,
    /// Control from the PHY.
    pub rx_control: Signal<In, Bits<1>>,
}

/// The management bus of a PHY: a clock, and one line that both sides drive in turn.
#[derive(Clone, Debug, Default, LogicInterface)]
pub struct ManagementBus {
    /// The clock.
    pub mdc: Signal<Out, bool>,
    /// The bit to the PHY.
    pub out_data: Signal<Out, bool>,
    /// The line shows `out_data`; otherwise it is the PHY's.
    pub enable: Signal<Out, bool>,
    /// The bit on the line; the board's pad drives it.
    pub in_data: Signal<In, bool>,
}
