//! A word that comes now and then, from one clock domain to another.
//!
//! ```text
//!  (in_clock)  in_valid ──►┌──────────┐──► out_valid (out_clock)
//!               in_data ──►│ Handover │──► out_data
//!                          └──────────┘
//! ```
//! Contract: `in_valid` for one cycle brings `out_valid` for one cycle, if the next one comes no earlier than one cycle of
//! `in_clock` and four of `out_clock` later; there is no way to say so, because what is handed over here comes at most once a frame, and the
//! shortest takes 84 byte times with its gap.
//!
//! How: the word stands still in a register of `in_clock`, beside a bit that turns with each word. Two cycles after the turned bit
//! has come to `out_clock`, the word has long been stable.
//!
//! Latency: 3 to 4 cycles of `out_clock`.
//!
//! Tests: `tests/mac/crossing.rs`.

use super::Synchronizer;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Handover<T: Synth> {
    /// Rising edge; where words come from.
    pub in_clock: Signal<In, Clock>,
    /// A word is handed over.
    pub sink: FlowSink<T>,
    /// Rising edge; where words go.
    pub out_clock: Signal<In, Clock>,
    /// A word has come.
    pub source: FlowSource<T>,
    kept: DFF<T>,
    turned: DFF<bool>,
    crossing: Synchronizer,
    seen: DFF<bool>,
    valid: DFF<bool>,
    taken: DFF<T>,
}

impl<T: Synth> Logic for Handover<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, in_clock, kept, turned);
        dff_setup!(self, out_clock, seen, valid, taken);
        self.crossing.clock.next = self.out_clock.val();
        self.crossing.in_data.next = self.turned.q.val();
        if self.sink.valid.val() {
            self.kept.d.next = self.sink.data.val();
            self.turned.d.next = !self.turned.q.val();
        }
        self.seen.d.next = self.crossing.out_data.val();
        self.valid.d.next = self.crossing.out_data.val() ^ self.seen.q.val();
        self.taken.d.next = self.kept.q.val();
        self.source.valid.next = self.valid.q.val();
        self.source.data.next = self.taken.q.val();
    }
}
