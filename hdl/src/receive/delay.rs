//! Keeps the words of a frame back until it is known what becomes of the frame before.
//!
//! ```text
//!     sink ──►┌────────────┐──► source
//!             │ FrameDelay │
//!  endless ──►└────────────┘
//! ```
//! Contract: every word comes out, unless it would come out while `endless` is high, because its frame is longer than any may be.
//!
//! Why four cycles: the words come from in front of [`Untag`](super::Untag), which takes the first beat of a frame no earlier than
//! [`Parse`](super::Parse) takes the last beat of the frame before. Parse decides about that frame 4 cycles later. So the first word of the
//! next frame comes to the store with this decision or after it. The last word of the decided frame comes to the store before it, because
//! `Untag` took that word a cycle before `Parse` did.
//!
//! Example: a word that comes in `sink` in cycle 0 is in `source` in cycle 4. With `endless` high in cycle 4 it is dropped.
//!
//! Latency: 4 cycles. Throughput: a word every cycle.
//!
//! Tests: with `Receive`, `tests/receive/path/`, `tests/receive/raw.rs`.

use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FrameDelay {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops all words.
    pub reset: Signal<In, bool>,
    /// A word of a frame as it comes out of `Ingress`, tag and all.
    pub sink: FlowSink<Bits<64>>,
    /// The frame is longer than any may be, so its words are dropped; `Parse` drives it.
    pub endless: Signal<In, bool>,
    /// The word of four cycles ago, for the store.
    pub source: FlowSource<Bits<64>>,
    valid: DFF<Bits<4>>,
    word_0: DFF<Bits<64>>,
    word_1: DFF<Bits<64>>,
    word_2: DFF<Bits<64>>,
    word_3: DFF<Bits<64>>,
}

impl Logic for FrameDelay {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, valid, word_0, word_1, word_2, word_3);
        self.valid.d.next = self.valid.q.val() << 1;
        if self.sink.valid.val() {
            self.valid.d.next = (self.valid.q.val() << 1) | bits::<4>(1);
        }
        self.word_0.d.next = self.sink.data.val();
        self.word_1.d.next = self.word_0.q.val();
        self.word_2.d.next = self.word_1.q.val();
        self.word_3.d.next = self.word_2.q.val();
        self.source.valid.next = self.valid.q.val().get_bit(3) & !self.endless.val();
        self.source.data.next = self.word_3.q.val();
        if self.reset.val() {
            self.valid.d.next = bits::<4>(0);
        }
    }
}
