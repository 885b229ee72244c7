//! A [`Fifo`] whose word on show stands in a register: what reads it has the whole cycle.
//!
//! ```text
//!  in_valid ──►┌───────────┐──► out_valid
//!  in_ready ◄──│ FifoSlice │◄── out_ready
//!   in_data ──►│  2^N + 1  │──► out_data
//!              └───────────┘──► held, level
//! ```
//! Contract: holds exactly 2^N + 1 words, in order. Every output comes from registers only.
//!
//! Latency: a word is on show two cycles after it went in. Throughput: one word in and one out every cycle.
//!
//! Tests: `tests/prims/stream.rs`.

use super::Fifo;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;

/// See the module's description. `T` is the word, `N1 = N + 1`.
#[derive(LogicBlock, Default)]
pub struct FifoSlice<T: Synth, const N: usize, const N1: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the queue.
    pub reset: Signal<In, bool>,
    /// A word is offered. The word offered.
    pub sink: Sink<T>,
    /// A word is on show. The word on show.
    pub source: Source<T>,
    /// There is a word, on show or not yet.
    pub held: Signal<Out, bool>,
    /// Words behind the one on show, 0 to 2^N.
    pub level: Signal<Out, Bits<N1>>,
    fifo: Fifo<T, N, N1>,
    shown_valid: DFF<bool>,
    shown: DFF<T>,
    moves: Signal<Local, bool>,
}

impl<T: Synth, const N: usize, const N1: usize> Logic for FifoSlice<T, N, N1> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_valid, shown);
        clock!(self, clock, fifo);
        self.fifo.reset.next = self.reset.val();
        Sink::<T>::link(&mut self.sink, &mut self.fifo.sink);
        self.source.valid.next = self.shown_valid.q.val();
        self.source.data.next = self.shown.q.val();
        self.held.next = self.shown_valid.q.val() | self.fifo.source.valid.val();
        self.level.next = self.fifo.level.val();
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
