//! Puts COM into the low byte.
//!
//! ```text
//!   first, second, one, two ──►┌───────┐──► aligned
//!                              └───────┘
//! ```
//! Contract: the symbols come in the order in which [`Unskip`](super::Unskip) leaves them. A COM that would be the high one of its word
//! gets a SKP before it, which says nothing: a COM ends whatever was there. Up to two symbols are held for that. SKP sets, which are taken
//! out, give the room back.
//!
//! If both places are taken and a COM is in the wrong byte again, the symbol before it is lost. It takes three changes of the byte without
//! a SKP set between them, such as lost symbols give. A packet that loses its END so is a damaged one, and is sent again.
//!
//! Latency: 1 cycle, and one for each two symbols held.
//!
//! Example: 17, COM | 4A, 4A gives 17, SKP | COM, 4A, and the other 4A waits for the next symbol.
//!
//! Tests: `tests/pcie/mac/align.rs`.

use super::symbol::{Aligned, Symbol, SKP};
use crate::prims::Number;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Align {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The first symbol of this cycle, from `Unskip`.
    pub first: Signal<In, Symbol>,
    /// The second symbol of this cycle, from `Unskip`.
    pub second: Signal<In, Symbol>,
    /// Only `first` counts; from `Unskip`.
    pub one: Signal<In, bool>,
    /// `first` and `second` hold symbols; from `Unskip`.
    pub two: Signal<In, bool>,
    /// Two symbols, for `Descramble` and `SetReader`.
    pub aligned: FlowSource<Aligned>,
    /// The symbols that are held, the older one first, and how many there are.
    older: DFF<Symbol>,
    newer: DFF<Symbol>,
    holds_one: DFF<bool>,
    holds_two: DFF<bool>,
    /// What goes out.
    low: Signal<Local, Symbol>,
    high: Signal<Local, Symbol>,
    gives: Signal<Local, bool>,
    /// A SKP stands before COM.
    fills: Signal<Local, bool>,
    given: DFF<bool>,
    word: DFF<Aligned>,
    skip: Number<8, SKP>,
}

impl Logic for Align {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, older, newer, holds_one, holds_two, given, word);
        drive!(self, word.q => aligned.data; given.q => aligned.valid; older.q => low; newer.q => high;
            false => gives, fills);
        if self.holds_two.q.val() {
            self.gives.next = true;
            self.older.d.next = self.first.val();
            self.newer.d.next = self.second.val();
            self.holds_two.d.next = self.two.val();
            self.holds_one.d.next = self.one.val();
            if self.newer.q.val().com {
                self.fills.next = true;
                self.older.d.next = self.newer.q.val();
                self.newer.d.next = self.first.val();
                self.holds_two.d.next = self.one.val();
                self.holds_one.d.next = !self.one.val();
                if self.two.val() {
                    // No room: the symbol before COM is lost.
                    self.fills.next = false;
                    self.low.next = self.newer.q.val();
                    self.high.next = self.first.val();
                    self.older.d.next = self.second.val();
                }
            }
        } else if self.holds_one.q.val() {
            self.high.next = self.first.val();
            if self.one.val() | self.two.val() {
                self.gives.next = true;
                self.older.d.next = self.second.val();
                self.holds_one.d.next = self.two.val();
                if self.first.val().com {
                    self.fills.next = true;
                    self.older.d.next = self.first.val();
                    self.newer.d.next = self.second.val();
                    self.holds_one.d.next = self.one.val();
                    self.holds_two.d.next = self.two.val();
                }
            }
        } else {
            self.low.next = self.first.val();
            self.high.next = self.second.val();
            self.older.d.next = self.first.val();
            self.holds_one.d.next = self.one.val();
            if self.two.val() {
                self.gives.next = true;
                if self.second.val().com {
                    self.fills.next = true;
                    self.older.d.next = self.second.val();
                    self.holds_one.d.next = true;
                }
            }
        }
        self.given.d.next = self.gives.val();
        fill!(self, word.d, low.val().value => low; high.val().value => high; low.val().k => low_k;
            high.val().k => high_k; low.val().error => low_error; high.val().error => high_error;
            low.val().com => com; low.val().skipped => low_skipped; high.val().skipped => high_skipped);
        if self.fills.val() {
            fill!(self, word.d, skip => high; true => high_k; false => high_error, high_skipped);
        }
    }
}
