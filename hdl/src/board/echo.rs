//! The design `mac-echo` on a board: an [`Echo`] with clock, reset and lights.
//!
//! ```text
//!  clock_in ──►┌───────────┐◄─► phy_*
//!              │ EchoBoard │──► lights
//!              └───────────┘
//! ```
//! Contract: the ports are the names of the board's `.lpf`. One clock from the board's oscillator is the core's and the transmit
//! side's; the PHY's clock is the receive side's. Of the four lights (see [`Echo`]) a board with fewer shows the first.
//!
//! Latency: none; wires, clock and reset.
//!
//! Example: `EchoBoard::<4, 0xf>` has four lights, each on while its pin is low.
//!
//! Tests: what is inside has its own; this is built by `viaduct-export board`.

use super::{Pad, Pll, Start, Wiring, ADDRESS, STATION};
use crate::echo::{Echo, EchoLights};
use crate::mac::RgmiiPads;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `L` is the number of lights, 1 to 4; a light of a bit in `LOW` is on when its pin is low.
#[derive(LogicBlock, Default)]
pub struct EchoBoard<const L: usize, const LOW: u64> {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
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
    /// The lights: see [`EchoLights`].
    pub lights: Signal<Out, Bits<L>>,
    pll: Pll,
    start: Start,
    echo: Echo,
    mdio: Pad,
    lights_bits: Cast<EchoLights, Bits<4>>,
    level: Number<L, LOW>,
    station: Number<48, { STATION }>,
    address: Number<32, { ADDRESS }>,
}

impl<const L: usize, const LOW: u64> EchoBoard<L, LOW> {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring) -> Self {
        Self {
            pll: Pll::new(wiring.oscillator),
            echo: Echo::new(wiring.tx_steps, wiring.rx_steps),
            ..Self::default()
        }
    }
}

impl<const L: usize, const LOW: u64> Logic for EchoBoard<L, LOW> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        Signal::<InOut, Bits<1>>::link(&mut self.phy_mdio, &mut self.mdio.pad);
        drive!(self, clock_in => pll.clock_in; pll.clock_out => start.clock, echo.clock, echo.tx_clock;
            pll.locked => start.locked; phy_rx_clock => echo.rx_clock; start.core_reset => echo.reset;
            station => echo.station; address => echo.address; echo.bus.mdc => phy_mdc;
            echo.bus.enable => mdio.enable; echo.bus.out_data => mdio.out_data;
            mdio.in_data => echo.bus.in_data; start.phy_reset_n => phy_reset_n;
            echo.lights => lights_bits.from);
        RgmiiPads::link(&mut self.phy, &mut self.echo.pads);
        self.lights.next = bit_cast::<L, 4>(self.lights_bits.to.val()) ^ self.level.val();
    }
}
