//! What a packet that has left, or a message that has ended, means for its VI's window.
//!
//! ```text
//!  window, sent ──►┌─────────┐──► after, advances, again, far
//!         entry ──►│ Arrival │──► current, place, is_new
//!                  └─────────┘──► record, same, failed
//! ```
//! Contract: `record` is what to remember of its message, at `place` behind the oldest. `same` compares it with what was
//! remembered there (`entry`): a message whose end has been seen before, or whose beginning has.
//!
//! Latency: 0.
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
    /// The VI's window.
    pub window: Signal<In, Window>,
    /// The rewind under way only goes on behind what was known.
    pub resuming: Signal<In, bool>,
    /// What has left.
    pub sent: Signal<In, Sent>,
    /// What was remembered at its place.
    pub entry: Signal<In, Entry>,
    /// PSN behind it.
    pub after: Signal<Out, Bits<24>>,
    /// It has left for the first time.
    pub advances: Signal<Out, bool>,
    /// It has left before.
    pub again: Signal<Out, bool>,
    /// It is of the epoch that there is.
    pub current: Signal<Out, bool>,
    /// Messages of the window that come before it.
    pub place: Signal<Out, Bits<5>>,
    /// Its message has not left whole before.
    pub is_new: Signal<Out, bool>,
    /// What to remember of it.
    pub record: Signal<Out, Entry>,
    /// It is of the message that was remembered.
    pub same: Signal<Out, bool>,
    /// It has not left, and will not.
    pub failed: Signal<Out, bool>,
    left: Signal<Local, bool>,
    behind: Signal<Local, Bits<24>>,
    ahead: Signal<Local, Bits<24>>,
    fresh: Signal<Local, bool>,
    ours: Signal<Local, bool>,
    base: Signal<Local, Bits<5>>,
    unseen: Signal<Local, bool>,
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
        // What has left has a PSN.
        self.left.next = (!self.sent.val().ends | self.sent.val().acknowledged) & !self.sent.val().parked;
        self.behind.next = self.sent.val().psn + 1;
        self.ahead.next = self.behind.val() - self.window.val().fresh;
        self.fresh.next = self.ahead.val().any() & !self.ahead.val().get_bit(23);
        self.after.next = self.behind.val();
        self.advances.next = self.left.val() & self.fresh.val();
        self.again.next = self.left.val() & !self.fresh.val();

        // Until the first of the new epoch, those of the old one count on.
        self.ours.next = self.sent.val().epoch == self.window.val().epoch;
        self.current.next = self.ours.val();
        self.base.next = self.window.val().come;
        if self.ours.val() & self.window.val().rewinding & !self.resuming.val() {
            self.base.next = bits::<5>(0);
        }
        self.place.next = self.base.val();
        self.unseen.next = self.window.val().known == self.base.val();
        self.is_new.next = self.unseen.val();

        // What it has come to.
        self.outcome.next = self.done.val();
        if self.sent.val().acknowledged {
            self.outcome.next = self.waits.val();
        }
        if self.sent.val().errors == self.format.val() {
            self.outcome.next = self.format_kind.val();
        }
        if self.sent.val().errors == self.too_long.val() {
            self.outcome.next = self.length_kind.val();
        }
        if self.sent.val().errors == self.protection.val() {
            self.outcome.next = self.protection_kind.val();
        }
        if self.sent.val().errors == self.transport.val() {
            self.outcome.next = self.transport_kind.val();
        }
        if self.sent.val().errors == self.flushed.val() {
            self.outcome.next = self.flushed_kind.val();
            if self.window.val().partial | !self.unseen.val() {
                // A part of it has left.
                self.outcome.next = self.transport_kind.val();
            }
        }
        if self.sent.val().lost {
            self.outcome.next = self.lost_kind.val();
        }
        self.record.next.region = bit_cast::<REGION_LOG2, 16>(self.sent.val().region);
        self.record.next.offset = self.sent.val().offset;
        self.record.next.length = self.sent.val().length;
        self.record.next.after = self.behind.val();
        self.record.next.kind = self.outcome.val();
        self.record.next.operation = self.sent.val().operation;

        self.same.next = (self.entry.val().length == self.sent.val().length)
            & (self.entry.val().operation == self.sent.val().operation)
            & (self.unseen.val() | !self.sent.val().ends | (self.entry.val().after == self.behind.val()));
        self.failed.next = self.sent.val().errors.any() | self.sent.val().lost;
    }
}
