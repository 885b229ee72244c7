//! What a packet that has left, or a message that has ended, means for its VI's window.
//!
//! ```text
//!      load, row ──►┌─────────┐──► after, advances, again
//!   window, sent ──►│         │──► parks, unfit, enters, known
//! entry, resuming ─►│ Arrival │──► place, is_new, record
//!           long ──►└─────────┘──► same, failed
//! ```
//! Contract: `after` is the window with what has left (`sent`). The message of `sent` waits for a read (`parks`; `unfit` if it may not), or it is
//! new and `enters`, or something of it has left before (`known`): then it is compared, and what it ends counts behind that. `record` is what to
//! remember of its message, at `place` behind the oldest. `same` compares it with what was remembered there (`entry`): a
//! message whose end has been seen before, or whose beginning has.
//!
//! `sent` stands from the cycle of `load` on, in which `row` is the window as it comes from memory; `window` is the
//! same from the cycle behind on.
//!
//! Latency: 1 from `load`. What takes a carry chain or a long comparison is done in that cycle.
//!
//! Example: the first message of a reliable VI leaves as one packet: `advances` and `enters` are high, `place` is 0, and `after` has one entry more
//! in `known` and in `come`.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/again.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::REGION_LOG2;

use super::window::{kind, Entry, Window};
use crate::bus::Sent;
use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Arrival {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// `row` is the VI's window in this cycle.
    pub load: Signal<In, bool>,
    /// The VI's window as the memory gives it, with `load`.
    pub row: Signal<In, Window>,
    /// The VI's window, from the cycle behind `load` on.
    pub window: Signal<In, Window>,
    /// The rewind under way only goes on behind what was known.
    pub resuming: Signal<In, bool>,
    /// The packet that has left, or the message that has ended.
    pub sent: Signal<In, Sent>,
    /// The entry that was remembered at `place`.
    pub entry: Signal<In, Entry>,
    /// So many packets are in flight that the VI is to be rewound.
    pub long: Signal<In, bool>,
    /// The window as `sent` leaves it.
    pub after: Signal<Out, Window>,
    /// The packet has left for the first time.
    pub advances: Signal<Out, bool>,
    /// The packet has left before.
    pub again: Signal<Out, bool>,
    /// The message is of the window's epoch and waits for a read.
    pub parks: Signal<Out, bool>,
    /// The message would wait for a read, but may not: something of it has left before.
    pub unfit: Signal<Out, bool>,
    /// The message is new: `record` is to be written at `place`.
    pub enters: Signal<Out, bool>,
    /// Something of the message was recorded before, at `place`.
    pub known: Signal<Out, bool>,
    /// Number of messages in the window that come before this one.
    pub place: Signal<Out, Bits<5>>,
    /// The message has not left whole before.
    pub is_new: Signal<Out, bool>,
    /// The entry to remember of the message.
    pub record: Signal<Out, Entry>,
    /// The message is the one that `entry` remembers.
    pub same: Signal<Out, bool>,
    /// The message has not left, and will not.
    pub failed: Signal<Out, bool>,
    /// A packet has left: `sent` has a PSN.
    left: Signal<Local, bool>,
    /// PSN behind the packet.
    behind: DFF<Bits<24>>,
    /// By how many PSNs that is ahead of the window's `fresh`.
    ahead: DFF<Bits<24>>,
    /// The packet has never left before.
    fresh: Signal<Local, bool>,
    /// `sent` is of the window's epoch.
    current: Signal<Local, bool>,
    /// `sent` is the first that is known of its message.
    begins: Signal<Local, bool>,
    parked: Signal<Local, bool>,
    /// The same, by the window as it comes from memory.
    ours: Signal<Local, bool>,
    /// `place`.
    base: DFF<Bits<5>>,
    /// What the message came to, but for what depends on the window: see [`kind`].
    verdict: DFF<Bits<3>>,
    /// The message was flushed.
    is_flushed: DFF<bool>,
    is_failed: DFF<bool>,
    next_psn: Signal<Local, Bits<24>>,
    /// No entry is known at `place`.
    unseen: Signal<Local, bool>,
    /// What the message has come to: see [`kind`].
    outcome: Signal<Local, Bits<3>>,
    done: Number<3, { kind::DONE }>,
    waits: Number<3, { kind::WAITS }>,
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

impl Logic for Arrival {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, behind, ahead, base, verdict, is_flushed, is_failed);
        // What has left has a PSN.
        self.left.next = (!self.sent.val().ends | self.sent.val().acknowledged) & !self.sent.val().parked;
        self.next_psn.next = self.sent.val().psn + 1;
        self.behind.d.next = self.next_psn.val();
        if self.load.val() {
            self.ahead.d.next = self.next_psn.val() - self.row.val().fresh;
        }
        self.fresh.next = self.ahead.q.val().any() & !self.ahead.q.val().get_bit(23);
        self.advances.next = self.left.val() & self.fresh.val();
        self.again.next = self.left.val() & !self.fresh.val();

        // Until the first of the new epoch, those of the old one count on.
        self.ours.next = self.sent.val().epoch == self.row.val().epoch;
        if self.load.val() {
            self.base.d.next = self.row.val().come;
            if self.ours.val() & self.row.val().rewinding & !self.resuming.val() {
                self.base.d.next = bits::<5>(0);
            }
        }
        self.current.next = self.sent.val().epoch == self.window.val().epoch;
        self.place.next = self.base.q.val();
        self.unseen.next = self.window.val().known == self.base.q.val();
        self.is_new.next = self.unseen.val();

        self.begins.next = self.unseen.val() & !self.window.val().partial;
        self.parked.next = self.sent.val().parked & self.current.val();
        self.parks.next = self.parked.val();
        // What had begun before does not wait.
        self.unfit.next = self.parked.val() & !self.begins.val();
        self.enters.next = !self.sent.val().parked & self.begins.val();
        self.known.next = !self.sent.val().parked & !self.begins.val();

        self.after.next = self.window.val();
        if self.left.val() & self.fresh.val() {
            self.after.next.fresh = self.behind.q.val();
            // REQ-1: with 3 x 2^20 PSNs in flight all may be sent again.
            if self.long.val() {
                self.after.next.pending = true;
            }
        }
        if self.current.val() {
            self.after.next.rewinding = false;
        }
        self.after.next.come = self.base.q.val();
        if !self.sent.val().parked & self.begins.val() {
            self.after.next.partial = !self.sent.val().ends;
            if self.sent.val().ends {
                self.after.next.known = self.window.val().known + 1;
                self.after.next.come = self.base.q.val() + 1;
            }
        }

        // What the message has come to.
        // UNR-1: an unreliable message is done when it has left.
        self.verdict.d.next = self.done.val();
        if self.sent.val().acknowledged {
            self.verdict.d.next = self.waits.val();
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
        self.record.next.offset = self.sent.val().offset;
        self.record.next.length = self.sent.val().length;
        self.record.next.after = self.behind.q.val();
        self.record.next.kind = self.outcome.val();
        self.record.next.operation = self.sent.val().operation;

        // REQ-7: what comes again must have the operation, the Length and the PSNs of the first time.
        self.same.next = (self.entry.val().length == self.sent.val().length)
            & (self.entry.val().operation == self.sent.val().operation)
            & (self.unseen.val() | !self.sent.val().ends | (self.entry.val().after == self.behind.q.val()));
        self.is_failed.d.next = self.sent.val().errors.any() | self.sent.val().lost;
        self.failed.next = self.is_failed.q.val();
    }
}
