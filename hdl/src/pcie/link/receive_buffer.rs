//! Keeps a received TLP until it is known whether it is good, and then gives it on.
//!
//! ```text
//!   piece ──►┌───────────────┐──► arrived
//!  ending ──►│ ReceiveBuffer │──► fits, kind
//!    keep ──►│               │
//!    drop ──►└───────────────┘
//! ```
//! Contract: what lies between the sequence number and the LCRC is stored. `keep` gives it to `arrived`, `drop` forgets it; one of them
//! comes 2 cycles behind each end of a TLP, good or not. The first words of the next TLP may have come by then: they wait in registers.
//!
//! `fits` says a cycle behind `ending` that the TLP is 3 to 69 double words long. `kind` is its first byte, from its third word on until
//! the third cycle behind `ending`.
//!
//! `arrived` needs no `ready`: a word comes in at most every cycle, and a word goes out every cycle, so there are never more than two
//! TLPs of the greatest length in 512 rows. What is longer is stored up to that length.
//!
//! Latency: 3 cycles from `keep` to the first word. Throughput: one word every cycle.
//!
//! Example: a TLP of 6 words comes as 9 words and an end; `keep` comes two cycles later, then 6 words at `arrived`.
//!
//! Tests: with the whole, `tests/pcie/link/arrivals.rs`.

use super::packet::{PacketEnding, Piece};
use crate::pcie::bus::TlpWord;
use crate::prims::{Number, Ram};
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReceiveBuffer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets everything.
    pub reset: Signal<In, bool>,
    /// A word of a packet; from `Deframe`.
    pub piece: FlowSink<Piece>,
    /// A packet has ended; from `Deframe`.
    pub ending: FlowSink<PacketEnding>,
    /// The TLP that has ended is good; from `TlpJudge`, as `drop`.
    pub keep: Signal<In, bool>,
    /// The TLP that has ended is damaged, or out of turn.
    pub drop: Signal<In, bool>,
    /// The good TLPs.
    pub arrived: FlowSource<TlpWord>,
    /// The TLP has a length that may be.
    pub fits: Signal<Out, bool>,
    /// The TLP's first byte.
    pub kind: Signal<Out, Bits<8>>,
    ram: Ram<TlpWord, 9>,
    // The last three words: perhaps the LCRC, and the word before it.
    newest: DFF<Bits<16>>,
    middle: DFF<Bits<16>>,
    oldest: DFF<Bits<16>>,
    has_newest: DFF<bool>,
    has_middle: DFF<bool>,
    has_oldest: DFF<bool>,
    /// Words of this TLP that are stored.
    rows: DFF<Bits<8>>,
    /// There were more than there may be.
    long: DFF<bool>,
    /// The row to fill.
    tail: DFF<Bits<9>>,
    /// The row behind the last good TLP.
    good: DFF<Bits<9>>,
    /// The next row to give.
    head: DFF<Bits<9>>,
    reading: DFF<bool>,
    valid: DFF<bool>,
    shown: DFF<TlpWord>,
    first_byte: DFF<Bits<8>>,
    word: Signal<Local, Bits<16>>,
    comes: Signal<Local, bool>,
    closes: Signal<Local, bool>,
    is_row: Signal<Local, bool>,
    write: Signal<Local, bool>,
    most: Number<8, 138>,
    least: Number<8, 6>,
}

impl Logic for ReceiveBuffer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, newest, middle, oldest, has_newest, has_middle, has_oldest, rows, tail, long);
        dff_setup!(self, clock, good, head, reading, valid, shown, first_byte);
        clock!(self, clock, ram);
        drive!(self, piece.data.val().data => word; first_byte.q => kind);
        self.comes.next = self.piece.valid.val() & self.piece.data.val().tlp;
        self.closes.next = self.ending.valid.val() & self.ending.data.val().tlp;

        // The newest three words wait: the last two are the LCRC, and the third is the last one of the TLP if the end comes now.
        // What waits when the next TLP begins is the LCRC of the one before.
        self.is_row.next =
            ((self.comes.val() & !self.piece.data.val().first) | self.closes.val()) & self.has_oldest.q.val();
        self.write.next = self.is_row.val() & (self.rows.q.val() != self.most.val());
        if self.is_row.val() & (self.rows.q.val() == self.most.val()) {
            self.long.d.next = true;
        }
        if self.comes.val() {
            drive!(self, word => newest.d; newest.q => middle.d; middle.q => oldest.d; true => has_newest.d;
                has_newest.q => has_middle.d; has_middle.q => has_oldest.d);
            if self.has_newest.q.val() & !self.has_middle.q.val() {
                self.first_byte.d.next = self.newest.q.val().get_bits::<8>(0);
            }
        }
        drive!(self, write => ram.write_enable; tail.q => ram.write_address);
        self.ram.write_data.next.data = self.oldest.q.val();
        self.ram.write_data.next.first = self.rows.q.val() == bits::<8>(0);
        self.ram.write_data.next.last = self.closes.val();
        if self.write.val() {
            self.tail.d.next = self.tail.q.val() + 1;
            self.rows.d.next = self.rows.q.val() + 1;
        }
        self.fits.next =
            !self.long.q.val() & !self.rows.q.val().get_bit(0) & (self.rows.q.val() >= self.least.val());
        if self.closes.val() {
            // A packet without a word may end in the next cycle: nothing of this TLP may be stored for it.
            self.has_oldest.d.next = false;
        }
        if self.comes.val() & self.piece.data.val().first {
            // The sequence number is not stored.
            drive!(self, false => has_newest.d, has_middle.d, has_oldest.d, long.d);
            self.rows.d.next = bits::<8>(0);
        }
        if self.keep.val() {
            self.good.d.next = self.tail.q.val();
        }
        if self.drop.val() {
            self.tail.d.next = self.good.q.val();
        }

        // The way out.
        self.ram.read_address.next = self.head.q.val();
        self.reading.d.next = self.head.q.val() != self.good.q.val();
        if self.head.q.val() != self.good.q.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        drive!(self, reading.q => valid.d; ram.read_data => shown.d; valid.q => arrived.valid;
            shown.q => arrived.data);
        if self.reset.val() {
            drive!(self, false => has_newest.d, has_middle.d, has_oldest.d, reading.d, valid.d);
            self.tail.d.next = bits::<9>(0);
            self.good.d.next = bits::<9>(0);
            self.head.d.next = bits::<9>(0);
        }
    }
}
