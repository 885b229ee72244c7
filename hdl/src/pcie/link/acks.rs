//! Decides when Acks and Naks are due for what has come.
//!
//! ```text
//!      judged ──►┌──────┐──► nak_due
//!    expected ──►│      │──► ack_due
//!     in_l0   ──►│ Acks │──► number
//! max_payload ──►│      │◄── nak_said
//!                └──────┘◄── ack_said
//! ```
//! Contract: an Ack is due for a TLP that is taken so long before the specification's limit that it can be made ready; one Ack is for all
//! that were taken by then. The time passes in L0 only. For a TLP that comes again it is due at once. A Nak is due for the first bad TLP,
//! and for no other until a TLP is taken. `number` is what both name: the last one taken. A Nak acknowledges as well.
//!
//! `nak_said` and `ack_said` say that `number` was taken over in this cycle.
//!
//! Latency: 1 cycle from `judged`; an Ack waits 16 cycles less than the limit.
//!
//! Example: with 128 bytes the limit is 237 symbols: an Ack is due 102 cycles behind the first TLP taken.
//!
//! Tests: `tests/pcie/link/arrivals.rs`.

use super::packet::Judged;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Acks {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is due.
    pub reset: Signal<In, bool>,
    /// L0: time passes; from `mac`.
    pub in_l0: Signal<In, bool>,
    /// What became of a TLP; from `TlpJudge`.
    pub judged: Signal<In, Judged>,
    /// The next number; from `TlpJudge`.
    pub expected: Signal<In, Bits<12>>,
    /// Max_Payload_Size: 128 << n bytes; from `transaction`.
    pub max_payload: Signal<In, Bits<3>>,
    /// A Nak is due; to `DllpSender`, as `ack_due` and `number`.
    pub nak_due: Signal<Out, bool>,
    /// An Ack is due.
    pub ack_due: Signal<Out, bool>,
    /// The sequence number that the Nak or the Ack names.
    pub number: Signal<Out, Bits<12>>,
    /// The Nak is made; from `DllpSender`.
    pub nak_said: Signal<In, bool>,
    /// The Ack is made; from `DllpSender`.
    pub ack_said: Signal<In, bool>,
    nak: DFF<bool>,
    /// A Nak was due since the last TLP was taken.
    scheduled: DFF<bool>,
    /// Something is not acknowledged.
    owed: DFF<bool>,
    urgent: DFF<bool>,
    left: DFF<Bits<9>>,
    limit: DFF<Bits<9>>,
    due: DFF<bool>,
    taken: Signal<Local, bool>,
    was_scheduled: Signal<Local, bool>,
    minus_one: Number<12, 0xfff>,
    /// The limits in cycles, less 16.
    least: Number<9, { 237 / 2 - 16 }>,
    middle: Number<9, { 416 / 2 - 16 }>,
    most: Number<9, { 559 / 2 - 16 }>,
}

impl Logic for Acks {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, nak, scheduled, owed, urgent, left, limit, due);
        self.limit.d.next = self.most.val();
        if self.max_payload.val() == bits::<3>(0) {
            self.limit.d.next = self.least.val();
        }
        if self.max_payload.val() == bits::<3>(1) {
            self.limit.d.next = self.middle.val();
        }
        self.number.next = self.expected.val() + self.minus_one.val();
        drive!(self, nak.q => nak_due; due.q => ack_due; judged.val().taken => taken);

        if self.in_l0.val() & self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        self.due.d.next = self.urgent.q.val() | (self.owed.q.val() & !self.left.q.val().any());
        if self.ack_said.val() | self.nak_said.val() {
            drive!(self, false => owed.d, urgent.d, due.d);
        }
        if self.nak_said.val() {
            self.nak.d.next = false;
        }
        self.was_scheduled.next = self.scheduled.q.val() & !self.taken.val();
        if self.taken.val() {
            // What was missing has come, so its Nak is not needed any more.
            drive!(self, false => scheduled.d, nak.d; true => owed.d);
            if !self.owed.q.val() | self.ack_said.val() | self.nak_said.val() {
                self.left.d.next = self.limit.q.val();
            }
        }
        if self.judged.val().again {
            self.urgent.d.next = true;
        }
        if self.judged.val().bad {
            self.scheduled.d.next = true;
            if !self.was_scheduled.val() {
                self.nak.d.next = true;
            }
        }
        if self.reset.val() {
            drive!(self, false => nak.d, scheduled.d, owed.d, urgent.d, due.d);
        }
    }
}
