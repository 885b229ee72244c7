//! Decides whether a packet is sent, and what is wrong with it otherwise.
//!
//! ```text
//!    packet, whole ──►┌─────────────┐──► verdict
//!              now ──►│ PacketJudge │──► has_payload
//!        under_way ──►└─────────────┘
//! ```
//! Contract: `packet` and `whole` stand for two cycles at least, and `verdict` counts from the second one on: in the first the block does
//! its long comparisons. A message completes with the first error that it meets, so an error does not count while the rest of a message
//! is dropped.
//!
//! Latency: 1 cycle.
//!
//! Example: the bytes of a reliable VI's packet were refused: `verdict` says not `sends`, PROTECTION_ERROR, and `breaks`.
//!
//! Tests: `tests/send/transmit/judges.rs`, and with the whole of transmit, `errors.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;

use super::sender::SenderNow;
use crate::bus::{Packet, Whole};
use crate::prims::Number;

/// How far the message under way has come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MessageUnderWay {
    /// A packet of the message has been sent.
    pub started: bool,
    /// The rest of the message is dropped.
    pub dropping: bool,
}

/// Whether a packet is sent, and what happens otherwise.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PacketVerdict {
    /// The packet is sent.
    pub sends: bool,
    /// If the packet is not sent: error bits 8:1 of the message's status; 0: no error.
    pub error: Bits<9>,
    /// Nobody is told of the message, because its epoch is over.
    pub stale: bool,
    /// The VI breaks by this packet.
    pub breaks: bool,
    /// The packet is one of an answer whose bytes could not be read, or must not be, and the peer is to be told.
    pub unread: bool,
    /// The peer may not read the bytes of the answer.
    pub forbidden: bool,
    /// A packet of the message has been sent before this one.
    pub started: bool,
    /// The rest of the packet's message is dropped.
    pub dropping: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketJudge {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The packet at hand, from gather.
    pub packet: Signal<In, Packet>,
    /// Whether bytes of the packet's payload are missing, from gather; it counts if there is payload.
    pub whole: Signal<In, Whole>,
    /// State, service and epoch of the packet's VI, from the sender.
    pub now: Signal<In, SenderNow>,
    /// How far the message under way has come; the steps keep it.
    pub under_way: Signal<In, MessageUnderWay>,
    /// The packet has payload.
    pub has_payload: Signal<Out, bool>,
    /// Whether the packet is sent, and what happens otherwise; the steps go by it.
    pub verdict: Signal<Out, PacketVerdict>,
    was_refused: DFF<bool>,
    was_failed: DFF<bool>,
    was_flushed: DFF<bool>,
    has_errors: DFF<bool>,
    has_bytes: Signal<Local, bool>,
    /// The packet at hand is not the next one of the message before it.
    begins: Signal<Local, bool>,
    started: Signal<Local, bool>,
    dropping: Signal<Local, bool>,
    /// Bytes of the packet are missing.
    bad: Signal<Local, bool>,
    /// The VI is not connected, or gather found it so.
    gone: Signal<Local, bool>,
    /// The VI's state lets the packet out.
    passes: Signal<Local, bool>,
    /// The VI says nothing to its peer any more.
    mute: Signal<Local, bool>,
    stale: Signal<Local, bool>,
    error: Signal<Local, Bits<9>>,
    no_error: Number<9, 0>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    protection: Number<9, { status::PROTECTION_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for PacketJudge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, was_refused, was_failed, was_flushed, has_errors);
        self.has_bytes.next = self.packet.val().send & self.packet.val().length.any();
        self.has_payload.next = self.has_bytes.val();
        self.was_refused.d.next = self.whole.val().refused & self.has_bytes.val();
        self.was_failed.d.next = self.whole.val().failed & self.has_bytes.val();
        self.was_flushed.d.next = self.packet.val().errors == self.flushed.val();
        self.has_errors.d.next = self.packet.val().errors.any();

        self.begins.next = self.packet.val().first | self.packet.val().restart;
        self.started.next = self.under_way.val().started & !self.begins.val();
        self.dropping.next = self.under_way.val().dropping & !self.begins.val();
        self.stale.next = (self.packet.val().epoch != self.now.val().epoch) & !self.packet.val().reply;
        self.mute.next = self.now.val().idle | self.now.val().refusing;
        self.bad.next = self.was_refused.q.val() | self.was_failed.q.val();

        self.error.next = self.no_error.val();
        // WQ-8: the packet's data could not be read.
        if self.was_failed.q.val() {
            self.error.next = self.transport.val();
        }
        // WQ-2: a segment was refused when its bytes moved.
        if self.was_refused.q.val() {
            self.error.next = self.protection.val();
        }
        if !self.packet.val().send {
            self.error.next = self.packet.val().errors;
        }
        self.gone.next = !self.now.val().connected | (!self.packet.val().send & self.was_flushed.q.val());
        // WQ-4: DESC_FLUSHED_ERROR, or TRANSPORT_ERROR if a packet went out.
        if self.gone.val() & (self.packet.val().send | self.has_errors.q.val()) {
            self.error.next = self.flushed.val();
            if self.started.val() {
                self.error.next = self.transport.val();
            }
        }

        // Answers are true of the past, as acknowledgements are: only the end of their connection stops them.
        self.passes.next = self.now.val().connected & !self.dropping.val();
        if self.packet.val().reply {
            self.passes.next = !self.mute.val();
        }
        self.verdict.next.sends =
            self.packet.val().send & self.passes.val() & !self.bad.val() & !self.stale.val();
        self.verdict.next.error = self.error.val();
        self.verdict.next.stale = self.stale.val();
        // The flushing of a VI that is not connected breaks nothing. A lost descriptor neither: fetch, which lost it, reports it.
        // WQ-3: a reliable VI breaks by a descriptor's own error.
        self.verdict.next.breaks =
            self.now.val().reliable & self.error.val().any() & !self.gone.val() & !self.stale.val();
        self.verdict.next.unread = self.bad.val() & !self.mute.val();
        self.verdict.next.forbidden = self.was_refused.q.val();
        self.verdict.next.started = self.started.val();
        self.verdict.next.dropping = self.dropping.val();
    }
}
