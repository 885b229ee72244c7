//! Judges the TLPs that come: by LCRC, length and sequence number.
//!
//! ```text
//!  begins, piece ──►┌──────────┐──► arrived
//!         ending ──►│ TlpJudge │──► judged
//!        damaged ──►│          │──► expected
//!          hears ──►└──────────┘
//! ```
//! Contract: a TLP with a right LCRC is `taken` if its number is `expected`, and comes `again` if its number is up to 2048 behind.
//! Otherwise it is `bad`, as are all that are damaged. A nullified TLP (LCRC complemented, and EDB) is nothing at all. Only what is taken
//! goes to `arrived`. While `hears` is low nothing is taken, and nothing is bad.
//!
//! Latency: `judged` 3 cycles behind `ending`, `arrived` 5.
//!
//! Example: `expected` is 7. A good TLP 7 is taken, and `expected` is 8. TLP 7 comes again. TLP 9 is bad: 8 is missing.
//!
//! Tests: `tests/pcie/link/arrivals.rs`.

use super::packet::{Judged, PacketEnding, Piece};
use super::receive_buffer::ReceiveBuffer;
use super::tlp_class::TlpClass;
use crate::pcie::bus::TlpWord;
use crate::prims::{crc32_steps, NarrowCrc32, Number, WireOrder};
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What a good TLP leaves: the state meets its own complement, which makes all ones of it, and takes 32 steps.
const RESIDUE: u64 = crc32_steps(!0, 32) as u64;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpJudge {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The next number is 0, and nothing is kept.
    pub reset: Signal<In, bool>,
    /// TLPs may come; from `Activity`.
    pub hears: Signal<In, bool>,
    /// A packet begins; from `Deframe`, as the three below.
    pub begins: Signal<In, bool>,
    /// A word of a packet.
    pub piece: FlowSink<Piece>,
    /// A packet has ended.
    pub ending: FlowSink<PacketEnding>,
    /// A TLP was cut.
    pub damaged: Signal<In, bool>,
    /// The good TLPs.
    pub arrived: FlowSource<TlpWord>,
    /// What became of a TLP.
    pub judged: Signal<Out, Judged>,
    /// The next number.
    pub expected: Signal<Out, Bits<12>>,
    buffer: ReceiveBuffer,
    crc: NarrowCrc32<16>,
    sorter: TlpClass,
    word: Signal<Local, Bits<16>>,
    /// The word as a number: its first byte is the high one.
    value: WireOrder<16>,
    number: DFF<Bits<12>>,
    next: DFF<Bits<12>>,
    behind: DFF<Bits<12>>,
    is_next: DFF<bool>,
    is_old: DFF<bool>,
    // A cycle behind the end.
    ended: DFF<bool>,
    edb: DFF<bool>,
    right: DFF<bool>,
    opposite: DFF<bool>,
    cut: DFF<bool>,
    // Two cycles behind it.
    over: DFF<bool>,
    good: DFF<bool>,
    nullified: DFF<bool>,
    hurt: DFF<bool>,
    taken: Signal<Local, bool>,
    verdict: DFF<Judged>,
    residue: Number<32, RESIDUE>,
    nothing: Number<32, 0>,
    half: Number<12, 2048>,
}

impl Logic for TlpJudge {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, number, next, behind, is_next, is_old, ended, edb, right, opposite, cut);
        dff_setup!(self, clock, over, good, nullified, hurt, verdict);
        clock!(self, clock, buffer, crc);
        drive!(self, reset => buffer.reset; begins => crc.start; piece.data.val().data => word, value.from, crc.sink.data;
            piece.valid => crc.sink.valid, buffer.piece.valid; piece.data => buffer.piece.data;
            ending.valid => buffer.ending.valid; ending.data => buffer.ending.data; next.q => expected;
            verdict.q => judged);

        // Where the number lies. It is known long before the end.
        if self.piece.valid.val() & self.piece.data.val().tlp & self.piece.data.val().first {
            self.number.d.next = bit_cast::<12, 16>(self.value.to.val());
        }
        self.behind.d.next = self.next.q.val() - self.number.q.val();
        self.is_next.d.next = !self.behind.q.val().any();
        self.is_old.d.next = self.behind.q.val().any() & (self.behind.q.val() <= self.half.val());

        // The check sum, then the verdict.
        self.ended.d.next = self.ending.valid.val() & self.ending.data.val().tlp;
        self.edb.d.next = self.ending.data.val().edb;
        self.right.d.next = self.crc.value.val() == self.residue.val();
        self.opposite.d.next = self.crc.value.val() == self.nothing.val();
        drive!(self, damaged => cut.d; cut.q => hurt.d; ended.q => over.d);
        self.good.d.next =
            self.ended.q.val() & self.buffer.fits.val() & self.right.q.val() & !self.edb.q.val();
        self.nullified.d.next = self.buffer.fits.val() & self.opposite.q.val() & self.edb.q.val();
        self.taken.next = self.good.q.val() & self.is_next.q.val() & self.hears.val();
        self.sorter.kind.next = self.buffer.kind.val();
        self.verdict.d.next.taken = self.taken.val();
        self.verdict.d.next.again = self.good.q.val() & self.is_old.q.val() & self.hears.val();
        self.verdict.d.next.bad = self.hears.val()
            & (self.hurt.q.val()
                | (self.over.q.val() & !self.good.q.val() & !self.nullified.q.val())
                | (self.good.q.val() & !self.is_next.q.val() & !self.is_old.q.val()));
        self.verdict.d.next.non_posted = self.sorter.sort.val() == bits::<2>(1);
        self.verdict.d.next.with_data = self.sorter.with_data.val();
        self.buffer.keep.next = self.taken.val();
        self.buffer.drop.next = (self.over.q.val() | self.hurt.q.val()) & !self.taken.val();
        if self.taken.val() {
            self.next.d.next = self.next.q.val() + 1;
        }
        FlowSource::<TlpWord>::link(&mut self.arrived, &mut self.buffer.arrived);
        if self.reset.val() {
            self.next.d.next = bits::<12>(0);
            drive!(self, false => ended.d, over.d, good.d, cut.d, hurt.d);
            fill!(self, verdict.d, false => taken, again, bad);
        }
    }
}
