//! Knows when a SKP ordered set is due.
//!
//! ```text
//!   silent ──►┌────────┐──► due
//!    begun ──►│ SkpDue │
//!             └────────┘
//! ```
//! Contract: a set is due every 1216 symbols; it may be 1180 to 1538. Up to seven are owed; a packet of 4096 bytes makes four. `begun`
//! takes one off. In electrical idle none is due, and the time begins anew behind it.
//!
//! Latency: 1 cycle.
//!
//! Example: a packet of 3000 symbols begins 100 symbols before a set is due. Behind it three sets are sent, one behind the other.
//!
//! Tests: `tests/pcie/mac/skp.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Words of two symbols from one set to the next.
const INTERVAL: u64 = 1216 / 2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SkpDue {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The lane is in electrical idle, from `Lane`.
    pub silent: Signal<In, bool>,
    /// A SKP set is begun, from `Lane`.
    pub begun: Signal<In, bool>,
    /// A set is owed.
    pub due: Signal<Out, bool>,
    passed: DFF<Bits<10>>,
    /// The interval ends.
    ends: DFF<bool>,
    owed: DFF<Bits<3>>,
    last: Number<10, { INTERVAL - 2 }>,
}

impl Logic for SkpDue {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, passed, ends, owed);
        self.due.next = self.owed.q.val().any();
        self.passed.d.next = self.passed.q.val() + 1;
        self.ends.d.next = self.passed.q.val() == self.last.val();
        if self.ends.q.val() {
            self.passed.d.next = bits::<10>(0);
            if !self.begun.val() & !self.owed.q.val().all() {
                self.owed.d.next = self.owed.q.val() + 1;
            }
        } else if self.begun.val() {
            self.owed.d.next = self.owed.q.val() - 1;
        }
        if self.silent.val() {
            self.passed.d.next = bits::<10>(0);
            self.owed.d.next = bits::<3>(0);
            self.ends.d.next = false;
        }
    }
}
