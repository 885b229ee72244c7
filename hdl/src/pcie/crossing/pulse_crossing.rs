//! Carries pulses into another clock domain: as many come out as go in.
//!
//! ```text
//!  pulse (in_clock) ──►┌───────────────┐──► out (out_clock)
//!                      │ PulseCrossing │
//!                      └───────────────┘
//! ```
//! Contract: each cycle of `in_clock` in which `pulse` is high gives one cycle of `out_clock` in which `out` is high, if never more than 15
//! are under way.
//!
//! How: the pulses are counted in Gray code, and the other side counts up to what it sees.
//!
//! Latency: 3 to 4 cycles of `out_clock`.
//!
//! Example: two pulses come in two cycles running: `out` is high in two cycles.
//!
//! Tests: `tests/pcie/crossing/`.

use crate::clocks::Crossing;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PulseCrossing {
    /// Rising edge; the clock of `pulse`.
    pub in_clock: Signal<In, Clock>,
    /// Something happens in this cycle, from `Arrange`: a non-posted packet has left.
    pub pulse: Signal<In, bool>,
    /// Rising edge; the clock of `out`.
    pub out_clock: Signal<In, Clock>,
    /// One `pulse` has come across.
    pub out: Signal<Out, bool>,
    /// Pulses, modulo 16, and the same number in Gray code.
    count: DFF<Bits<4>>,
    gray: DFF<Bits<4>>,
    after: Signal<Local, Bits<4>>,
    crossing: Crossing<4>,
    /// Pulses given, and the same number in Gray code.
    given: DFF<Bits<4>>,
    given_gray: DFF<Bits<4>>,
    given_after: Signal<Local, Bits<4>>,
    shown: DFF<bool>,
    due: Signal<Local, bool>,
}

impl Logic for PulseCrossing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, in_clock, count, gray);
        dff_setup!(self, out_clock, given, given_gray, shown);
        clock!(self, out_clock, crossing);
        drive!(self, gray.q => crossing.in_data; shown.q => out);
        self.after.next = self.count.q.val() + 1;
        if self.pulse.val() {
            self.count.d.next = self.after.val();
            self.gray.d.next = self.after.val() ^ (self.after.val() >> 1);
        }
        self.due.next = self.crossing.out_data.val() != self.given_gray.q.val();
        self.shown.d.next = self.due.val();
        self.given_after.next = self.given.q.val() + 1;
        if self.due.val() {
            self.given.d.next = self.given_after.val();
            self.given_gray.d.next = self.given_after.val() ^ (self.given_after.val() >> 1);
        }
    }
}
