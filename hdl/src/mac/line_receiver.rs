//! Makes the beats of a frame from the bytes of the wire, in the PHY's clock.
//!
//! ```text
//!  line ──►┌──────────────┐──► beat
//!          │ LineReceiver │──► status
//!          └──────────────┘
//! ```
//! Contract: a frame is what lies between the delimiter (D5, behind nothing but 55) and the end of `line.valid`, less four bytes of FCS.
//! Its last beat says whether it is good. A frame of more than [`LONGEST`] bytes ends there with a reason, and its rest is dropped. Every
//! frame gives a last beat; for a frame of four bytes or fewer that beat is empty.
//!
//! The block does not wait for `beat.ready`: a beat that finds it low is lost, and with it the rest of its frame. An empty last beat
//! with OVERRUN follows when `beat.ready` is high again. So two frames never grow together.
//!
//! Between frames the PHY may show its status, twice in each byte; `status` is what it showed last.
//!
//! Latency: a beat comes 8 cycles after its last byte, the last beat of a frame up to 10. Two frames need 9 cycles between them; preamble
//! and gap give 20.
//!
//! There is no reset, because it would be of another clock. A frame that is half way in when the core is reset ends as damaged.
//!
//! Example: a good frame of 64 bytes, FCS and all, gives 8 beats; the last has `count` 4 and no reason.
//!
//! Tests: `tests/mac/receive.rs`.

use super::beat::{reason, LineByte, MacBeat, PhyStatus, LONGEST};
use crate::prims::{Cast, NarrowCrc32, Number};
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Frame,
    Skip,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct LineReceiver {
    /// Rising edge, 125 MHz; the PHY's clock.
    pub clock: Signal<In, Clock>,
    /// A byte of a frame or of its preamble; between frames, the PHY's status; from `Rgmii`.
    pub line: Signal<In, LineByte>,
    /// A beat of a frame, over the crossing to the core; it is offered for one cycle only.
    pub beat: Source<MacBeat>,
    /// What the PHY says of itself, for the user of `Mac`.
    pub status: Signal<Out, PhyStatus>,
    state: DFF<State>,
    fcs: NarrowCrc32<8>,
    /// The PHY's status, as it was shown last.
    shown_status: DFF<PhyStatus>,
    /// The byte on the line.
    octet: Signal<Local, Bits<8>>,
    status_bits: Cast<Bits<4>, PhyStatus>,
    /// The last four bytes, the newest in bits 31:24: perhaps the FCS.
    held: DFF<Bits<32>>,
    /// Bytes of the frame so far, FCS and all.
    length: DFF<Bits<13>>,
    /// The frame has four bytes or more.
    primed: DFF<bool>,
    /// The frame has as many bytes as may be.
    enough: DFF<bool>,
    /// The PHY has marked an error in the frame.
    errored: DFF<bool>,
    /// The newest bytes that go into a beat, in the high lanes.
    word: DFF<Bits<64>>,
    /// How many bytes of `word` count.
    lanes: DFF<Bits<4>>,
    /// The frame has ended: `word` moves to its place.
    closing: DFF<bool>,
    /// Bytes of the last beat.
    count: DFF<Bits<4>>,
    /// The reason of the frame that ends.
    verdict: DFF<Bits<3>>,
    /// The beat that was made in the cycle before: it is taken now or never.
    made: DFF<bool>,
    /// The beat that was made.
    kept: DFF<MacBeat>,
    /// A beat was lost: its frame's end has to be said.
    lost: DFF<bool>,
    /// What comes of this frame is dropped.
    dropping: DFF<bool>,
    full: Signal<Local, bool>,
    give: Signal<Local, bool>,
    finish: Signal<Local, bool>,
    offered: Signal<Local, bool>,
    shown: Signal<Local, MacBeat>,
    preamble: Number<8, 0x55>,
    delimiter: Number<8, 0xd5>,
    residue: Number<32, 0xdebb_20e3>,
    shortest: Number<13, 64>,
    /// With FCS, one less.
    longest: Number<13, { LONGEST + 3 }>,
    fcs_wrong: Number<3, { reason::FCS }>,
    runt: Number<3, { reason::RUNT }>,
    long: Number<3, { reason::LONG }>,
    coding: Number<3, { reason::CODING }>,
    overrun: Number<3, { reason::OVERRUN }>,
}

