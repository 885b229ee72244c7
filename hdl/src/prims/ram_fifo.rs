//! A deep stream queue on block RAM, first word falls through.
//!
//! ```text
//!   sink ──►┌─────────┐──► source
//!           │ RamFifo │
//!           │   2^N   │──► level
//!           └─────────┘
//! ```
//! Contract: holds exactly 2^N words, in order. `sink.ready`, `source` and `level` come from registers
//! (the word on show is the RAM's output register).
//!
//! Latency: a word put into an empty queue is on show two cycles later. Throughput: one word in and one out every
//! cycle.
//!
//! How: the word on show is read again from its own slot every cycle, so the slot must not be written while it is
//! on show: a word leaves `count` only when it is taken, and a full queue takes nothing. And the slot being written
//! is never the slot being shown: `valid` looks at the tail before this cycle's push.
//!
//! Example: a word goes into the empty queue in cycle 0: `level` is 1 from cycle 1 on, and `source.valid` is high from cycle 2 on.
//!
//! Tests: `tests/prims/stream.rs`; proof: `formal/ram_fifo.sv`.

use super::Ram;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the word, `2^N` the number of words, `N1 = N + 1`.
#[derive(LogicBlock)]
pub struct RamFifo<T: Synth, const N: usize, const N1: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the queue.
    pub reset: Signal<In, bool>,
    /// The words to be queued, from the writer.
    pub sink: Sink<T>,
    /// The oldest word in the queue, to the reader.
    pub source: Source<T>,
    /// Number of words in the queue, on show or not, 0 to 2^N.
    pub level: Signal<Out, Bits<N1>>,
    ram: Ram<T, N>,
    /// Slot of the word on show, with a wrap bit.
    head: DFF<Bits<N1>>,
    /// Next slot to fill, with a wrap bit.
    tail: DFF<Bits<N1>>,
    /// Words in the queue.
    count: DFF<Bits<N1>>,
    /// A word is on show.
    valid: DFF<bool>,
    push: Signal<Local, bool>,
    pop: Signal<Local, bool>,
    /// The head of the next cycle.
    shown: Signal<Local, Bits<N1>>,
    change: Signal<Local, Bits<N1>>,
    /// 2^N: the one bit of `count` that says full.
    full: Constant<Bits<N1>>,
    minus_one: Constant<Bits<N1>>,
}

impl<T: Synth, const N: usize, const N1: usize> Default for RamFifo<T, N, N1> {
    fn default() -> Self {
        assert_eq!(N1, N + 1, "RamFifo: N1 must be N + 1");
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
            valid: Default::default(),
            push: Default::default(),
            pop: Default::default(),
            shown: Default::default(),
            change: Default::default(),
            full: Constant::new((1u64 << N).to_bits()),
            minus_one: Constant::new(((1u64 << N1) - 1).to_bits()),
        }
    }
}

impl<T: Synth, const N: usize, const N1: usize> Logic for RamFifo<T, N, N1> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, tail, count, valid);
        clock!(self, clock, ram);
        self.sink.ready.next = !(self.count.q.val() & self.full.val()).any();
        drive!(self, valid.q => source.valid; count.q => level);
        self.push.next = self.sink.valid.val() & !(self.count.q.val() & self.full.val()).any();
        self.pop.next = self.source.ready.val() & self.valid.q.val();

        self.shown.next = self.head.q.val();
        if self.pop.val() {
            self.shown.next = self.head.q.val() + 1;
        }
        drive!(self, push => ram.write_enable; sink.data => ram.write_data; ram.read_data => source.data);
        self.ram.write_address.next = bit_cast::<N, N1>(self.tail.q.val());
        self.ram.read_address.next = bit_cast::<N, N1>(self.shown.val());

        self.head.d.next = self.shown.val();
        // The push of this cycle does not count yet, because its row cannot be read before it is written.
        self.valid.d.next = self.tail.q.val() != self.shown.val();
        if self.push.val() {
            self.tail.d.next = self.tail.q.val() + 1;
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
            self.head.d.next = bits::<N1>(0);
            self.tail.d.next = bits::<N1>(0);
            self.count.d.next = bits::<N1>(0);
            self.valid.d.next = false;
        }
    }
}
