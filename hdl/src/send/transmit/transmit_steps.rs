//! The steps in which transmit deals with a packet or an acknowledgement, and what it keeps of the message under way.
//!
//! ```text
//!               there, takes_ack ──►┌───────────────┐──► step, acking
//!   packet, verdict, has_payload ──►│               │──► starts, advances, enters, breaks, reports
//!        ack, last_psn, reliable ──►│ TransmitSteps │──► under_way, ended, unread, forbidden
//! *_taken, dropped, failure_told ──►│               │──► packet_taken, whole_taken, ack_taken
//!                                   └───────────────┘──► reply_left, ack_left, nak_left
//! ```
//! Contract: from Idle the block goes to Look and Decide with the packet or the acknowledgement whose turn it is, and then on:
//!
//! | in Decide | next |
//! |---|---|
//! | an acknowledgement | Idle, when its frame is taken, or at once if none is made |
//! | a packet that is sent, a read that receive/reads does not know yet | Enter, and with `enter_taken` Decide again |
//! | any other packet that is sent | Report, or Idle if there is nothing to report, when its frame is taken |
//! | a packet that is not sent | Drop, if it has payload; then, or at once, Break; of an answer Fail |
//! | | Break: with the fault, if the VI breaks; then Report, or Idle if there is nothing to report |
//! | | Fail: Idle, when the fault and the NAK of the answer are taken |
//! | | Report: Idle |
//!
//! What others go on with (`*_left`, `packet_taken`, `whole_taken`) comes from registers, a cycle later: no decision here is part of their
//! paths. `packet_taken` says that the packet on show is done with; in that cycle it is still on show.
//!
//! Latency: 2 cycles from Idle to Decide.
//!
//! Example: a whole packet of a reliable VI is there. Look and Decide follow; the framer takes the frame in Decide, and Report says what
//! has left. In the next Idle `packet_taken` is high.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

#![allow(missing_docs, reason = "derive(LogicState) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::control;

use super::ack_judge::AckVerdict;
use super::announce::PacketEnd;
use super::packet_judge::{MessageUnderWay, PacketVerdict};
use crate::bus::Packet;
use crate::prims::Number;

