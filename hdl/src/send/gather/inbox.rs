//! Descriptors that wait for their turn: up to 8 heads and the first 64 bytes of each.
//!
//! ```text
//!   head, word ──►┌───────┐──► first_valid, first
//!         take ──►│ Inbox │
//!   read_index ──►└───────┘──► read_word   (1 cycle later)
//! ```
//! Contract: words come in order, before their head or with it; a head ends its words, however many there were.
//! `read_word` is of the head on show. There is no ready: the sender counts the heads taken.
//!
//! Latency: a head is on show the cycle after it came.
//!
//! Tests: with the whole of gather, `tests/send/gather.rs`.

use rust_hdl::prelude::*;

use crate::bus::SendHead;
use crate::prims::{Fifo, Ram};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Inbox {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops everything.
    pub reset: Signal<In, bool>,
    /// A head comes.
    pub head_valid: Signal<In, bool>,
    /// The head.
    pub head: Signal<In, SendHead>,
    /// A word comes.
    pub word_valid: Signal<In, bool>,
    /// The word.
    pub word: Signal<In, Bits<64>>,
    /// A head is on show.
    pub first_valid: Signal<Out, bool>,
    /// The head on show.
    pub first: Signal<Out, SendHead>,
    /// It is done with.
    pub take: Signal<In, bool>,
    /// Which of its words to read.
    pub read_index: Signal<In, Bits<3>>,
    /// The word of the cycle before's `read_index`.
    pub read_word: Signal<Out, Bits<64>>,
    heads: Fifo<SendHead, 3, 4>,
    words: Ram<Bits<64>, 6>,
    write_slot: DFF<Bits<3>>,
    write_index: DFF<Bits<3>>,
    read_slot: DFF<Bits<3>>,
}

impl Logic for Inbox {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, write_slot, write_index, read_slot);
        clock!(self, clock, heads, words);
        self.heads.reset.next = self.reset.val();
        self.heads.in_valid.next = self.head_valid.val();
        self.heads.in_data.next = self.head.val();
        self.heads.out_ready.next = self.take.val();
        self.first_valid.next = self.heads.out_valid.val();
        self.first.next = self.heads.out_data.val();

        self.words.write_enable.next = self.word_valid.val();
        self.words.write_address.next =
            (bit_cast::<6, 3>(self.write_slot.q.val()) << 3) | bit_cast::<6, 3>(self.write_index.q.val());
        self.words.write_data.next = self.word.val();
        self.words.read_address.next =
            (bit_cast::<6, 3>(self.read_slot.q.val()) << 3) | bit_cast::<6, 3>(self.read_index.val());
        self.read_word.next = self.words.read_data.val();

        if self.word_valid.val() {
            self.write_index.d.next = self.write_index.q.val() + 1;
        }
        if self.head_valid.val() {
            self.write_slot.d.next = self.write_slot.q.val() + 1;
            self.write_index.d.next = bits::<3>(0);
        }
        if self.take.val() {
            self.read_slot.d.next = self.read_slot.q.val() + 1;
        }
        if self.reset.val() {
            self.write_slot.d.next = bits::<3>(0);
            self.write_index.d.next = bits::<3>(0);
            self.read_slot.d.next = bits::<3>(0);
        }
    }
}
