//! Counts events since its last turn, in a code of five bits.
//!
//! ```text
//! happens ──►┌───────────┐──► code
//!    turn ──►│ EventCode │
//!            └───────────┘
//! ```
//! Contract: `code` says how many events have come since the last `turn`; [`EventNumber`](super::EventNumber) says which number it is. The
//! event of a cycle with `turn` counts for the next turn. At most 30 events may come between two turns.
//!
//! How: a shift register whose feedback takes it through 31 states, of which the n-th means n events. It takes three LUT4 where a counter
//! of five bits takes twelve, and there are 37 of them.
//!
//! Latency: 1 cycle.
//!
//! Example: a turn in cycle 0, events in cycles 0 and 1: `code` is 1 in cycle 1, and 3 from cycle 2 on, which means two.
//!
//! Tests: with the whole, `tests/admin/counters.rs`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EventCode {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the events.
    pub reset: Signal<In, bool>,
    /// An event happens in this cycle; `Counters` drives this and `turn`.
    pub happens: Signal<In, bool>,
    /// The code is taken in this cycle, and begins anew.
    pub turn: Signal<In, bool>,
    /// How many events have come since the last turn.
    pub code: Signal<Out, Bits<5>>,
    /// Bits 4:1 of the code.
    high: DFF<Bits<4>>,
    /// Bit 0 of the code.
    low: DFF<bool>,
    /// The bits that go up when the code shifts.
    rest: Signal<Local, Bits<4>>,
}

impl Logic for EventCode {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, high, low);
        drive!(self, high.q => rest);
        self.code.next =
            (bit_cast::<5, 4>(self.high.q.val()) << 1) | bit_cast::<5, 1>(self.low.q.val().into());
        // The state of all ones would stay for ever; none of the 31 leads to it.
        if self.happens.val() {
            self.low.d.next = self.turn.val() | (self.rest.val().get_bit(3) == self.rest.val().get_bit(1));
            self.high.d.next = bit_cast::<4, 5>(self.code.val());
        } else if self.turn.val() {
            self.low.d.next = false;
        }
        if self.turn.val() | self.reset.val() {
            self.high.d.next = bits::<4>(0);
        }
        if self.reset.val() {
            self.low.d.next = false;
        }
    }
}
