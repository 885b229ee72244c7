//! Puts packets, ordered sets and idle on the lane, one behind the other.
//!
//! ```text
//!    line ──►┌──────┐──► word
//!   order ──►│ Lane │──► began, began_tag
//!   reset ──►└──────┘──► settled
//! ```
//! Contract: nothing is cut: a new order counts when the set or packet under way has ended. A SKP set that is due goes first; owed ones
//! follow a packet one behind the other. Before electrical idle goes EIOS. `line.ready` is high in the cycles in which a packet may begin
//! or go on; the word of such a cycle is the packet's, or idle if there is none.
//!
//! `began` pulses for each training set begun, and for each word of ordered logical idle; `began_tag` is the tag of the order that it was
//! begun for. `settled` says that the lane has been in electrical idle for 120 ns.
//!
//! Latency: `word` 1 cycle behind `line`. An order counts 1 cycle later, when nothing is under way.
//!
//! Example: the order changes from packets to training in the middle of a packet: its last word, then COM.
//!
//! Tests: `tests/pcie/mac/skp.rs`, and with the whole.

use super::set_writer::SetKind;
use super::symbol::OutgoingSymbols;
use super::{LaneOrder, SetWriter, SkpDue};
use crate::pcie::bus::LineWord;
use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What is sent in this cycle.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Mode {
    Silent,
    Set,
    Idle,
    Open,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Lane {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Electrical idle at once.
    pub reset: Signal<In, bool>,
    /// Packets, from `link`.
    pub line: Sink<LineWord>,
    /// What is to be sent, from the LTSSM.
    pub order: Signal<In, LaneOrder>,
    /// We ask for scrambling off; a constant of `PcieMac`.
    pub no_scramble: Signal<In, bool>,
    /// Two symbols, for `Scramble`.
    pub word: Signal<Out, OutgoingSymbols>,
    /// A training set or a word of ordered idle is begun, for `Progress`.
    pub began: Signal<Out, bool>,
    /// The tag of the order that `began` is for.
    pub began_tag: Signal<Out, bool>,
    /// The lane has been in electrical idle for 16 cycles, for the LTSSM.
    pub settled: Signal<Out, bool>,
    mode: DFF<Mode>,
    kind: DFF<SetKind>,
    place: DFF<Bits<3>>,
    /// The order that the training set under way was begun for.
    obeyed: DFF<LaneOrder>,
    begins: DFF<bool>,
    begins_tag: DFF<bool>,
    /// What is sent ends with this cycle.
    ends: Signal<Local, bool>,
    /// A SKP set is begun.
    skips: Signal<Local, bool>,
    writer: SetWriter,
    skp: SkpDue,
    packet: Signal<Local, Bits<16>>,
    packet_k: Signal<Local, Bits<2>>,
    sent: DFF<OutgoingSymbols>,
    still: DFF<Bits<5>>,
}

impl Logic for Lane {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, mode, kind, place, obeyed, begins, begins_tag, sent, still);
        clock!(self, clock, skp);
        drive!(self, sent.q => word; begins.q => began; begins_tag.q => began_tag; kind.q => writer.kind;
            no_scramble => writer.no_scramble;
            place.q => writer.place; obeyed.q => writer.order; line.data.val().data => packet;
            line.data.val().k => packet_k; order.val().tag => begins_tag.d; false => begins.d, skips);
        self.line.ready.next = self.mode.q.val() == Mode::Open;

        // What is sent.
        fill!(self, sent.d, writer.word.val().low => low; writer.word.val().high => high;
            writer.word.val().low_k => low_k; writer.word.val().high_k => high_k;
            writer.word.val().com => com; writer.word.val().skp => skp;
            writer.word.val().training => training; false => silent);
        self.ends.next = true;
        self.skp.silent.next = false;
        self.still.d.next = bits::<5>(0);
        match self.mode.q.val() {
            Mode::Set => {
                self.ends.next = (self.place.q.val() == bits::<3>(7))
                    | (self.place.q.val().get_bit(0) & (self.kind.q.val() != SetKind::Training));
            }
            Mode::Open => {
                self.ends.next = !self.line.valid.val() | self.line.data.val().last;
                fill!(self, sent.d, false => low_k, high_k, com, skp, training);
                self.sent.d.next.low = bits::<8>(0);
                self.sent.d.next.high = bits::<8>(0);
                if self.line.valid.val() {
                    self.sent.d.next.low = self.packet.val().get_bits::<8>(0);
                    self.sent.d.next.high = self.packet.val().get_bits::<8>(8);
                    self.sent.d.next.low_k = self.packet_k.val().get_bit(0);
                    self.sent.d.next.high_k = self.packet_k.val().get_bit(1);
                }
            }
            Mode::Idle => {
                fill!(self, sent.d, false => low_k, high_k, com, skp, training);
                self.sent.d.next.low = bits::<8>(0);
                self.sent.d.next.high = bits::<8>(0);
            }
            Mode::Silent => {
                fill!(self, sent.d, true => silent; false => low_k, high_k, com, skp, training);
                self.sent.d.next.low = bits::<8>(0);
                self.sent.d.next.high = bits::<8>(0);
                self.skp.silent.next = true;
                self.still.d.next = self.still.q.val() + 1;
                if self.still.q.val().get_bit(4) {
                    self.still.d.next = self.still.q.val();
                }
            }
        }
        self.settled.next = self.still.q.val().get_bit(4);

        // What is sent next.
        self.place.d.next = self.place.q.val() + 1;
        if self.ends.val() {
            self.place.d.next = bits::<3>(0);
            self.obeyed.d.next = self.order.val();
            self.mode.d.next = Mode::Set;
            if self.order.val().silent {
                self.kind.d.next = SetKind::Farewell;
                if (self.mode.q.val() == Mode::Silent)
                    | ((self.mode.q.val() == Mode::Set) & (self.kind.q.val() == SetKind::Farewell))
                {
                    self.mode.d.next = Mode::Silent;
                }
            } else if self.skp.due.val() {
                self.kind.d.next = SetKind::Skp;
                self.skips.next = true;
            } else if self.order.val().training {
                self.kind.d.next = SetKind::Training;
                self.begins.d.next = true;
            } else if self.order.val().idle {
                self.mode.d.next = Mode::Idle;
                self.begins.d.next = true;
            } else {
                self.mode.d.next = Mode::Open;
            }
        }
        self.skp.begun.next = self.skips.val();
        if self.reset.val() {
            self.mode.d.next = Mode::Silent;
            self.still.d.next = bits::<5>(0);
            self.begins.d.next = false;
        }
    }
}
