//! Offers a commit to one listener, and knows whether that has still to take it.
//!
//! ```text
//!   start, hold ──►┌──────────┐──► commit
//!          row ───►│ Listener │──► waits
//!                  └──────────┘
//! ```
//! Contract: from the cycle behind `start` until the listener has taken the row, `waits` is high; it is offered the row
//! while nobody before it in its pipe waits (`hold`).
//!
//! Latency: 1 cycle.
//!
//! Example: `start` comes in cycle 0 while `hold` is high until cycle 5: `waits` is high from cycle 1 on, and `commit` is offered when
//! `hold` has fallen.
//!
//! Tests: `tests/admin/broadcast.rs`.

use crate::bus::Commit;
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Listener {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Ends the waiting.
    pub reset: Signal<In, bool>,
    /// A commit of one of the listener's tables begins; `Broadcast` drives this and the next two.
    pub start: Signal<In, bool>,
    /// A listener before this one in its pipe has not taken the commit.
    pub hold: Signal<In, bool>,
    /// The row of the commit; it holds still from `start` until no listener waits.
    pub row: Signal<In, Commit>,
    /// The row, offered to the listener.
    pub commit: Source<Commit>,
    /// The listener has not taken the row.
    pub waits: Signal<Out, bool>,
    waiting: DFF<bool>,
    shown: Signal<Local, bool>,
}

impl Logic for Listener {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting);
        self.shown.next = self.waiting.q.val() & !self.hold.val();
        drive!(self, shown => commit.valid; row => commit.data; waiting.q => waits);
        self.waiting.d.next =
            (self.waiting.q.val() & !(self.shown.val() & self.commit.ready.val())) | self.start.val();
        if self.reset.val() {
            self.waiting.d.next = false;
        }
    }
}
