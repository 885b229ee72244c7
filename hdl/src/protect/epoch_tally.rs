//! Counts the commands of one epoch that are outstanding.
//!
//! ```text
//!   issue ──►┌────────────┐──► some
//!    read ──►│ EpochTally │
//! written ──►└────────────┘──► full
//! ```
//! Contract: the count goes up by one with `issue`, and down by one with each of `read` and `written`; all three may come in one cycle.
//! `full` comes early enough for the accesses that are half way: if no further access is taken while it is high, the count never wraps.
//!
//! Latency: 1 cycle.
//!
//! Example: two commands are outstanding. In one cycle a third is issued, a read ends and a write ends: one is left, and `some` stays high.
//!
//! Tests: with `Protect`, `tests/protect/`.

use rust_hdl::prelude::*;

use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EpochTally {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets all commands: none is outstanding.
    pub reset: Signal<In, bool>,
    /// A command of the epoch is issued; `Outstanding` drives all inputs.
    pub issue: Signal<In, bool>,
    /// A read of the epoch has ended.
    pub read: Signal<In, bool>,
    /// A write of the epoch has ended.
    pub written: Signal<In, bool>,
    /// At least one command of the epoch is outstanding; `Outstanding` listens to this and `full`.
    pub some: Signal<Out, bool>,
    /// So many commands are outstanding that no further access may be taken.
    pub full: Signal<Out, bool>,
    /// Number of commands that are outstanding.
    count: DFF<Bits<8>>,
    /// `full`.
    almost: DFF<bool>,
    change: Signal<Local, Bits<8>>,
    high: Signal<Local, Bits<4>>,
    minus_one: Number<8, 0xFF>,
    minus_two: Number<8, 0xFE>,
}

impl Logic for EpochTally {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count, almost);
        self.change.next = bits::<8>(0);
        if self.read.val() & self.written.val() {
            self.change.next = self.minus_two.val();
            if self.issue.val() {
                self.change.next = self.minus_one.val();
            }
        } else if self.read.val() | self.written.val() {
            if !self.issue.val() {
                self.change.next = self.minus_one.val();
            }
        } else if self.issue.val() {
            self.change.next = bits::<8>(1);
        }
        self.count.d.next = self.count.q.val() + self.change.val();
        self.high.next = self.count.q.val().get_bits::<4>(4);
        self.almost.d.next = self.high.val().all();
        self.some.next = self.count.q.val().any();
        self.full.next = self.almost.q.val();
        if self.reset.val() {
            self.count.d.next = bits::<8>(0);
            self.almost.d.next = false;
        }
    }
}
