//! What a packet that has left, or a message that has ended, means for its VI's window.
//!
//! ```text
//!          load, row ──►┌──────────┐──► packet, finding, compared
//!       window, sent ──►│ Departed │──► departure, record
//!  message, resuming ──►│          │──► whole, closes
//!   connected, waits ──►└──────────┘
//! ```
//! Contract: `packet` says whether `sent` is a packet that has left, and whether it had left before; `finding` what its message is: one
//! that waits for a read (Parks, or Unfit if it may not), a new one (Enters), or one of which something had left before (Known).
//! `departure` says where it stands behind the oldest message of the window, and `record` is what the ring has to remember of it.
//!
//! A known message is compared with what the ring remembers of it (`message`): `compared` is Same, Fails or Changed. What is remembered
//! is the message's end, or, if only its beginning has left, what that said. A message that is acknowledged whole may be anything.
//!
//! `sent` stands from the cycle of `load` on, in which `row` is the window as it comes from memory; `window` is the
//! same from the cycle behind on.
//!
//! Latency: 1 from `load`; `compared` 0 from `message`. What takes a carry chain or a long comparison is done in the cycle of `load`.
//!
//! Example: the first message of a reliable VI leaves as one packet: `packet` is First and `finding` Enters, and `departure` has place 0.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/again.rs`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::REGION_LOG2;

use super::finding::{Finding, LeftPacket};
use super::window::{kind, SentMessage, Window, COUNT_BITS};
use crate::arithmetic::Distance;
use crate::bus::Sent;
use crate::prims::Number;

