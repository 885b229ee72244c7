//! Which completion queue is the error ring, and the event that says that a completion queue has lost an entry.
//!
//! ```text
//!  commits, cq, row ──►┌───────────┐──► is_there, ring
//!                      │ ErrorRing │──► overrun
//!                      └───────────┘
//! ```
//! Contract: with `commits`, `row` is committed for `cq`: if it is live and takes events, the error ring is `cq` from then on; otherwise,
//! if `cq` was the error ring, there is none. `overrun` is the event that says that `cq` has lost an entry.
//!
//! Latency: 1 from `commits`, otherwise 0.
//!
//! Example: completion queue 5 is committed with LIVE and EVENTS: `is_there` is high and `ring` 5, until it is committed without them.
//!
//! Tests: `tests/complete/ring_blocks.rs`.

use crate::bus::Cq;
use crate::prims::Number;
use crate::rows::register::EventWord;
use crate::rows::tables::CompletionQueueRow;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::CQ_LOG2;
use viaduct_spec::register::event_code;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ErrorRing {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// There is no error ring.
    pub reset: Signal<In, bool>,
    /// Pulse: a completion queue is committed; [`CompletionQueues`](super::CompletionQueues) drives this and the other inputs.
    pub commits: Signal<In, bool>,
    /// The completion queue at hand.
    pub cq: Signal<In, Cq>,
    /// With `commits`: the row of that completion queue.
    pub row: Signal<In, CompletionQueueRow>,
    /// There is an error ring.
    pub is_there: Signal<Out, bool>,
    /// The completion queue that takes events.
    pub ring: Signal<Out, Cq>,
    /// The event that `cq` has lost an entry. It names the queue, not the VI.
    pub overrun: Signal<Out, EventWord>,
    exists: DFF<bool>,
    at: DFF<Cq>,
    overrun_code: Number<8, { event_code::CQ_OVERRUN as u64 }>,
}

impl Logic for ErrorRing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, exists, at);
        drive!(self, exists.q => is_there; at.q => ring);
        if self.commits.val() {
            if self.row.val().events & self.row.val().live {
                self.exists.d.next = true;
                self.at.d.next = self.cq.val();
            } else if self.at.q.val() == self.cq.val() {
                self.exists.d.next = false;
            }
        }
        self.overrun.next.code = self.overrun_code.val();
        self.overrun.next.vi = bit_cast::<10, CQ_LOG2>(self.cq.val());
        self.overrun.next.receive = false;
        self.overrun.next.broke = false;
        self.overrun.next.reserved_20 = bits::<44>(0);
        if self.reset.val() {
            self.exists.d.next = false;
        }
    }
}