impl Logic for LineReceiver {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, shown_status, held, length, primed, enough, errored, word, lanes);
        dff_setup!(self, clock, closing, count, verdict, lost, dropping, made, kept);
        clock!(self, clock, fcs);
        drive!(self, line.val().data => octet; shown_status.q => status);
        self.status_bits.from.next = self.octet.val().get_bits::<4>(0);
        if !self.line.val().valid
            & !self.line.val().error
            & (self.octet.val().get_bits::<4>(0) == self.octet.val().get_bits::<4>(4))
        {
            self.shown_status.d.next = self.status_bits.to.val();
        }

        // Where a frame begins and ends.
        drive!(self, false => give, finish, fcs.start, fcs.sink.valid; octet => fcs.sink.data);
        self.enough.d.next = false;
        match self.state.q.val() {
            State::Idle => {
                self.fcs.start.next = true;
                self.length.d.next = bits::<13>(0);
                self.primed.d.next = false;
                self.errored.d.next = false;
                if self.line.val().valid & (self.octet.val() != self.preamble.val()) {
                    self.state.d.next = State::Skip;
                    if (self.octet.val() == self.delimiter.val()) & !self.closing.q.val() {
                        self.state.d.next = State::Frame;
                    }
                }
            }
            State::Frame => {
                if self.line.val().valid & !self.enough.q.val() {
                    self.fcs.sink.valid.next = true;
                    self.held.d.next = (self.held.q.val() >> 8) | (bit_cast::<32, 8>(self.octet.val()) << 24);
                    self.length.d.next = self.length.q.val() + 1;
                    self.errored.d.next = self.errored.q.val() | self.line.val().error;
                    self.give.next = self.primed.q.val();
                    if self.length.q.val() == bits::<13>(3) {
                        self.primed.d.next = true;
                    }
                    self.enough.d.next = self.length.q.val() == self.longest.val();
                } else {
                    self.finish.next = true;
                    self.state.d.next = State::Idle;
                    if self.line.val().valid {
                        self.state.d.next = State::Skip;
                    }
                }
            }
            State::Skip => {
                if !self.line.val().valid {
                    self.state.d.next = State::Idle;
                }
            }
        }

        // Bytes into words.
        self.full.next = self.lanes.q.val() == bits::<4>(8);
        self.offered.next = false;
        self.shown.next.data = self.word.q.val();
        self.shown.next.count = bits::<4>(8);
        self.shown.next.last = false;
        self.shown.next.reason = bits::<3>(0);
        if self.give.val() {
            self.word.d.next = (self.word.q.val() >> 8) | (bit_cast::<64, 32>(self.held.q.val()) << 56);
            self.lanes.d.next = self.lanes.q.val() + 1;
            if self.full.val() {
                self.offered.next = true;
                self.lanes.d.next = bits::<4>(1);
            }
        }
        if self.closing.q.val() {
            self.word.d.next = self.word.q.val() >> 8;
            self.lanes.d.next = self.lanes.q.val() + 1;
            if self.full.val() {
                self.offered.next = true;
                fill!(self, shown, count.q => count; true => last; verdict.q => reason);
                self.closing.d.next = false;
                self.lanes.d.next = bits::<4>(0);
            }
        }
        if self.finish.val() {
            self.closing.d.next = true;
            self.count.d.next = self.lanes.q.val();
            self.verdict.d.next = bits::<3>(0);
            if self.fcs.value.val() != self.residue.val() {
                self.verdict.d.next = self.fcs_wrong.val();
            }
            if self.errored.q.val() {
                self.verdict.d.next = self.coding.val();
            }
            if self.length.q.val() < self.shortest.val() {
                self.verdict.d.next = self.runt.val();
            }
            if self.line.val().valid {
                self.verdict.d.next = self.long.val();
            }
        }

        // Words into the crossing.
        self.made.d.next = self.offered.val();
        self.kept.d.next = self.shown.val();
        self.beat.valid.next = self.lost.q.val() | (self.made.q.val() & !self.dropping.q.val());
        self.beat.data.next = self.kept.q.val();
        if self.lost.q.val() {
            self.beat.data.next.count = bits::<4>(0);
            self.beat.data.next.last = true;
            self.beat.data.next.reason = self.overrun.val();
            if self.beat.ready.val() {
                self.lost.d.next = false;
            }
        }
        if self.made.q.val() {
            if self.lost.q.val() | self.dropping.q.val() {
                self.dropping.d.next = !self.kept.q.val().last;
            } else if !self.beat.ready.val() {
                self.lost.d.next = true;
                self.dropping.d.next = !self.kept.q.val().last;
            }
        }
    }
}
