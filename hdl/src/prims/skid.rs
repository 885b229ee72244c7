//! A register slice: it cuts a stream's combinational paths in both directions.
//!
//! ```text
//!   sink ──►┌──────┐──► source
//!           │ Skid │
//!           └──────┘
//! ```
//! Contract: order kept, nothing lost; every output comes from a register. Holds two words: the one on show, and
//! the one that arrives in the cycle in which `source.ready` turns out to be low.
//!
//! Latency: 1 cycle. Throughput: one word every cycle.
//!
//! Example: `source.ready` falls in cycle 3 while a word is on show and another arrives: the second goes into `spare`, and `sink.ready` is
//! low from cycle 4 on.
//!
//! Tests: `tests/prims/stream.rs`; proof: `formal/skid.sv`.

use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the word.
#[derive(LogicBlock, Default)]
pub struct Skid<T: Synth> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what it holds.
    pub reset: Signal<In, bool>,
    /// The words from the writer.
    pub sink: Sink<T>,
    /// The same words, to the reader, one cycle later or more.
    pub source: Source<T>,
    /// A word is on show.
    shown_valid: DFF<bool>,
    /// The word on show.
    shown: DFF<T>,
    /// `spare` holds a word: there is no more room.
    spare_valid: DFF<bool>,
    /// The word that arrived while the one on show was not taken.
    spare: DFF<T>,
    push: Signal<Local, bool>,
    free: Signal<Local, bool>,
}

impl<T: Synth> Logic for Skid<T> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_valid, shown, spare_valid, spare);
        self.sink.ready.next = !self.spare_valid.q.val();
        drive!(self, shown_valid.q => source.valid; shown.q => source.data);
        self.push.next = self.sink.valid.val() & !self.spare_valid.q.val();
        self.free.next = self.source.ready.val() | !self.shown_valid.q.val();

        // The word is captured whether it is needed or not, so that the data path needs no decision.
        if !self.spare_valid.q.val() {
            self.spare.d.next = self.sink.data.val();
        }
        if self.free.val() {
            self.shown_valid.d.next = self.push.val() | self.spare_valid.q.val();
            self.spare_valid.d.next = false;
            if self.spare_valid.q.val() {
                self.shown.d.next = self.spare.q.val();
            } else {
                self.shown.d.next = self.sink.data.val();
            }
        } else if self.push.val() {
            self.spare_valid.d.next = true;
        }
        if self.reset.val() {
            self.shown_valid.d.next = false;
            self.spare_valid.d.next = false;
        }
    }
}