/// Where what has left stands.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Departure {
    /// The packet or message is of the window's epoch.
    pub current: bool,
    /// The message has ended.
    pub ends: bool,
    /// The message had not ended before.
    pub is_new: bool,
    /// How many messages of the window come before its message.
    pub place: Bits<COUNT_BITS>,
    /// The PSN behind the packet.
    pub behind: Bits<24>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Departed {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// `row` is the VI's window in this cycle; `Findings` drives this and the other inputs.
    pub load: Signal<In, bool>,
    /// The VI's window as the memory gives it, with `load`.
    pub row: Signal<In, Window>,
    /// The VI's window, from the cycle behind `load` on.
    pub window: Signal<In, Window>,
    /// The rewind under way only goes on behind what was known.
    pub resuming: Signal<In, bool>,
    /// The packet that has left, or the message that has ended.
    pub sent: Signal<In, Sent>,
    /// The VI is connected: only then a message that is not the same has consequences.
    pub connected: Signal<In, bool>,
    /// The message as the ring remembers it.
    pub message: Signal<In, SentMessage>,
    /// The message of `message` waits for its acknowledgement.
    pub waits: Signal<In, bool>,
    /// Whether `sent` is a packet that has left, and whether it had left before.
    pub packet: Signal<Out, LeftPacket>,
    /// Whether its message waits for a read, is new, or is known.
    pub finding: Signal<Out, Finding>,
    /// Same, Fails or Changed: a known message beside `message`.
    pub compared: Signal<Out, Finding>,
    /// Where the packet stands in the window.
    pub departure: Signal<Out, Departure>,
    /// The message as the ring is to remember it.
    pub record: Signal<Out, SentMessage>,
    /// The message has left whole for the first time.
    pub whole: Signal<Out, bool>,
    /// The message has ended for the first time.
    pub closes: Signal<Out, bool>,
    /// A packet has left: `sent` has a PSN.
    left: Signal<Local, bool>,
    /// PSN behind the packet.
    behind: DFF<Bits<24>>,
    /// The PSN behind the packet, counted from the window's `fresh`.
    lead: Distance<24>,
    /// The packet has never left before.
    fresh: DFF<bool>,
    /// `sent` is of the window's epoch.
    current: Signal<Local, bool>,
    /// `sent` is the first that is known of its message.
    begins: Signal<Local, bool>,
    /// `sent` is of the epoch of `row`.
    ours: Signal<Local, bool>,
    /// The message is the one that `message` remembers.
    same: Signal<Local, bool>,
    /// How many messages come before it.
    base: DFF<Bits<COUNT_BITS>>,
    /// The end of the message, without what depends on the window: see [`kind`].
    verdict: DFF<Bits<3>>,
    /// The message was flushed.
    is_flushed: DFF<bool>,
    /// The message has not left, and will not.
    is_failed: DFF<bool>,
    next_psn: Signal<Local, Bits<24>>,
    /// No entry is known at `place`.
    unseen: Signal<Local, bool>,
    /// The end of the message: see [`kind`].
    outcome: Signal<Local, Bits<3>>,
    done: Number<3, { kind::DONE }>,
    waits_kind: Number<3, { kind::WAITS }>,
    format_kind: Number<3, { kind::FORMAT }>,
    length_kind: Number<3, { kind::LENGTH }>,
    protection_kind: Number<3, { kind::PROTECTION }>,
    flushed_kind: Number<3, { kind::FLUSHED }>,
    transport_kind: Number<3, { kind::TRANSPORT }>,
    lost_kind: Number<3, { kind::LOST }>,
    format: Number<9, { status::FORMAT_ERROR as u64 }>,
    too_long: Number<9, { status::LENGTH_ERROR as u64 }>,
    protection: Number<9, { status::PROTECTION_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for Departed {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, behind, fresh, base, verdict, is_flushed, is_failed);
        // A packet has left if `sent` has a PSN: it is no message's end alone, and no message that waits for a read.
        self.left.next = (!self.sent.val().ends | self.sent.val().acknowledged) & !self.sent.val().parked;
        self.next_psn.next = self.sent.val().psn + 1;
        self.behind.d.next = self.next_psn.val();
        drive!(self, next_psn => lead.number; row.val().fresh => lead.from);
        if self.load.val() {
            self.fresh.d.next = self.lead.ahead.val();
        }
        self.packet.next = LeftPacket::Unsent;
        if self.left.val() {
            self.packet.next = LeftPacket::Again;
            if self.fresh.q.val() {
                self.packet.next = LeftPacket::First;
            }
        }

        // Until something of the new epoch has left, places go on behind those that have come. What is of the new epoch begins at the
        // oldest.
        self.ours.next = self.sent.val().epoch == self.row.val().epoch;
        if self.load.val() {
            self.base.d.next = self.row.val().come;
            if self.ours.val() & self.row.val().rewinding & !self.resuming.val() {
                self.base.d.next = bits::<COUNT_BITS>(0);
            }
        }
        self.current.next = self.sent.val().epoch == self.window.val().epoch;
        self.unseen.next = self.window.val().known == self.base.q.val();
        self.begins.next = self.unseen.val() & !self.window.val().partial;
        self.finding.next = Finding::Nothing;
        if !self.sent.val().parked {
            self.finding.next = Finding::Known;
            if self.begins.val() {
                self.finding.next = Finding::Enters;
            }
        } else if self.current.val() {
            self.finding.next = Finding::Unfit;
            if self.begins.val() {
                self.finding.next = Finding::Parks;
            }
        }
        fill!(self, departure, current => current; sent.val().ends => ends; unseen => is_new; base.q => place;
            behind.q => behind);
        self.closes.next = self.sent.val().ends & self.unseen.val();
        self.whole.next = self.sent.val().ends & self.unseen.val() & !self.is_failed.q.val();

        // The end of the message.
        // UNR-1: an unreliable message is done when it has left.
        self.verdict.d.next = self.done.val();
        if self.sent.val().acknowledged {
            self.verdict.d.next = self.waits_kind.val();
        }
        if self.sent.val().errors == self.format.val() {
            self.verdict.d.next = self.format_kind.val();
        }
        if self.sent.val().errors == self.too_long.val() {
            self.verdict.d.next = self.length_kind.val();
        }
        if self.sent.val().errors == self.protection.val() {
            self.verdict.d.next = self.protection_kind.val();
        }
        if self.sent.val().errors == self.transport.val() {
            self.verdict.d.next = self.transport_kind.val();
        }
        self.is_flushed.d.next = (self.sent.val().errors == self.flushed.val()) & !self.sent.val().lost;
        if self.sent.val().errors == self.flushed.val() {
            self.verdict.d.next = self.flushed_kind.val();
        }
        if self.sent.val().lost {
            self.verdict.d.next = self.lost_kind.val();
        }
        self.outcome.next = self.verdict.q.val();
        // WQ-4: DESC_FLUSHED_ERROR, or TRANSPORT_ERROR if a packet went out.
        if self.is_flushed.q.val() & (self.window.val().partial | !self.unseen.val()) {
            // A part of the message has left.
            self.outcome.next = self.transport_kind.val();
        }
        self.record.next.region = bit_cast::<REGION_LOG2, 16>(self.sent.val().region);
        fill!(self, record, sent.val().offset => offset; sent.val().length => length; behind.q => after;
            outcome => kind; sent.val().operation => operation);

        self.is_failed.d.next = self.sent.val().errors.any() | self.sent.val().lost;
        // REQ-7: what comes again must have the operation, the Length and the PSNs of the first time.
        self.same.next = (self.message.val().length == self.sent.val().length)
            & (self.message.val().operation == self.sent.val().operation)
            & (self.unseen.val() | !self.sent.val().ends | (self.message.val().after == self.behind.q.val()));
        self.compared.next = Finding::Same;
        if self.unseen.val() | self.waits.val() {
            if self.is_failed.q.val() {
                self.compared.next = Finding::Fails;
            } else if !self.same.val() & self.connected.val() {
                self.compared.next = Finding::Changed;
            }
        }
    }
}
