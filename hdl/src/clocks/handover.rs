//! Hands a word that comes now and then from one clock domain to another.
//!
//! ```text
//!   sink (in_clock) ──►┌──────────┐──► source (out_clock)
//!                      │ Handover │
//!                      └──────────┘
//! ```
//! Contract: a word at `sink` brings the same word at `source`, for one cycle, if the next word comes no earlier than one cycle of
//! `in_clock` and four of `out_clock` later. The block cannot hold a word back, and need not: what is handed over here comes at most once a
//! frame, and the shortest frame takes 84 byte times with its gap.
//!
//! How: the word stands still in a register of `in_clock`, beside a bit that turns with each word. Two cycles after the turned bit
//! has come to `out_clock`, the word has long been stable.
//!
//! Latency: 3 to 4 cycles of `out_clock`.
//!
//! Example: the pause 100 is handed over in one cycle of `in_clock`: 3 or 4 cycles of `out_clock` later `source` is 100 for one cycle.
//!
//! Tests: `tests/mac/clocks.rs`.

use super::Synchronizer;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Handover<T: Synth> {
    /// Rising edge; the clock of `sink`.
    pub in_clock: Signal<In, Clock>,
    /// A word that is handed over.
    pub sink: FlowSink<T>,
    /// Rising edge; the clock of `source`.
    pub out_clock: Signal<In, Clock>,
    /// The word that was handed over.
    pub source: FlowSource<T>,
    /// The word, in the domain of `in_clock`.
    kept: DFF<T>,
    /// The bit that turns with each word.
    turned: DFF<bool>,
    /// The turned bit, as the other side sees it.
    crossing: Synchronizer,
    /// The turned bit of the last word that came.
    seen: DFF<bool>,
    /// `taken` is given in this cycle.
    valid: DFF<bool>,
    /// The word, in the domain of `out_clock`.
    taken: DFF<T>,
}

impl<T: Synth> Logic for Handover<T> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, in_clock, kept, turned);
        dff_setup!(self, out_clock, seen, valid, taken);
        drive!(self, out_clock => crossing.clock; turned.q => crossing.in_data; valid.q => source.valid;
            taken.q => source.data);
        if self.sink.valid.val() {
            self.kept.d.next = self.sink.data.val();
            self.turned.d.next = !self.turned.q.val();
        }
        self.seen.d.next = self.crossing.out_data.val();
        self.valid.d.next = self.crossing.out_data.val() ^ self.seen.q.val();
        self.taken.d.next = self.kept.q.val();
    }
}
