//! Starts the transmit side of the DCU: its PLL, then its PCS.
//!
//! ```text
//!       run ──►┌─────────┐──► pll_reset
//!  unlocked ──►│ TxStart │──► pcs_reset
//!              └─────────┘──► ready
//! ```
//! Contract: both resets are high for 1024 cycles. Then the PLL may lock. When it has been locked for 65 536 cycles the PCS leaves its
//! reset, and 64 cycles later `ready` rises. `run` low, or an `unlocked` PLL later on, begins anew.
//!
//! Latency: 66 624 cycles from `run` to `ready` at the least; at 100 MHz 0.67 ms.
//!
//! Example: the host takes PERST# away, and its clock has been there for 100 us: `ready` comes after 0.67 ms, and the host waits 100 ms.
//!
//! Tests: `tests/pcie/phy/tx_start.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TxStart {
    /// Rising edge; a clock that is there before the DCU's is.
    pub clock: Signal<In, Clock>,
    /// The DCU is to run, from the slot.
    pub run: Signal<In, bool>,
    /// The PLL has not locked, from the DCU.
    pub unlocked: Signal<In, bool>,
    /// Reset of the PLL, to the DCU.
    pub pll_reset: Signal<Out, bool>,
    /// Reset of the PCS, to the DCU.
    pub pcs_reset: Signal<Out, bool>,
    /// The transmit side runs.
    pub ready: Signal<Out, bool>,
    /// Cycles in the step under way.
    count: DFF<Bits<17>>,
    /// The PLL is out of its reset.
    released: DFF<bool>,
    /// The PCS is, too.
    locked: DFF<bool>,
    runs: DFF<bool>,
    hold: Number<17, 1024>,
    lock: Number<17, 65_536>,
    settle: Number<17, 64>,
}

impl Logic for TxStart {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count, released, locked, runs);
        self.count.d.next = self.count.q.val() + 1;
        if !self.released.q.val() {
            if self.count.q.val() == self.hold.val() {
                self.released.d.next = true;
                self.count.d.next = bits::<17>(0);
            }
        } else if !self.locked.q.val() {
            if self.unlocked.val() {
                self.count.d.next = bits::<17>(0);
            } else if self.count.q.val() == self.lock.val() {
                self.locked.d.next = true;
                self.count.d.next = bits::<17>(0);
            }
        } else if self.count.q.val() == self.settle.val() {
            self.runs.d.next = true;
            self.count.d.next = self.count.q.val();
        }
        if !self.run.val() | (self.locked.q.val() & self.unlocked.val()) {
            self.count.d.next = bits::<17>(0);
            self.released.d.next = false;
            self.locked.d.next = false;
            self.runs.d.next = false;
        }
        self.pll_reset.next = !self.released.q.val();
        self.pcs_reset.next = !self.locked.q.val();
        drive!(self, runs.q => ready);
    }
}
