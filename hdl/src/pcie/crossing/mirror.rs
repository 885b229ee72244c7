//! Shows in one clock domain a word of another that changes now and then.
//!
//! ```text
//!  word (in_clock) ──►┌────────┐──► shown, changed (out_clock)
//!                     │ Mirror │
//!                     └────────┘
//! ```
//! Contract: `shown` is a value that `word` had, whole; it is 0 until the first one comes. `changed` is high in the first cycle of each new
//! look at `word`, whether it has another value or not. `out_clock` is at least half as fast as `in_clock`.
//!
//! Latency: a look every 16 cycles of `in_clock`, and 5 cycles of `out_clock`.
//!
//! Example: `word` changes from 3 to 12: at most 16 cycles of `in_clock` and 5 of `out_clock` later `shown` changes from 3 to 12, and has no
//! other value between.
//!
//! Tests: `tests/pcie/crossing/`.

use crate::clocks::Handover;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the word.
#[derive(LogicBlock, Default)]
pub struct Mirror<T: Synth> {
    /// Rising edge; the clock of `word`.
    pub in_clock: Signal<In, Clock>,
    /// The word, from `transaction`: what the core may send, or its configuration.
    pub word: Signal<In, T>,
    /// Rising edge; the clock of `shown`.
    pub out_clock: Signal<In, Clock>,
    /// The word, as it was a little while ago.
    pub shown: Signal<Out, T>,
    /// `shown` has been looked at anew.
    pub changed: Signal<Out, bool>,
    handover: Handover<T>,
    /// Cycles until the next look.
    count: DFF<Bits<4>>,
    held: DFF<T>,
    fresh: DFF<bool>,
}

impl<T: Synth> Logic for Mirror<T> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, in_clock, count);
        dff_setup!(self, out_clock, held, fresh);
        drive!(self, in_clock => handover.in_clock; out_clock => handover.out_clock; word => handover.sink.data;
            held.q => shown; fresh.q => changed);
        self.count.d.next = self.count.q.val() + 1;
        self.handover.sink.valid.next = !self.count.q.val().any();
        self.fresh.d.next = self.handover.source.valid.val();
        if self.handover.source.valid.val() {
            self.held.d.next = self.handover.source.data.val();
        }
    }
}
