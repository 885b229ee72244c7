//! Counts device time in a core's clock of 100 MHz.
//!
//! ```text
//!        ┌───────┐
//!        │ Ticks │──► time_now
//!        └───────┘
//! ```
//! Contract: 512 cycles are 5 ticks of 1.024 us. `time_now` counts by ones, and wraps.
//!
//! Latency: none; a counter.
//!
//! Example: `time_now` goes up in the cycles 103, 205, 308, 410, ...
//!
//! Tests: `tests/mac/ticks.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ticks {
    /// Rising edge, 100 MHz.
    pub clock: Signal<In, Clock>,
    /// Device time, in ticks of 1.024 us.
    pub time_now: Signal<Out, Bits<32>>,
    /// How much of the tick under way is over: a tick has 512 of these, a cycle 5.
    part: DFF<Bits<9>>,
    ticks: DFF<Bits<32>>,
    /// From here on the tick ends with the cycle: `part` wraps.
    last: Number<9, { 512 - 5 }>,
}

impl Logic for Ticks {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, part, ticks);
        self.part.d.next = self.part.q.val() + 5;
        if self.part.q.val() >= self.last.val() {
            self.ticks.d.next = self.ticks.q.val() + 1;
        }
        drive!(self, ticks.q => time_now);
    }
}
