//! A [`Fifo`] whose word on show is in a register, so that its reader has the whole cycle for it.
//!
//! ```text
//!   sink ──►┌───────────┐──► source
//!           │ FifoSlice │
//!           │  2^N + 1  │──► held, level
//!           └───────────┘
//! ```
//! Contract: holds exactly 2^N + 1 words, in order. Every output comes from registers only.
//!
//! Latency: a word is on show two cycles after it went in. Throughput: one word in and one out every cycle.
//!
//! Example: a word goes into the empty queue in cycle 0: `held` is high from cycle 1 on, and `source` shows the word from cycle 2 on.
//!
//! Tests: `tests/prims/stream.rs`.

use super::Fifo;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the word, `N1 = N + 1`.
#[derive(LogicBlock, Default)]
pub struct FifoSlice<T: Synth, const N: usize, const N1: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the queue.
    pub reset: Signal<In, bool>,
    /// The words to be queued, from the writer.
    pub sink: Sink<T>,
    /// The oldest word in the queue, to the reader.
    pub source: Source<T>,
    /// The queue holds a word, on show or not yet.
    pub held: Signal<Out, bool>,
    /// Number of words behind the one on show, 0 to 2^N.
    pub level: Signal<Out, Bits<N1>>,
    fifo: Fifo<T, N, N1>,
    /// A word is on show.
    shown_valid: DFF<bool>,
    /// The word on show.
    shown: DFF<T>,
    /// A word goes from the queue into the register that is on show.
    moves: Signal<Local, bool>,
}

impl<T: Synth, const N: usize, const N1: usize> Logic for FifoSlice<T, N, N1> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_valid, shown);
        clock!(self, clock, fifo);
        drive!(self, reset => fifo.reset; shown_valid.q => source.valid; shown.q => source.data;
            fifo.level => level);
        Sink::<T>::link(&mut self.sink, &mut self.fifo.sink);
        self.held.next = self.shown_valid.q.val() | self.fifo.source.valid.val();
        self.moves.next = self.source.ready.val() | !self.shown_valid.q.val();
        self.fifo.source.ready.next = self.moves.val();
        if self.moves.val() {
            self.shown_valid.d.next = self.fifo.source.valid.val();
            self.shown.d.next = self.fifo.source.data.val();
        }
        if self.reset.val() {
            self.shown_valid.d.next = false;
        }
    }
}
