//! Filters the level of electrical idle.
//!
//! ```text
//!   rx_idle, rx_error ──►┌────────────┐──► quiet
//!                        │ Electrical │
//!                        └────────────┘
//! ```
//! Contract: `quiet` changes when eight cycles in a row say so. A cycle says electrical idle if the level does and neither symbol is
//! valid: the level may glitch, and data that is good wins.
//!
//! Latency: 9 cycles from the first cycle of eight.
//!
//! Example: the level is high for seven cycles while nothing valid comes: `quiet` stays low. For eight: it rises.
//!
//! Tests: `tests/pcie/mac/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Electrical {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The lane is quiet from now on.
    pub reset: Signal<In, bool>,
    /// The level, from the seam.
    pub rx_idle: Signal<In, bool>,
    /// Which symbols are damaged, from the seam.
    pub rx_error: Signal<In, Bits<2>>,
    /// The lane is in electrical idle; for the LTSSM.
    pub quiet: Signal<Out, bool>,
    /// What this cycle says.
    says: DFF<bool>,
    is_quiet: DFF<bool>,
    /// Cycles in a row that said otherwise.
    against: DFF<Bits<3>>,
}

impl Logic for Electrical {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, says, is_quiet, against);
        drive!(self, is_quiet.q => quiet);
        self.says.d.next = self.rx_idle.val() & self.rx_error.val().all();
        self.against.d.next = self.against.q.val() + 1;
        if self.says.q.val() == self.is_quiet.q.val() {
            self.against.d.next = bits::<3>(0);
        } else if self.against.q.val() == bits::<3>(7) {
            self.is_quiet.d.next = self.says.q.val();
        }
        if self.reset.val() {
            self.is_quiet.d.next = true;
            self.says.d.next = true;
            self.against.d.next = bits::<3>(0);
        }
    }
}
