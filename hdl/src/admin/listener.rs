//! One listener's share of a commit: whether it has still to take it.
//!
//! ```text
//!   start, hold ──►┌──────────┐──► commit
//!          row ───►│ Listener │──► waits
//!                  └──────────┘
//! ```
//! Contract: from the cycle behind `start` until the listener has taken the row, `waits` is high; it is offered the row
//! while nobody before it in its pipe waits (`hold`).
//!
//! Latency: 1 cycle. Tests: `tests/admin/broadcast.rs`.

use crate::bus::Commit;
use crate::stream::Source;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Listener {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing waits any more.
    pub reset: Signal<In, bool>,
    /// A commit of one of the listener's tables begins.
    pub start: Signal<In, bool>,
    /// Who stands before this listener in its pipe has not taken the commit.
    pub hold: Signal<In, bool>,
    /// The row; it holds still from `start` until nobody waits.
    pub row: Signal<In, Commit>,
    /// The row, to the listener.
    pub commit: Source<Commit>,
    /// The listener has not taken it.
    pub waits: Signal<Out, bool>,
    waiting: DFF<bool>,
    shown: Signal<Local, bool>,
}

impl Logic for Listener {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting);
        self.shown.next = self.waiting.q.val() & !self.hold.val();
        self.commit.valid.next = self.shown.val();
        self.commit.data.next = self.row.val();
        self.waits.next = self.waiting.q.val();
        self.waiting.d.next =
            (self.waiting.q.val() & !(self.shown.val() & self.commit.ready.val())) | self.start.val();
        if self.reset.val() {
            self.waiting.d.next = false;
        }
    }
}
