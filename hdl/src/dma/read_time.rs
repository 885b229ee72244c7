//! Watches the time of the oldest slot.
//!
//! ```text
//! shown, opened ──►┌──────────┐──► strike
//!      progress ──►│ ReadTime │──► deadline
//!      time_now ──►│          │
//!      draining ──►└──────────┘
//! ```
//! Contract: the time of a slot begins when it is `shown` and `opened`, and begins again with each `progress`. When `LIMIT` ticks have
//! passed and the slot is still `opened`, `strike` is high, and `DmaRead` closes the slot. While `draining` no slot gets more time: all
//! open slots are struck within `LIMIT` of its beginning.
//!
//! Latency: `strike` comes a cycle after the time is up.
//!
//! Example: a slot is shown at time 100, and makes progress at time 150. At time 150 + `LIMIT` it is struck if nothing more has come.
//!
//! Tests: `tests/tlp/read_time.rs`, through `DmaRead`.

use crate::arithmetic::Distance;
use crate::prims::Number;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Ticks of 1.024 us without progress after which a read has failed: 50.3 ms, the smallest multiple of 2^14
/// (which keeps the adder short) that is not below the 50 ms of the specification's default range.
pub const LIMIT: u64 = 3 << 14;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadTime {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the slot.
    pub reset: Signal<In, bool>,
    /// The oldest slot's data is being handed out, or waited for; `ReadDrain` drives this and the other inputs.
    pub shown: Signal<In, bool>,
    /// The oldest slot waits for completions.
    pub opened: Signal<In, bool>,
    /// A good completion for the oldest slot has begun.
    pub progress: Signal<In, bool>,
    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// A reset waits for the slots that are open: no time is added.
    pub draining: Signal<In, bool>,
    /// The oldest slot has timed out; `DmaRead` listens, through `ReadDrain`.
    pub strike: Signal<Out, bool>,
    /// The time at which the oldest slot times out; given while one is open.
    pub deadline: FlowSource<Bits<32>>,
    /// The time of the oldest slot counts.
    armed: DFF<bool>,
    /// The time of the oldest slot is up, and there was no progress in that cycle.
    late: DFF<bool>,
    /// When the time of the oldest slot is up.
    limit: DFF<Bits<32>>,
    due: Distance<32>,
    patience: Number<32, LIMIT>,
}

impl Logic for ReadTime {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, armed, late, limit);
        // WQ-8: 50.3 ms without progress.
        self.due.number.next = self.time_now.val();
        self.due.from.next = self.limit.q.val();
        self.late.d.next = self.armed.q.val() & !self.progress.val() & !self.due.behind.val();
        // If `armed` is still high, the slot is the one that `late` is about.
        self.strike.next = self.late.q.val() & self.armed.q.val() & self.opened.val();
        self.armed.d.next = self.shown.val() & self.opened.val();
        if (!self.armed.q.val() | self.progress.val()) & !self.draining.val() {
            self.limit.d.next = self.time_now.val() + self.patience.val();
        }
        drive!(self, armed.q => deadline.valid; limit.q => deadline.data);
        if self.reset.val() {
            self.armed.d.next = false;
            self.late.d.next = false;
        }
    }
}
