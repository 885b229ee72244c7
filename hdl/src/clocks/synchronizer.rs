//! One bit from another clock domain.
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
//! Example: `in_data` rises and stays: `out_data` rises 2 or 3 edges of `clock` later.
//!
//! Tests: `tests/mac/clocks.rs`.

use super::Crossing;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Synchronizer {
    /// Rising edge; the clock of `out_data`.
    pub clock: Signal<In, Clock>,
    /// The bit, from a flip-flop of any clock.
    pub in_data: Signal<In, bool>,
    /// The same bit, in the domain of `clock`.
    pub out_data: Signal<Out, bool>,
    crossing: Crossing<1>,
}

impl Logic for Synchronizer {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, crossing);
        self.crossing.in_data.next = bits::<1>(0);
        if self.in_data.val() {
            self.crossing.in_data.next = bits::<1>(1);
        }
        self.out_data.next = self.crossing.out_data.val().any();
    }
}