/// See the module's table.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum TransmitStep {
    /// Nothing is at hand.
    Idle,
    /// The state of the VI comes from its memory.
    Look,
    /// A frame is made, or not.
    Decide,
    /// receive/reads, which waits for the answer, hears of the read.
    Enter,
    /// The packet's payload is dropped.
    Drop,
    /// The VI breaks, if it is to.
    Break,
    /// Tell complete/sends what has become of the packet or its message.
    Report,
    /// Have the fault and the NAK of an answer told that cannot be sent.
    Fail,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TransmitSteps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block goes to Idle, and forgets the message under way.
    pub reset: Signal<In, bool>,
    /// A packet or an acknowledgement can be begun; transmit drives this and the other inputs.
    pub there: Signal<In, bool>,
    /// It is the acknowledgement's turn.
    pub takes_ack: Signal<In, bool>,
    /// The packet on show, from gather.
    pub packet: Signal<In, Packet>,
    /// Whether the packet is sent, and what happens otherwise.
    pub verdict: Signal<In, PacketVerdict>,
    /// The packet has payload.
    pub has_payload: Signal<In, bool>,
    /// The last PSN that the packet takes.
    pub last_psn: Signal<In, Bits<24>>,
    /// The VI at hand is reliable.
    pub reliable: Signal<In, bool>,
    /// Whether a frame is made of the acknowledgement on show.
    pub ack: Signal<In, AckVerdict>,
    /// The framer takes a frame.
    pub start_taken: Signal<In, bool>,
    /// receive/reads takes the read.
    pub enter_taken: Signal<In, bool>,
    /// The payload of the packet is dropped.
    pub dropped: Signal<In, bool>,
    /// `vi/state` takes the fault.
    pub break_taken: Signal<In, bool>,
    /// The fault and the NAK of the answer are taken, or there is nothing to tell.
    pub failure_told: Signal<In, bool>,
    /// complete/sends takes the report.
    pub report_taken: Signal<In, bool>,
    /// The step of this cycle.
    pub step: Signal<Out, TransmitStep>,
    /// The acknowledgement is at hand; otherwise it is the packet.
    pub acking: Signal<Out, bool>,
    /// How far the message under way has come, for the judge.
    pub under_way: Signal<Out, MessageUnderWay>,
    /// How the packet at hand has ended.
    pub ended: Signal<Out, PacketEnd>,
    /// The packet is one of an answer that is not sent: its bytes could not be read, or must not be.
    pub unread: Signal<Out, bool>,
    /// With `unread`: they must not be.
    pub forbidden: Signal<Out, bool>,
    /// A frame is to be made.
    pub starts: Signal<Out, bool>,
    /// The VI's next PSN is the one behind the packet.
    pub advances: Signal<Out, bool>,
    /// The read is to be told.
    pub enters: Signal<Out, bool>,
    /// The fault is offered to `vi/state`.
    pub breaks: Signal<Out, bool>,
    /// complete/sends is to be told what has become of the packet or its message.
    pub reports: Signal<Out, bool>,
    /// Pulses when the block is done with the acknowledgement.
    pub ack_taken: Signal<Out, bool>,
    /// Pulses when the block is done with the packet on show; the next one is on show in the cycle behind this.
    pub packet_taken: Signal<Out, bool>,
    /// Pulses when the block is done with what `whole` says of the packet's payload.
    pub whole_taken: Signal<Out, bool>,
    /// A packet of an answer has left or was dropped.
    pub reply_left: Signal<Out, bool>,
    /// A positive acknowledgement has left.
    pub ack_left: Signal<Out, bool>,
    /// A negative acknowledgement has left, and no receiver-not-ready answer.
    pub nak_left: Signal<Out, bool>,
    at: DFF<TransmitStep>,
    ack_turn: DFF<bool>,
    message: DFF<MessageUnderWay>,
    packet_end: DFF<PacketEnd>,
    /// The VI breaks by the packet that is dropped.
    must_break: DFF<bool>,
    /// The packet is of an earlier epoch, so complete/sends is not told.
    silent: DFF<bool>,
    /// The read at hand is known to receive/reads.
    entered: DFF<bool>,
    cannot_read: DFF<bool>,
    may_not_read: DFF<bool>,
    takes_packet: DFF<bool>,
    takes_whole: DFF<bool>,
    reply_leaves: DFF<bool>,
    ack_leaves: DFF<bool>,
    nak_leaves: DFF<bool>,
    /// The packet is a read that receive/reads does not know yet.
    must_enter: Signal<Local, bool>,
    /// The packet is sent, or dropped and its break taken.
    done: Signal<Local, bool>,
    op_read: Number<2, { control::OP_RDMAREAD as u64 }>,
}

