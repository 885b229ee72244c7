//! Counts device time in a core's clock of 107.1 MHz.
//!
//! ```text
//!        ┌───────┐
//!        │ Ticks │──► time_now
//!        └───────┘
//! ```
//! Contract: 768 cycles are 7 ticks of 1.024 us. `time_now` counts by ones, and wraps.
//!
//! Latency: none; a counter.
//!
//! Example: `time_now` goes up in the cycles 110, 220, 330, 439, ...
//!
//! Tests: `tests/mac/ticks.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ticks {
    /// Rising edge, 107.1 MHz: 750 MHz by 7.
    pub clock: Signal<In, Clock>,
    /// Device time, in ticks of 1.024 us.
    pub time_now: Signal<Out, Bits<32>>,
    /// How much of the tick under way is over: a tick has 768 of these, a cycle 7.
    part: DFF<Bits<10>>,
    ticks: DFF<Bits<32>>,
    last: Number<10, { 768 - 7 }>,
    /// 7 - 768.
    carry: Number<10, { 1024 + 7 - 768 }>,
}

impl Logic for Ticks {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, part, ticks);
        self.part.d.next = self.part.q.val() + 7;
        if self.part.q.val() >= self.last.val() {
            self.part.d.next = self.part.q.val() + self.carry.val();
            self.ticks.d.next = self.ticks.q.val() + 1;
        }
        drive!(self, ticks.q => time_now);
    }
}
