//! Chooses the queue that is served next.
//!
//! ```text
//!   idle, open, heads_free ──►┌────────┐──► chosen
//!            found, rewind ──►│ Choice │
//!                send_work ──►│        │──► queue
//!             receive_work ──►└────────┘
//! ```
//! Contract: while `idle`, the block chooses one queue in each cycle. A rewind goes first; rewinds are rare. Otherwise the queues whose
//! ring line has come and the run queues take turns, and of the two run queues the one goes that was not served before. So a queue at the
//! head of a run queue waits for at most three others, and for rewinds. Without `open` the block chooses only queues whose ring line has
//! come. Without `heads_free` it chooses no send queue, except for a rewind, which fetches nothing yet. The choice stands in registers
//! from the next cycle on, until the next choice.
//!
//! Example: `send_work` and `receive_work` each offer a VI, and the send queues were served last. So the block takes `receive_work`;
//! `chosen` is high in that cycle, and in the next one `queue` has its VI, and is `receive`.
//!
//! Latency: 1 cycle. Tests: with `Fetch`, `tests/queues/fetch/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::lines::FoundTokens;
use crate::bus::{Queue, QueueId, Vi};
use crate::prims::Cast;

/// The queue that has its turn, and why.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ChosenQueue {
    /// The queue is the receive queue of `vi`; otherwise it is the send queue.
    pub receive: bool,
    /// VI of the queue.
    pub vi: Vi,
    /// The queue was chosen because its ring line has come.
    pub landed: bool,
    /// With `landed`: how many tokens that line brought.
    pub count: Bits<4>,
    /// The queue was chosen because its VI is to be rewound.
    pub rewinding: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Choice {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets what it chose last.
    pub reset: Signal<In, bool>,
    /// `Turn` serves no queue, so the next one may be chosen.
    pub idle: Signal<In, bool>,
    /// New work may be taken from the run queues and the rewinds; while low, only ring lines that are in are taken.
    pub open: Signal<In, bool>,
    /// Gather has room for at least one more send head; `Fetch` drives this and the two inputs before.
    pub heads_free: Signal<In, bool>,
    /// A ring line that has come, from `Lines`: its queue, and how many tokens it brought.
    pub found: Sink<FoundTokens>,
    /// A VI whose send queue is to be rewound, from complete/sends.
    pub rewind: FlowSink<Vi>,
    /// A VI that has work in its send queue, from doorbell's run queue of sends.
    pub send_work: Sink<Vi>,
    /// A VI that has work in its receive queue, from doorbell's run queue of receives.
    pub receive_work: Sink<Vi>,
    /// Pulses in the cycle in which a queue is chosen: it is `queue` from the next cycle on.
    pub chosen: Signal<Out, bool>,
    /// The queue that was chosen, and why.
    pub queue: Signal<Out, ChosenQueue>,

    now: DFF<ChosenQueue>,
    /// The run queue that was served last is that of the receive queues.
    received: DFF<bool>,

    rewinds: Signal<Local, bool>,
    sends: Signal<Local, bool>,
    receives: Signal<Local, bool>,
    lands: Signal<Local, bool>,
    /// A run queue, not a ring line, is served.
    run: Signal<Local, bool>,
    taken: Signal<Local, bool>,
    line_queue: Cast<Queue, QueueId>,
}

impl Logic for Choice {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, now, received);

        self.rewinds.next = self.idle.val() & self.open.val() & self.rewind.valid.val();
        self.sends.next = self.open.val() & self.send_work.valid.val() & self.heads_free.val();
        self.receives.next = self.open.val() & self.receive_work.valid.val();
        self.lands.next = self.idle.val()
            & self.found.valid.val()
            & !self.rewinds.val()
            & !(self.now.q.val().landed & (self.sends.val() | self.receives.val()));
        self.run.next = self.idle.val() & !self.rewinds.val() & !self.lands.val();
        self.send_work.ready.next =
            self.run.val() & self.sends.val() & (self.received.q.val() | !self.receives.val());
        self.receive_work.ready.next =
            self.run.val() & self.receives.val() & !(self.received.q.val() & self.sends.val());
        self.found.ready.next = self.lands.val();
        self.taken.next = self.rewinds.val()
            | self.lands.val()
            | (self.run.val() & (self.sends.val() | self.receives.val()));
        self.chosen.next = self.taken.val();

        drive!(self, found.data.val().queue => line_queue.from; now.q => queue);
        if self.taken.val() {
            self.now.d.next.landed = self.lands.val();
            self.now.d.next.rewinding = self.rewinds.val();
            self.now.d.next.count = self.found.data.val().count;
            self.now.d.next.vi = self.send_work.data.val();
            self.now.d.next.receive = false;
            if self.run.val() {
                self.received.d.next = false;
            }
            if self.run.val() & self.receives.val() & !(self.received.q.val() & self.sends.val()) {
                self.now.d.next.vi = self.receive_work.data.val();
                self.now.d.next.receive = true;
                self.received.d.next = true;
            }
            if self.lands.val() {
                self.now.d.next.vi = self.line_queue.to.val().vi;
                self.now.d.next.receive = self.line_queue.to.val().receive;
            }
            if self.rewinds.val() {
                self.now.d.next.vi = self.rewind.data.val();
            }
        }

        if self.reset.val() {
            self.now.d.next.landed = false;
            self.now.d.next.rewinding = false;
            self.received.d.next = false;
        }
    }
}
