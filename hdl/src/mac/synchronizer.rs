//! One bit from another clock domain: two flip-flops in a row.
//!
//! ```text
//!  in_data (any clock) ──►┌──────────────┐──► out_data (clock)
//!                         │ Synchronizer │
//!                         └──────────────┘
//! ```
//! Contract: `in_data` comes straight from a flip-flop. A level that lasts for less than a cycle of `clock` may be missed.
//!
//! Latency: 2 to 3 cycles.
//!
//! Tests: `tests/mac/crossing.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Synchronizer {
    /// Rising edge; where the bit goes.
    pub clock: Signal<In, Clock>,
    /// The bit, of any clock.
    pub in_data: Signal<In, bool>,
    /// The bit.
    pub out_data: Signal<Out, bool>,
    first: DFF<bool>,
    second: DFF<bool>,
}

impl Logic for Synchronizer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, first, second);
        self.first.d.next = self.in_data.val();
        self.second.d.next = self.first.q.val();
        self.out_data.next = self.second.q.val();
    }
}
