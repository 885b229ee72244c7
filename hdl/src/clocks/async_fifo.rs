//! A stream queue from one clock domain to another, on distributed RAM.
//!
//! ```text
//!   sink (write_clock) ──►┌───────────┐──► source (read_clock)
//!                         │ AsyncFifo │
//!                         │    2^N    │
//!                         └───────────┘
//! ```
//! Contract: words come out in order, none lost, none twice, whatever the clocks' ratio and phase. 2^N words fit, and one more on show.
//! `sink.ready` and `source` come from registers. There is no reset, on purpose: either clock may stand still, and a reset that
//! only one side sees would make words out of nothing. A user that starts anew reads the queue until it is empty.
//!
//! How: each side counts its words in Gray code, of which one bit changes at a time, and sees the other's count through a [`Crossing`]:
//! late, perhaps, but never a count that was not there, as long as all bits arrive within one period of the source.
//! So the writer may take the queue for fuller than it is, and the reader for emptier, but never the other way round. A word is in the
//! memory two cycles before the reader's side knows of it.
//!
//! Latency: 4 to 6 cycles of `read_clock` to `source.valid`. Throughput: one word every cycle of the slower clock, if N >= 4.
//!
//! Example: the writer puts in one word: 4 to 6 cycles of `read_clock` later `source` shows it. If `read_clock` stands still, nothing is
//! lost: the queue fills, and `sink.ready` falls.
//!
//! Tests: `tests/mac/clocks.rs`, with clocks of relatively prime periods.

use super::Crossing;
use crate::prims::LutRam;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the word, `2^N` the number of words, `N1 = N + 1`.
#[derive(LogicBlock)]
pub struct AsyncFifo<T: Synth, const N: usize, const N1: usize> {
    /// Rising edge; the clock of `sink`.
    pub write_clock: Signal<In, Clock>,
    /// The words to be queued, from the writer.
    pub sink: Sink<T>,
    /// Rising edge; the clock of `source`.
    pub read_clock: Signal<In, Clock>,
    /// The oldest word in the queue, to the reader.
    pub source: Source<T>,
    /// The words.
    ram: LutRam<T, N>,
    // The writer's side.
    /// Words written, counted with a wrap bit.
    tail: DFF<Bits<N1>>,
    /// The same count in Gray code.
    tail_gray: DFF<Bits<N1>>,
    /// The reader's count, as the writer's side sees it.
    head_crossing: Crossing<N1>,
    /// The writer may write.
    room: DFF<bool>,
    // The reader's side.
    /// Words read, counted with a wrap bit.
    head: DFF<Bits<N1>>,
    /// The same count in Gray code.
    head_gray: DFF<Bits<N1>>,
    /// The writer's count, as the reader's side sees it.
    tail_crossing: Crossing<N1>,
    /// The memory holds a word.
    some: DFF<bool>,
    /// A word is on show.
    shown_valid: DFF<bool>,
    /// The word on show.
    shown: DFF<T>,
    push: Signal<Local, bool>,
    tail_after: Signal<Local, Bits<N1>>,
    tail_after_gray: Signal<Local, Bits<N1>>,
    full_head: Signal<Local, Bits<N1>>,
    pop: Signal<Local, bool>,
    head_after: Signal<Local, Bits<N1>>,
    head_after_gray: Signal<Local, Bits<N1>>,
    /// The two highest bits: Gray counts that are 2^N apart differ in these.
    top: Constant<Bits<N1>>,
}

impl<T: Synth, const N: usize, const N1: usize> Default for AsyncFifo<T, N, N1> {
    fn default() -> Self {
        assert!(N1 == N + 1 && N > 0, "AsyncFifo: N1 must be N + 1");
        Self {
            write_clock: Default::default(),
            sink: Default::default(),
            read_clock: Default::default(),
            source: Default::default(),
            ram: Default::default(),
            tail: Default::default(),
            tail_gray: Default::default(),
            head_crossing: Default::default(),
            head: Default::default(),
            head_gray: Default::default(),
            tail_crossing: Default::default(),
            shown_valid: Default::default(),
            shown: Default::default(),
            push: Default::default(),
            room: Default::default(),
            tail_after: Default::default(),
            tail_after_gray: Default::default(),
            full_head: Default::default(),
            pop: Default::default(),
            head_after: Default::default(),
            head_after_gray: Default::default(),
            some: Default::default(),
            top: Constant::new((3u64 << (N - 1)).to_bits()),
        }
    }
}

impl<T: Synth, const N: usize, const N1: usize> Logic for AsyncFifo<T, N, N1> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        // The writer's side.
        dff_setup!(self, write_clock, tail, tail_gray, room);
        clock!(self, write_clock, ram, head_crossing);
        drive!(self, head_gray.q => head_crossing.in_data; room.q => sink.ready);
        self.push.next = self.sink.valid.val() & self.room.q.val();
        self.tail_after.next = self.tail.q.val() + 1;
        self.tail_after_gray.next = self.tail_after.val() ^ (self.tail_after.val() >> 1);
        self.full_head.next = self.head_crossing.out_data.val() ^ self.top.val();
        // `room` for the next cycle does not depend on whether a word is offered in this one.
        self.room.d.next = self.full_head.val() != self.tail_gray.q.val();
        if self.push.val() {
            self.tail.d.next = self.tail_after.val();
            self.tail_gray.d.next = self.tail_after_gray.val();
            self.room.d.next = self.full_head.val() != self.tail_after_gray.val();
        }
        drive!(self, push => ram.write_enable; sink.data => ram.write_data);
        self.ram.write_address.next = bit_cast::<N, N1>(self.tail.q.val());

        // The reader's side.
        dff_setup!(self, read_clock, head, head_gray, some, shown_valid, shown);
        clock!(self, read_clock, tail_crossing);
        drive!(self, tail_gray.q => tail_crossing.in_data; shown_valid.q => source.valid;
            shown.q => source.data);
        self.pop.next = self.some.q.val() & (!self.shown_valid.q.val() | self.source.ready.val());
        self.head_after.next = self.head.q.val() + 1;
        self.head_after_gray.next = self.head_after.val() ^ (self.head_after.val() >> 1);
        self.some.d.next = self.tail_crossing.out_data.val() != self.head_gray.q.val();
        if self.source.ready.val() {
            self.shown_valid.d.next = false;
        }
        self.ram.read_address.next = bit_cast::<N, N1>(self.head.q.val());
        if self.pop.val() {
            self.head.d.next = self.head_after.val();
            self.head_gray.d.next = self.head_after_gray.val();
            self.some.d.next = self.tail_crossing.out_data.val() != self.head_after_gray.val();
            self.shown_valid.d.next = true;
            self.shown.d.next = self.ram.read_data.val();
        }
    }
}
