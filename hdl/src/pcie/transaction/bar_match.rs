//! Finds the BAR that a memory request hits.
//!
//! ```text
//!   word, place ──►┌──────────┐──► hits, high
//!    bar0, bar2 ──►│ BarMatch │
//!                  └──────────┘
//! ```
//! Contract: `place` is the number of `word` in its TLP while `here`. `four` and `memory` hold from the last word of the address on; then
//! `hits` says that the address lies in a BAR, and `high` that it is BAR 2.
//!
//! Latency: 1 cycle from the last word of the address, or from `memory`.
//!
//! Example: Base Address 0 is FE000000 and words 4 and 5 are FE00 and 0010 as numbers: `hits` is high, `high` is low.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::BAR2_BYTES;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct BarMatch {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A word is there; this and the next three are from `HeaderReader`.
    pub here: Signal<In, bool>,
    /// The word's number.
    pub place: Signal<In, Bits<5>>,
    /// The word, as it came.
    pub word: Signal<In, Bits<16>>,
    /// The address is of 64 bits.
    pub four: Signal<In, bool>,
    /// Requests for memory are taken; this and the BARs are from `ConfigSpace`.
    pub memory: Signal<In, bool>,
    /// Base Address 0.
    pub bar0: Signal<In, Bits<32>>,
    /// Base Address 2, low half.
    pub bar2: Signal<In, Bits<32>>,
    /// Base Address 2, high half.
    pub bar2_high: Signal<In, Bits<32>>,
    /// The address lies in a BAR.
    pub hits: Signal<Out, bool>,
    /// The BAR is BAR 2.
    pub high: Signal<Out, bool>,
    /// The word as a number: its first byte is the high one.
    number: Signal<Local, Bits<16>>,
    /// Words 4 and 5 are those of BAR 2's high half.
    high_top: DFF<bool>,
    high_low: DFF<bool>,
    /// The words that were compared are 0.
    zero_top: DFF<bool>,
    zero_low: DFF<bool>,
    /// BAR 2's high half is 0: a short address may hit it.
    below: DFF<bool>,
    /// The last 32 bits that were looked at are those of BAR 0, and of BAR 2.
    low0: DFF<bool>,
    low2: DFF<bool>,
    in_bar0: Signal<Local, bool>,
    in_bar2: Signal<Local, bool>,
    hit: DFF<bool>,
    is_high: DFF<bool>,
    pages: Number<16, { (!(BAR2_BYTES - 1) >> 16) & 0xFFFF }>,
}

impl Logic for BarMatch {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, high_top, high_low, zero_top, zero_low, below, low0, low2, hit, is_high);
        self.number.next = (self.word.val() << 8) | (self.word.val() >> 8);
        if self.here.val() {
            if self.place.val() == bits::<5>(4) {
                self.high_top.d.next = self.number.val() == self.bar2_high.val().get_bits::<16>(16);
                self.zero_top.d.next = !self.number.val().any();
            }
            if self.place.val() == bits::<5>(5) {
                self.high_low.d.next = self.number.val() == self.bar2_high.val().get_bits::<16>(0);
                self.zero_low.d.next = !self.number.val().any();
            }
            // Behind a short address there is data.
            if (self.place.val() == bits::<5>(4)) | ((self.place.val() == bits::<5>(6)) & self.four.val()) {
                self.low0.d.next = self.number.val() == self.bar0.val().get_bits::<16>(16);
                self.low2.d.next = (self.number.val() & self.pages.val())
                    == (self.bar2.val().get_bits::<16>(16) & self.pages.val());
            }
        }
        self.below.d.next = !self.bar2_high.val().any();
        self.in_bar0.next =
            self.low0.q.val() & (!self.four.val() | (self.zero_top.q.val() & self.zero_low.q.val()));
        self.in_bar2.next = self.low2.q.val()
            & ((!self.four.val() & self.below.q.val())
                | (self.four.val() & self.high_top.q.val() & self.high_low.q.val()));
        self.hit.d.next = self.memory.val() & (self.in_bar0.val() | self.in_bar2.val());
        self.is_high.d.next = !self.in_bar0.val();
        drive!(self, hit.q => hits; is_high.q => high);
    }
}
