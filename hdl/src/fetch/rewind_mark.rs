//! Follows the rewind under way, and marks the descriptor that is its first.
//!
//! ```text
//!       queue, rewind ──►┌────────────┐──► begun
//!  load, start, issue ──►│ RewindMark │──► restart
//!   restarted, forget ──►└────────────┘
//! ```
//! Contract: `start` says that the rewind is in its queue's row: it is `begun`, until its first head is there (`restarted`) or a commit
//! makes it begin again (`forget`). The next descriptor of that queue that is asked for (`issue`) is its first: `restart` is high until
//! then, and in each later turn of the queue (`load`) until it has been.
//!
//! Example: VI 3 is rewound, but its tokens are to be read first. `start` makes `begun` and `restart` high, and the turn ends without an
//! `issue`. When the tokens are in, VI 3 has another turn: `load` makes `restart` high again, and the first `issue` makes it low.
//!
//! Latency: 1 cycle. Tests: with `Fetch`, `tests/queues/rewind.rs`.

use super::ChosenQueue;
use crate::bus::Rewind;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RewindMark {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the rewind under way.
    pub reset: Signal<In, bool>,
    /// The rewind that is to be carried out, from complete/sends; it holds still until its first head is there.
    pub rewind: FlowSink<Rewind>,
    /// Pulse from `Turn`: the rows of a queue are there, and its turn begins.
    pub load: Signal<In, bool>,
    /// The queue that has its turn, from `Choice`.
    pub queue: Signal<In, ChosenQueue>,
    /// Pulse from `Turn`: the rewind is in its queue's row.
    pub start: Signal<In, bool>,
    /// Pulse from `Turn`: a descriptor is asked for.
    pub issue: Signal<In, bool>,
    /// Pulses when the first head of the rewind is there; `Landing` drives it.
    pub restarted: Signal<In, bool>,
    /// Pulses when `Fetch` takes a table row: a rewind that has begun is forgotten and begins again.
    pub forget: Signal<In, bool>,
    /// The rewind is in its queue's row, and its first head has not come.
    pub begun: Signal<Out, bool>,
    /// The next descriptor to ask for is the first of the rewind.
    pub restart: Signal<Out, bool>,

    begun_now: DFF<bool>,
    restart_now: DFF<bool>,
    /// The first head of the rewind has been asked for.
    asked: DFF<bool>,
}

impl Logic for RewindMark {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, begun_now, restart_now, asked);
        if self.load.val() {
            self.restart_now.d.next = self.begun_now.q.val()
                & !self.asked.q.val()
                & !self.queue.val().receive
                & (self.rewind.data.val().vi == self.queue.val().vi);
        }
        if self.start.val() {
            self.begun_now.d.next = true;
            self.restart_now.d.next = true;
        }
        if self.issue.val() {
            self.restart_now.d.next = false;
            if self.restart_now.q.val() {
                self.asked.d.next = true;
            }
        }
        // A commit may have replaced the row of the rewound queue, so the rewind begins again.
        if self.forget.val() | self.restarted.val() | !self.rewind.valid.val() {
            self.begun_now.d.next = false;
            self.asked.d.next = false;
        }
        drive!(self, begun_now.q => begun; restart_now.q => restart);
        if self.reset.val() {
            self.begun_now.d.next = false;
            self.asked.d.next = false;
        }
    }
}
