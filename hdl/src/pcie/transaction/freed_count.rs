//! Turns what frees non-posted credits into pulses, one a credit.
//!
//! ```text
//!   answered, read_freed ──►┌────────────┐──► freed
//!                           │ FreedCount │
//!                           └────────────┘
//! ```
//! Contract: one pulse for each of `answered` and `read_freed`, also when both come at once. Up to 15 may wait.
//!
//! Latency: 2 cycles, and one for each that waits.
//!
//! Example: both pulse in one cycle: `freed` is high for two.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use crate::stream::Pulse;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FreedCount {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what waits.
    pub reset: Signal<In, bool>,
    /// A request has left its queue; from `Completer`.
    pub answered: Signal<In, bool>,
    /// The core has taken a request up; over the crossing.
    pub read_freed: Signal<In, bool>,
    /// A credit is free again; to the link.
    pub freed: Pulse,
    waiting: DFF<Bits<4>>,
    gives: DFF<bool>,
    some: Signal<Local, bool>,
}

impl Logic for FreedCount {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting, gives);
        drive!(self, gives.q => freed);
        self.some.next = self.waiting.q.val().any();
        self.gives.d.next = self.some.val();
        if self.answered.val() & self.read_freed.val() {
            self.waiting.d.next = self.waiting.q.val() + 2;
            if self.some.val() {
                self.waiting.d.next = self.waiting.q.val() + 1;
            }
        } else if self.answered.val() | self.read_freed.val() {
            if !self.some.val() {
                self.waiting.d.next = self.waiting.q.val() + 1;
            }
        } else if self.some.val() {
            self.waiting.d.next = self.waiting.q.val() - 1;
        }
        if self.reset.val() {
            self.waiting.d.next = bits::<4>(0);
            self.gives.d.next = false;
        }
    }
}
