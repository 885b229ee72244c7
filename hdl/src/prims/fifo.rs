//! A small stream queue on distributed RAM, first word falls through.
//!
//! ```text
//!   sink ──►┌──────┐──► source
//!           │ Fifo │
//!           │ 2^N  │──► level
//!           └──────┘
//! ```
//! Contract: holds exactly 2^N words (N <= 5 is sensible), in order. `sink.ready`, `source.valid` and `level` come from
//! registers only; a word cannot be taken out of a full queue and put in at once, so full throughput needs room for
//! one more word than is in flight.
//!
//! Latency: a word is on show the cycle after it went in. Throughput: one word in and one out every cycle.
//!
//! Example: N is 4 and the reader takes nothing: the queue takes 16 words, one a cycle; then `sink.ready` is low and `level` is 16.
//!
//! Tests: `tests/prims/stream.rs`; proof: `formal/fifo.sv`.

use super::LutRam;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the word, `2^N` the number of words, `N1 = N + 1`.
#[derive(LogicBlock)]
pub struct Fifo<T: Synth, const N: usize, const N1: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the queue.
    pub reset: Signal<In, bool>,
    /// The words to be queued, from the writer.
    pub sink: Sink<T>,
    /// The oldest word in the queue, to the reader.
    pub source: Source<T>,
    /// Number of words in the queue, 0 to 2^N.
    pub level: Signal<Out, Bits<N1>>,
    ram: LutRam<T, N>,
    /// Slot of the word on show.
    head: DFF<Bits<N>>,
    /// Slot that the next word goes into.
    tail: DFF<Bits<N>>,
    /// Words in the queue.
    count: DFF<Bits<N1>>,
    push: Signal<Local, bool>,
    pop: Signal<Local, bool>,
    change: Signal<Local, Bits<N1>>,
    /// 2^N: the one bit of `count` that says full.
    full: Constant<Bits<N1>>,
    minus_one: Constant<Bits<N1>>,
}

impl<T: Synth, const N: usize, const N1: usize> Default for Fifo<T, N, N1> {
    fn default() -> Self {
        assert_eq!(N1, N + 1, "Fifo: N1 must be N + 1");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            sink: Default::default(),
            source: Default::default(),
            level: Default::default(),
            ram: Default::default(),
            head: Default::default(),
            tail: Default::default(),
            count: Default::default(),
            push: Default::default(),
            pop: Default::default(),
            change: Default::default(),
            full: Constant::new((1u64 << N).to_bits()),
            minus_one: Constant::new(((1u64 << N1) - 1).to_bits()),
        }
    }
}

impl<T: Synth, const N: usize, const N1: usize> Logic for Fifo<T, N, N1> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, tail, count);
        clock!(self, clock, ram);
        self.sink.ready.next = !(self.count.q.val() & self.full.val()).any();
        self.source.valid.next = self.count.q.val().any();
        self.level.next = self.count.q.val();
        self.push.next = self.sink.valid.val() & !(self.count.q.val() & self.full.val()).any();
        self.pop.next = self.source.ready.val() & self.count.q.val().any();

        drive!(self, push => ram.write_enable; tail.q => ram.write_address; sink.data => ram.write_data;
            head.q => ram.read_address; ram.read_data => source.data);

        if self.push.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.pop.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        self.change.next = bits::<N1>(0);
        if self.push.val() & !self.pop.val() {
            self.change.next = bits::<N1>(1);
        }
        if self.pop.val() & !self.push.val() {
            self.change.next = self.minus_one.val();
        }
        self.count.d.next = self.count.q.val() + self.change.val();
        if self.reset.val() {
            self.head.d.next = bits::<N>(0);
            self.tail.d.next = bits::<N>(0);
            self.count.d.next = bits::<N1>(0);
        }
    }
}
