//! Drives the resets in the first milliseconds of a board: the core's until the clock is right, and the PHY's.
//!
//! ```text
//!  locked ──►┌───────┐──► core_reset
//!            │ Start │──► phy_reset_n
//!            └───────┘
//! ```
//! Contract: `core_reset` is high until 64 cycles after `locked`, `phy_reset_n` low until 2^21 cycles (17 ms at 125 MHz, 21 ms at 100 MHz; the PHYs want 10 ms) after it.
//! When `locked` falls, both begin anew. The MAC's line side has no reset; it stands still until the first frame.
//!
//! Latency: as above.
//!
//! Example: `locked` rises in cycle 0: `core_reset` falls about cycle 64, and `phy_reset_n` rises about cycle 2 097 152.
//!
//! Tests: `tests/mac/start.rs`.

use crate::clocks::Synchronizer;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Start {
    /// Rising edge: 100 MHz on a board with the NIC, 125 MHz on one with the echo.
    pub clock: Signal<In, Clock>,
    /// The clock is right, from [`Pll`](super::Pll).
    pub locked: Signal<In, bool>,
    /// The synchronous reset of the core, `Card` or `EchoBoard`.
    pub core_reset: Signal<Out, bool>,
    /// Reset of the PHY; low: the PHY is reset.
    pub phy_reset_n: Signal<Out, bool>,
    crossing: Synchronizer,
    /// Cycles since `locked`.
    count: DFF<Bits<22>>,
    /// The opposite of `core_reset`, so that the power-up state is reset.
    running: DFF<bool>,
    /// `phy_reset_n`.
    phy: DFF<bool>,
    few: Number<22, 64>,
}

impl Logic for Start {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count, running, phy);
        clock!(self, clock, crossing);
        drive!(self, locked => crossing.in_data; phy.q => phy_reset_n);
        if !self.count.q.val().get_bit(21) {
            self.count.d.next = self.count.q.val() + 1;
        }
        self.running.d.next = self.running.q.val() | (self.count.q.val() == self.few.val());
        self.phy.d.next = self.count.q.val().get_bit(21);
        if !self.crossing.out_data.val() {
            self.count.d.next = bits::<22>(0);
            self.running.d.next = false;
            self.phy.d.next = false;
        }
        self.core_reset.next = !self.running.q.val();
    }
}