impl Logic for TransmitSteps {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, ack_turn, message, packet_end, must_break, silent, entered);
        dff_setup!(self, clock, cannot_read, may_not_read, takes_packet, takes_whole);
        dff_setup!(self, clock, reply_leaves, ack_leaves, nak_leaves);
        self.must_enter.next = (self.packet.val().operation == self.op_read.val()) & !self.entered.q.val();
        drive!(self, false => starts, advances, ack_taken);
        self.takes_packet.d.next = false;
        self.takes_whole.d.next = false;
        self.reply_leaves.d.next = false;
        self.ack_leaves.d.next = false;
        self.nak_leaves.d.next = false;
        self.done.next = false;
        match self.at.q.val() {
            TransmitStep::Idle => {
                self.entered.d.next = false;
                if self.there.val() {
                    self.ack_turn.d.next = self.takes_ack.val();
                    self.at.d.next = TransmitStep::Look;
                }
            }
            TransmitStep::Look => {
                self.at.d.next = TransmitStep::Decide;
            }
            TransmitStep::Decide => {
                self.packet_end.d.next.reliable = self.reliable.val();
                self.packet_end.d.next.psn = self.last_psn.val();
                if self.ack_turn.q.val() {
                    self.starts.next = self.ack.val().told;
                    if !self.ack.val().told | self.start_taken.val() {
                        self.ack_taken.next = true;
                        self.ack_leaves.d.next = self.ack.val().positive;
                        self.nak_leaves.d.next = self.ack.val().nak;
                        self.at.d.next = TransmitStep::Idle;
                    }
                } else if self.verdict.val().sends & self.must_enter.val() {
                    self.at.d.next = TransmitStep::Enter;
                } else if self.verdict.val().sends & self.packet.val().reply {
                    self.starts.next = true;
                    if self.start_taken.val() {
                        self.takes_whole.d.next = self.has_payload.val();
                        self.reply_leaves.d.next = true;
                        self.takes_packet.d.next = true;
                        self.at.d.next = TransmitStep::Idle;
                    }
                } else if self.packet.val().reply {
                    self.cannot_read.d.next = self.verdict.val().unread;
                    self.may_not_read.d.next = self.verdict.val().forbidden;
                    self.takes_whole.d.next = self.has_payload.val();
                    self.at.d.next = TransmitStep::Fail;
                    if self.has_payload.val() {
                        self.at.d.next = TransmitStep::Drop;
                    }
                } else if self.verdict.val().sends {
                    self.starts.next = true;
                    if self.start_taken.val() {
                        // WQ-3: a packet that is not sent uses no PSN; the next message has it.
                        self.advances.next = true;
                        self.takes_whole.d.next = self.has_payload.val();
                        self.message.d.next.started = true;
                        self.message.d.next.dropping = false;
                        self.packet_end.d.next.errors = bits::<9>(0);
                        self.done.next = true;
                    }
                } else {
                    self.takes_whole.d.next = self.has_payload.val();
                    self.must_break.d.next = false;
                    self.message.d.next.started = self.verdict.val().started;
                    if !self.verdict.val().dropping {
                        // A packet whose drop began in its own epoch is told even if the epoch turns meanwhile: it may have broken the VI.
                        self.silent.d.next = self.verdict.val().stale;
                        self.packet_end.d.next.errors = self.verdict.val().error;
                        self.must_break.d.next = self.verdict.val().breaks;
                    }
                    self.message.d.next.dropping = true;
                    self.at.d.next = TransmitStep::Break;
                    if self.has_payload.val() {
                        self.at.d.next = TransmitStep::Drop;
                    }
                }
            }
            TransmitStep::Enter => {
                if self.enter_taken.val() {
                    self.entered.d.next = true;
                    self.at.d.next = TransmitStep::Decide;
                }
            }
            TransmitStep::Drop => {
                if self.dropped.val() {
                    self.at.d.next = TransmitStep::Break;
                    if self.packet.val().reply {
                        self.at.d.next = TransmitStep::Fail;
                    }
                }
            }
            TransmitStep::Break => {
                self.done.next = !self.must_break.q.val() | self.break_taken.val();
            }
            TransmitStep::Fail => {
                if self.failure_told.val() {
                    self.reply_leaves.d.next = true;
                    self.takes_packet.d.next = true;
                    self.at.d.next = TransmitStep::Idle;
                }
            }
            TransmitStep::Report => {
                if self.report_taken.val() {
                    self.takes_packet.d.next = true;
                    self.entered.d.next = false;
                    if self.packet.val().last {
                        self.message.d.next.started = false;
                        self.message.d.next.dropping = false;
                    }
                    self.at.d.next = TransmitStep::Idle;
                }
            }
            _ => {}
        }
        if self.done.val() {
            // Of a reliable VI each packet that has left is told, of others the message's end; a dropped message is told at its end,
            // unless it is stale.
            if ((self.at.q.val() == TransmitStep::Decide) & (self.reliable.val() | self.packet.val().last))
                | (self.packet.val().last & !self.silent.q.val())
            {
                self.at.d.next = TransmitStep::Report;
            } else {
                self.takes_packet.d.next = true;
                self.at.d.next = TransmitStep::Idle;
            }
        }

        drive!(self, at.q => step; ack_turn.q => acking; message.q => under_way; packet_end.q => ended;
            cannot_read.q => unread; may_not_read.q => forbidden; takes_packet.q => packet_taken;
            takes_whole.q => whole_taken; reply_leaves.q => reply_left; ack_leaves.q => ack_left;
            nak_leaves.q => nak_left);
        self.enters.next = self.at.q.val() == TransmitStep::Enter;
        self.breaks.next = (self.at.q.val() == TransmitStep::Break) & self.must_break.q.val();
        self.reports.next = self.at.q.val() == TransmitStep::Report;
        if self.reset.val() {
            self.at.d.next = TransmitStep::Idle;
            self.takes_packet.d.next = false;
            self.takes_whole.d.next = false;
            self.silent.d.next = false;
            self.ack_turn.d.next = false;
            self.message.d.next.started = false;
            self.message.d.next.dropping = false;
        }
    }
}
