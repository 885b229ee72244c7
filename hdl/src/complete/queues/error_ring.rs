//! Which completion queue is the error ring, and what an event says there.
//!
//! ```text
//!  commits, cq, row ──►┌───────────┐──► is_there, ring
//!          reported ──►│ ErrorRing │──► word, overrun
//!                      └───────────┘
//! ```
//! Contract: with `commits`, `row` is committed for `cq`: if it is live and takes events, the error ring is `cq` from then on; otherwise, if `cq` was the
//! error ring, there is none. `word` is the entry of the event `reported`, `overrun` the entry that says that `cq` has lost one.
//!
//! Latency: 1 from `commits`, otherwise 0.
//!
//! Example: completion queue 5 is committed with LIVE and EVENTS: `is_there` is high and `ring` 5, until it is committed without them.
//!
//! Tests: with the whole, `tests/complete/queues.rs`.

use crate::bus::{Cq, Event};
use crate::prims::{Cast, Number};
use crate::rows::register::EventWord;
use crate::rows::tables::CompletionQueueRow;
use rust_hdl::prelude::*;
use viaduct_spec::profile::{CQ_LOG2, VI_LOG2};
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
    /// With `commits`: its row.
    pub row: Signal<In, CompletionQueueRow>,
    /// There is an error ring.
    pub is_there: Signal<Out, bool>,
    /// The completion queue that takes events.
    pub ring: Signal<Out, Cq>,
    /// An event.
    pub reported: Signal<In, Event>,
    /// The first eight bytes of its entry.
    pub word: Signal<Out, Bits<64>>,
    /// Those of the event that `cq` has lost an entry. They name the queue, not the VI.
    pub overrun: Signal<Out, Bits<64>>,
    exists: DFF<bool>,
    at: DFF<Cq>,
    of_event: Cast<EventWord, Bits<64>>,
    of_overrun: Cast<EventWord, Bits<64>>,
    overrun_code: Number<8, { event_code::CQ_OVERRUN as u64 }>,
}

impl Logic for ErrorRing {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, exists, at);
        self.is_there.next = self.exists.q.val();
        self.ring.next = self.at.q.val();
        if self.commits.val() {
            if self.row.val().events & self.row.val().live {
                self.exists.d.next = true;
                self.at.d.next = self.cq.val();
            } else if self.at.q.val() == self.cq.val() {
                self.exists.d.next = false;
            }
        }
        self.of_event.from.next.code = self.reported.val().code;
        self.of_event.from.next.vi = bit_cast::<10, VI_LOG2>(self.reported.val().vi);
        self.of_event.from.next.receive = self.reported.val().receive;
        self.of_event.from.next.broke = self.reported.val().broke;
        self.of_event.from.next.reserved_20 = bits::<44>(0);
        self.word.next = self.of_event.to.val();
        self.of_overrun.from.next.code = self.overrun_code.val();
        self.of_overrun.from.next.vi = bit_cast::<10, CQ_LOG2>(self.cq.val());
        self.of_overrun.from.next.receive = false;
        self.of_overrun.from.next.broke = false;
        self.of_overrun.from.next.reserved_20 = bits::<44>(0);
        self.overrun.next = self.of_overrun.to.val();
        if self.reset.val() {
            self.exists.d.next = false;
        }
    }
}
