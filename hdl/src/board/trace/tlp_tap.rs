//! Takes the first eight words of each TLP that passes.
//!
//! ```text
//!         ┌────────┐
//!  tlp ──►│ TlpTap │──► record
//!         └────────┘
//! ```
//! Contract: a record is offered when its TLP's last word or its eighth has passed, until it is taken. A TLP that begins before that is
//! left out, and the next record says `missed`.
//!
//! Latency: 1 cycle.
//!
//! Example: six words pass; the record has their twelve bytes, the first in bits 95:88, and count 6.
//!
//! Tests: `tests/pcie/trace.rs`.

use super::Record;
use crate::pcie::bus::TlpWord;
use crate::prims::WireOrder;
use crate::stream::{FlowSink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct TlpTap {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// TLPs that pass, from `Card`.
    pub tlp: FlowSink<TlpWord>,
    /// What is kept of one.
    pub record: Source<Record>,
    words: DFF<Bits<128>>,
    count: DFF<Bits<4>>,
    /// A record is offered.
    whole: DFF<bool>,
    /// A TLP is under way that is taken down.
    takes: DFF<bool>,
    missed: DFF<bool>,
    /// `missed` of the record that is offered or made.
    marked: DFF<bool>,
    went: Constant<bool>,
    made: Signal<Local, Record>,
    word: Signal<Local, Bits<16>>,
    /// The word as a number: its first byte is the high one.
    value: WireOrder<16>,
    writes: Signal<Local, bool>,
    first: Signal<Local, bool>,
    shifted: Signal<Local, Bits<128>>,
    number: Signal<Local, Bits<4>>,
}

impl TlpTap {
    /// Of what goes to the host, or of what comes from there.
    pub fn new(went: bool) -> Self {
        Self {
            clock: Default::default(),
            tlp: Default::default(),
            record: Default::default(),
            words: Default::default(),
            count: Default::default(),
            whole: Default::default(),
            takes: Default::default(),
            missed: Default::default(),
            marked: Default::default(),
            went: Constant::new(went),
            made: Default::default(),
            word: Default::default(),
            value: Default::default(),
            writes: Default::default(),
            first: Default::default(),
            shifted: Default::default(),
            number: Default::default(),
        }
    }
}

impl Logic for TlpTap {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, words, count, whole, takes, missed, marked);
        fill!(self, made, words.q => words; count.q => count; went => went; marked.q => missed);
        drive!(self, whole.q => record.valid; made => record.data);
        if self.record.ready.val() {
            self.whole.d.next = false;
        }
        self.first.next = self.tlp.valid.val() & self.tlp.data.val().first;
        self.writes.next = self.tlp.valid.val() & self.takes.q.val() & !self.first.val();
        self.word.next = self.tlp.data.val().data;
        self.number.next = self.count.q.val();
        if self.first.val() {
            if self.whole.q.val() & !self.record.ready.val() {
                self.missed.d.next = true;
                self.takes.d.next = false;
            } else {
                self.writes.next = true;
                self.takes.d.next = true;
                self.number.next = bits::<4>(0);
                self.marked.d.next = self.missed.q.val();
                self.missed.d.next = false;
            }
        }
        drive!(self, word => value.from);
        self.shifted.next = (self.words.q.val() << 16) | bit_cast::<128, 16>(self.value.to.val());
        if self.writes.val() {
            self.words.d.next = self.shifted.val();
            self.count.d.next = self.number.val() + 1;
            if self.tlp.data.val().last | (self.number.val() == bits::<4>(7)) {
                self.whole.d.next = true;
                self.takes.d.next = false;
            }
        }
    }
}
