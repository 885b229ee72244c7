//! What becomes of a VI's oldest message.
//!
//! ```text
//!    window, message, connected ──►┌────────┐──► finding, reaches, waits
//!                    read_after ──►│ Oldest │──► status, length, ends_read, tells
//!       breaks, silent, placing ──►└────────┘
//! ```
//! Contract: docs/semantics.md, WQ-4 and REQ-4, and `viaduct_spec::refusal`. `message` is the window's oldest. `finding` is Completes
//! when the message has come since the last rewind, and either waits for nothing, or is acknowledged, or is of a VI that is not
//! connected; Placing if it is a read that would complete so without its answer, while bytes of an answer are still on their way to
//! memory; Breaks or ReadBreaks if it stays and its VI is to break. Otherwise it is Nothing.
//!
//! `read_after` is the message's PSN straight from memory, a cycle earlier than `message`; it stays.
//!
//! Latency: 0 to `finding`, `reaches`, `waits` and `ends_read`, 1 to the others.
//!
//! Example: the oldest message is a send of 100 bytes that must be acknowledged, and is: `finding` is Completes; in the next cycle
//! `status` is DONE and `length` 100.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/refusals.rs`.

use super::finding::Finding;
use super::window::{kind, refusal, Refusal, SentMessage, Window};
use crate::arithmetic::Distance;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::refusal::error;
use viaduct_spec::wire::syndrome;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Oldest {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// PSN behind the message's last packet, from memory, a cycle before `message`.
    pub read_after: Signal<In, Bits<24>>,
    /// The window of the VI; `Findings` drives this and the other inputs.
    pub window: Signal<In, Window>,
    /// The oldest message of the window.
    pub message: Signal<In, SentMessage>,
    /// The VI is connected.
    pub connected: Signal<In, bool>,
    /// The VI is to break.
    pub breaks: Signal<In, bool>,
    /// The VI is to break because TIMEOUT is over once too often.
    pub silent: Signal<In, bool>,
    /// Bytes of an answer to a read of the VI are on their way to memory, or may be soon.
    pub placing: Signal<In, bool>,
    /// How the message stands.
    pub finding: Signal<Out, Finding>,
    /// The message must be acknowledged.
    pub waits: Signal<Out, bool>,
    /// The message must be acknowledged, and all of its packets are.
    pub reaches: Signal<Out, bool>,
    /// The message is a read that must be acknowledged: with its completion a read ends.
    pub ends_read: Signal<Out, bool>,
    /// Low 20 bits of the message's status.
    pub status: Signal<Out, Bits<20>>,
    /// The message's completion tells of the refusal: its status has an error bit, and the refusal was of no message behind it.
    pub tells: Signal<Out, bool>,
    /// Length to write into the descriptor, in bytes.
    pub length: Signal<Out, Bits<32>>,
    /// From the PSN behind the message to the oldest PSN that is not acknowledged.
    reached: Distance<24>,
    is_waiting: Signal<Local, bool>,
    is_reached: Signal<Local, bool>,
    /// All of the message's packets are acknowledged, and by answers to them.
    acked: Signal<Local, bool>,
    ends_one: Signal<Local, bool>,
    /// The message is to be completed.
    done: Signal<Local, bool>,
    rdma: Signal<Local, bool>,
    write: Signal<Local, bool>,
    read: Signal<Local, bool>,
    errors: Signal<Local, Bits<9>>,
    /// The acknowledgements do not reach the message's end.
    short: DFF<bool>,
    /// Reads before the message that was refused have not been answered.
    behind: DFF<bool>,
    unanswered: Signal<Local, bool>,
    /// The message is a read whose answer did not come before another message was refused: the refusal is not its own.
    misses: Signal<Local, bool>,
    refused: Cast<Bits<3>, Refusal>,
    refusal: Signal<Local, Refusal>,
    /// Error bits of the status.
    known_errors: DFF<Bits<9>>,
    /// The status has an error bit.
    bad: DFF<bool>,
    waits_kind: Number<3, { kind::WAITS }>,
    format_kind: Number<3, { kind::FORMAT }>,
    length_kind: Number<3, { kind::LENGTH }>,
    protection_kind: Number<3, { kind::PROTECTION }>,
    flushed_kind: Number<3, { kind::FLUSHED }>,
    transport_kind: Number<3, { kind::TRANSPORT }>,
    no_refusal: Number<3, { refusal::NONE }>,
    invalid: Number<2, { refusal::INVALID }>,
    inner: Number<3, { refusal::LOCAL }>,
    access: Number<2, { refusal::ACCESS }>,
    no_error: Number<9, 0>,
    format: Number<9, { status::FORMAT_ERROR as u64 }>,
    too_long: Number<9, { status::LENGTH_ERROR as u64 }>,
    protection: Number<9, { status::PROTECTION_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
    invalid_error: Number<9, { error(syndrome::NAK_INVALID, false, false) as u64 }>,
    invalid_reception: Number<9, { error(syndrome::NAK_INVALID, false, true) as u64 }>,
    invalid_rdma: Number<9, { error(syndrome::NAK_INVALID, true, false) as u64 }>,
    access_error: Number<9, { error(syndrome::NAK_ACCESS, true, false) as u64 }>,
    operational_error: Number<9, { error(syndrome::NAK_OPERATIONAL, false, false) as u64 }>,
    operational_reception: Number<9, { error(syndrome::NAK_OPERATIONAL, false, true) as u64 }>,
    op_send: Number<2, { control::OP_SENDRECV as u64 }>,
    op_read: Number<2, { control::OP_RDMAREAD as u64 }>,
    status_read: Number<20, { (status::DONE | status::OP_RDMA_READ) as u64 }>,
    op_write: Number<2, { control::OP_RDMAWRITE as u64 }>,
    status_done: Number<20, { status::DONE as u64 }>,
    status_write: Number<20, { (status::DONE | status::OP_RDMA_WRITE) as u64 }>,
}

// The codes that the block takes to be equal.
const _: () = {
    const fn same(syndrome: u8, rdma: bool, reception: bool, other: u32) {
        assert!(error(syndrome, rdma, reception) == other);
    }
    same(syndrome::NAK_INVALID, true, true, error(syndrome::NAK_INVALID, true, false));
    same(syndrome::NAK_ACCESS, true, true, error(syndrome::NAK_ACCESS, true, false));
    same(syndrome::NAK_OPERATIONAL, true, false, error(syndrome::NAK_OPERATIONAL, false, false));
    same(syndrome::NAK_OPERATIONAL, true, true, error(syndrome::NAK_OPERATIONAL, false, true));
    same(syndrome::RNR_NAK, false, false, error(syndrome::NAK_OPERATIONAL, false, false));
    same(syndrome::RNR_NAK, false, true, error(syndrome::NAK_OPERATIONAL, false, true));
};

impl Logic for Oldest {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, short, behind, known_errors, bad);
        drive!(self, window.val().oldest => reached.number; read_after => reached.from);
        self.short.d.next = self.reached.behind.val();
        self.is_waiting.next = self.message.val().kind == self.waits_kind.val();
        self.waits.next = self.is_waiting.val();
        self.read.next = self.message.val().operation == self.op_read.val();
        self.ends_one.next = self.is_waiting.val() & self.read.val();
        drive!(self, ends_one => ends_read; window.val().refusal => refused.from; refused.to => refusal);
        self.behind.d.next = self.refusal.val().behind & self.refusal.val().reason.any();
        self.unanswered.next = self.behind.q.val() & self.read.val();
        // REQ-2: the message's last PSN is acknowledged.
        self.is_reached.next = self.is_waiting.val() & !self.short.q.val();
        self.reaches.next = self.is_reached.val();
        self.misses.next = self.is_reached.val() & self.unanswered.val();
        self.acked.next = self.is_reached.val() & !self.unanswered.val();
        self.done.next = self.window.val().come.any()
            & !self.window.val().rewinding
            & (!self.is_waiting.val() | self.acked.val() | !self.connected.val());
        self.finding.next = Finding::Nothing;
        if self.done.val() {
            self.finding.next = Finding::Completes;
            if self.ends_one.val() & !self.acked.val() & self.placing.val() {
                self.finding.next = Finding::Placing;
            }
        } else if self.breaks.val() {
            self.finding.next = Finding::Breaks;
            if self.silent.val() & self.ends_one.val() {
                self.finding.next = Finding::ReadBreaks;
            }
        }
        self.rdma.next = self.message.val().operation != self.op_send.val();
        self.write.next = self.message.val().operation == self.op_write.val();

        self.errors.next = self.no_error.val();
        if self.message.val().kind == self.format_kind.val() {
            self.errors.next = self.format.val();
        }
        if self.message.val().kind == self.length_kind.val() {
            self.errors.next = self.too_long.val();
        }
        if self.message.val().kind == self.protection_kind.val() {
            self.errors.next = self.protection.val();
        }
        if self.message.val().kind == self.flushed_kind.val() {
            self.errors.next = self.flushed.val();
        }
        // WQ-4: delivery is not known without an acknowledgement. REQ-4: nor of a read before what was refused.
        if (self.message.val().kind == self.transport_kind.val())
            | (self.is_waiting.val() & !self.acked.val())
        {
            self.errors.next = self.transport.val();
        }
        // REQ-4: the table of refusals.
        // This message is the one that the peer refused. A message that has an error of its own keeps that.
        if (self.window.val().refusal != self.no_refusal.val())
            & !self.misses.val()
            & ((self.errors.val() == self.transport.val()) | (self.errors.val() == self.flushed.val()))
        {
            self.errors.next = self.operational_error.val();
            if self.window.val().reception {
                self.errors.next = self.operational_reception.val();
            }
            if self.refusal.val().reason == self.invalid.val() {
                self.errors.next = self.invalid_error.val();
                if self.window.val().reception {
                    self.errors.next = self.invalid_reception.val();
                }
                if self.rdma.val() {
                    self.errors.next = self.invalid_rdma.val();
                }
            }
            if self.refusal.val().reason == self.access.val() {
                self.errors.next = self.access_error.val();
            }
            if self.window.val().refusal == self.inner.val() {
                self.errors.next = self.protection.val();
            }
        }
        self.known_errors.d.next = self.errors.val();
        self.bad.d.next = self.errors.val().any();
        self.status.next = self.status_done.val() | bit_cast::<20, 9>(self.known_errors.q.val());
        if self.write.val() {
            self.status.next = self.status_write.val() | bit_cast::<20, 9>(self.known_errors.q.val());
        }
        if self.read.val() {
            self.status.next = self.status_read.val() | bit_cast::<20, 9>(self.known_errors.q.val());
        }
        self.tells.next = !self.connected.val() & self.bad.q.val() & !self.misses.val();
        self.length.next = self.message.val().length;
        // WQ-3: with an error Length is 0.
        if self.bad.q.val() {
            self.length.next = bits::<32>(0);
        }
    }
}
