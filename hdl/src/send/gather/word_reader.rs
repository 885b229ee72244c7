//! Shows a descriptor word by word: the first 64 bytes out of the inbox, the rest out of the tail memory.
//!
//! ```text
//!          seek, step ──►┌────────────┐──► index
//!           head_word ──►│ WordReader │──► word
//!           tail_word ──►└────────────┘──► late
//! ```
//! Contract: `index` is the word that the memories read in this cycle, and `word` is that of the cycle before. `seek` chooses a word, and
//! `step` the next one; with neither of them the block stays where it is. `late` is `word` of the cycle before, in a register: a word
//! comes late in its cycle out of a memory, so check and cut test it in `late`.
//!
//! Latency: 1 cycle from `seek` to `word`, 2 to `late`.
//!
//! Example: `seek` asks for word 4. In the next cycle `word` shows it, and a cycle later `late`. `step` in the first of these two
//! cycles shows word 5 in the second one.
//!
//! Tests: `tests/send/gather/word_reader.rs`.

use crate::prims::Number;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct WordReader {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The number of the word to read, from check.
    pub seek: FlowSink<Bits<9>>,
    /// The next word is to be read; cut drives it.
    pub step: Signal<In, bool>,
    /// Number of the word that is read.
    pub index: Signal<Out, Bits<9>>,
    /// The word of the cycle before out of the inbox, if its number is below 8; or the row that was read in its place.
    pub head_word: Signal<In, Bits<64>>,
    /// The word of the cycle before out of the tail memory, if its number is 8 or more.
    pub tail_word: Signal<In, Bits<64>>,
    /// The word on show, for check and cut.
    pub word: Signal<Out, Bits<64>>,
    /// The word that was on show in the cycle before.
    pub late: Signal<Out, Bits<64>>,
    /// Number of the word on show.
    shown: DFF<Bits<9>>,
    /// The word on show is in the tail memory.
    from_tail: DFF<bool>,
    kept: DFF<Bits<64>>,
    chosen: Signal<Local, Bits<9>>,
    on_show: Signal<Local, Bits<64>>,
    head_words: Number<9, 8>,
}

impl Logic for WordReader {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown, from_tail, kept);
        self.chosen.next = self.shown.q.val();
        if self.step.val() {
            self.chosen.next = self.shown.q.val() + 1;
        }
        if self.seek.valid.val() {
            self.chosen.next = self.seek.data.val();
        }
        self.shown.d.next = self.chosen.val();
        self.from_tail.d.next = self.chosen.val() >= self.head_words.val();
        self.index.next = self.chosen.val();

        self.on_show.next = self.head_word.val();
        if self.from_tail.q.val() {
            self.on_show.next = self.tail_word.val();
        }
        drive!(self, on_show => word; kept.q => late);
        self.kept.d.next = self.on_show.val();
    }
}
