//! Prints records: a letter, double words in hexadecimal, CR and LF.
//!
//! ```text
//!            ┌─────────┐
//!  record ──►│ Printer │──► text
//!            └─────────┘
//! ```
//! Contract: `text` is the bytes of a line for each record, in ASCII.
//!
//! Latency: a byte a cycle while `text` is taken, but for up to 3 cycles behind the first one.
//!
//! Example: a record of six words that came: `R 04000001 0000000F 01000000` and the two that end the line.
//!
//! Tests: `tests/pcie/trace.rs`.

use super::Record;
use crate::prims::Number;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Steps of a line.
pub mod step {
    /// The letter that says which way; no record is under way before.
    pub const WAY: u64 = 0;
    /// A space before a double word.
    pub const SPACE: u64 = 1;
    /// A digit.
    pub const DIGIT: u64 = 2;
    /// CR.
    pub const RETURN: u64 = 3;
    /// LF.
    pub const FEED: u64 = 4;
    /// Nothing is printed: the first word of a record of less than eight comes to the highest bits.
    pub const ALIGN: u64 = 5;
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Printer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// What to print: records of `TlpTap`, from the `Fifo` of `TlpTrace`.
    pub record: Sink<Record>,
    /// The line's bytes.
    pub text: Source<Bits<8>>,
    step: DFF<Bits<3>>,
    /// What of the record has not been printed, the next digit in the highest bits.
    words: DFF<Bits<128>>,
    /// Words that remain.
    count: DFF<Bits<4>>,
    /// Words by which the record has to move up.
    away: DFF<Bits<4>>,
    /// Digits of the double word that have been printed.
    digits: DFF<Bits<3>>,
    digit: Signal<Local, Bits<8>>,
    shown: Signal<Local, Bits<8>>,
    letter: Signal<Local, Bits<8>>,
    moves: Signal<Local, bool>,
    next_step: Signal<Local, Bits<3>>,
    way: Number<3, { step::WAY }>,
    space: Number<3, { step::SPACE }>,
    print: Number<3, { step::DIGIT }>,
    ret: Number<3, { step::RETURN }>,
    feed: Number<3, { step::FEED }>,
    align: Number<3, { step::ALIGN }>,
}

impl Logic for Printer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, words, count, away, digits);
        self.digit.next = bit_cast::<8, 4>(self.words.q.val().get_bits::<4>(124));
        self.letter.next = bits::<8>(0x52);
        if self.record.data.val().went {
            self.letter.next = bits::<8>(0x54);
        }
        // The small letter.
        self.shown.next = self.letter.val();
        if self.record.data.val().missed {
            self.shown.next = self.letter.val() | bits::<8>(0x20);
        }
        self.text.valid.next = true;
        self.text.data.next = self.shown.val();
        self.next_step.next = self.align.val();
        self.record.ready.next = false;
        if self.step.q.val() == self.way.val() {
            self.text.valid.next = self.record.valid.val();
            self.record.ready.next = self.text.ready.val();
        } else if self.step.q.val() == self.space.val() {
            self.text.data.next = bits::<8>(0x20);
            self.next_step.next = self.print.val();
        } else if self.step.q.val() == self.print.val() {
            self.text.data.next = self.digit.val() + 0x30;
            if self.digit.val() >= bits::<8>(10) {
                self.text.data.next = self.digit.val() + 0x37;
            }
            self.next_step.next = self.print.val();
            if self.digits.q.val() == bits::<3>(7) {
                self.next_step.next = self.space.val();
                if self.count.q.val() <= bits::<4>(2) {
                    self.next_step.next = self.ret.val();
                }
            }
        } else if self.step.q.val() == self.ret.val() {
            self.text.data.next = bits::<8>(0x0d);
            self.next_step.next = self.feed.val();
        } else if self.step.q.val() == self.feed.val() {
            self.text.data.next = bits::<8>(0x0a);
            self.next_step.next = self.way.val();
        } else {
            self.text.valid.next = false;
            if self.away.q.val() == bits::<4>(0) {
                self.step.d.next = self.space.val();
            } else {
                self.away.d.next = self.away.q.val() - 1;
                self.words.d.next = self.words.q.val() << 16;
            }
        }
        self.moves.next = self.text.valid.val() & self.text.ready.val();
        if self.moves.val() {
            self.step.d.next = self.next_step.val();
            if self.step.q.val() == self.way.val() {
                self.words.d.next = self.record.data.val().words;
                self.count.d.next = self.record.data.val().count;
                self.away.d.next = bits::<4>(8) - self.record.data.val().count;
                self.digits.d.next = bits::<3>(0);
            } else if self.step.q.val() == self.print.val() {
                self.words.d.next = self.words.q.val() << 4;
                self.digits.d.next = self.digits.q.val() + 1;
                if self.digits.q.val() == bits::<3>(7) {
                    self.count.d.next = self.count.q.val() - 2;
                }
            }
        }
    }
}
