//! Chooses the queue that is served next.
//!
//! ```text
//!          found ──►┌────────┐──► chosen
//!         rewind ──►│ Choice │
//!      send_work ──►│        │──► vi, receive, landed, rewinding, count
//!   receive_work ──►└────────┘
//! ```
//! Contract: while `idle`, the block chooses one queue in each cycle. A rewind goes first; rewinds are rare. Otherwise the queues whose
//! ring line is in and the run queues take turns, and of the two run queues the one goes that was not served before. So a queue at the
//! head of a run queue waits for at most three others, and for rewinds. Without `open` the block takes only lines that are in. Without
//! `heads_free` it takes no send queue, but it takes a rewind, since that fetches nothing yet. What was chosen stands in registers from
//! the next cycle on, until the next choice.
//!
//! Example: `send_work` and `receive_work` each offer a VI, and the send queues were served last. So the block takes `receive_work`;
//! `chosen` is high in that cycle, and in the next one `vi` is its VI and `receive` is high.
//!
//! Latency: 1 cycle. Tests: with the scheduler, `tests/queues/fetch/`.

use crate::stream::{FlowSink, Sink};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;

use super::lines::Found;
use crate::bus::{Vi, QUEUE_LOG2};

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
    /// Gather has room for at least one more send head.
    pub heads_free: Signal<In, bool>,
    /// A ring line is in: its queue, and how many tokens it brought.
    pub found: Sink<Found>,
    /// A VI whose send queue is to be rewound.
    pub rewind: FlowSink<Vi>,
    /// A VI that has work in its send queue, from that run queue.
    pub send_work: Sink<Vi>,
    /// A VI that has work in its receive queue, from that run queue.
    pub receive_work: Sink<Vi>,
    /// Pulses in the cycle in which a queue is chosen. The ports below describe the queue from the next cycle on.
    pub chosen: Signal<Out, bool>,
    /// VI of the queue that was chosen.
    pub vi: Signal<Out, Vi>,
    /// The chosen queue is the receive queue of `vi`; otherwise it is the send queue.
    pub receive: Signal<Out, bool>,
    /// The queue was chosen because its ring line is in.
    pub landed: Signal<Out, bool>,
    /// With `landed`: how many tokens that line brought.
    pub count: Signal<Out, Bits<4>>,
    /// The queue was chosen because its VI is to be rewound.
    pub rewinding: Signal<Out, bool>,

    vi_now: DFF<Vi>,
    receive_now: DFF<bool>,
    landed_now: DFF<bool>,
    rewinding_now: DFF<bool>,
    found_now: DFF<Found>,
    /// The run queue that was served last is that of the receive queues.
    received: DFF<bool>,

    rewinds: Signal<Local, bool>,
    sends: Signal<Local, bool>,
    receives: Signal<Local, bool>,
    lands: Signal<Local, bool>,
    /// A run queue, not a ring line, is served.
    run: Signal<Local, bool>,
    taken: Signal<Local, bool>,
    queue: Signal<Local, Bits<QUEUE_LOG2>>,
}

impl Logic for Choice {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, vi_now, receive_now, landed_now, rewinding_now, found_now, received);

        self.rewinds.next = self.idle.val() & self.open.val() & self.rewind.valid.val();
        self.sends.next = self.open.val() & self.send_work.valid.val() & self.heads_free.val();
        self.receives.next = self.open.val() & self.receive_work.valid.val();
        self.lands.next = self.idle.val()
            & self.found.valid.val()
            & !self.rewinds.val()
            & !(self.landed_now.q.val() & (self.sends.val() | self.receives.val()));
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

        self.queue.next = self.found.data.val().queue;
        if self.taken.val() {
            self.landed_now.d.next = self.lands.val();
            self.rewinding_now.d.next = self.rewinds.val();
            self.found_now.d.next = self.found.data.val();
            self.vi_now.d.next = self.send_work.data.val();
            self.receive_now.d.next = false;
            if self.run.val() {
                self.received.d.next = false;
            }
            if self.run.val() & self.receives.val() & !(self.received.q.val() & self.sends.val()) {
                self.vi_now.d.next = self.receive_work.data.val();
                self.receive_now.d.next = true;
                self.received.d.next = true;
            }
            if self.lands.val() {
                self.vi_now.d.next = bit_cast::<VI_LOG2, QUEUE_LOG2>(self.queue.val() >> bits::<1>(1));
                self.receive_now.d.next = self.queue.val().get_bit(0);
            }
            if self.rewinds.val() {
                self.vi_now.d.next = self.rewind.data.val();
            }
        }
        self.vi.next = self.vi_now.q.val();
        self.receive.next = self.receive_now.q.val();
        self.landed.next = self.landed_now.q.val();
        self.count.next = self.found_now.q.val().count;
        self.rewinding.next = self.rewinding_now.q.val();

        if self.reset.val() {
            self.landed_now.d.next = false;
            self.rewinding_now.d.next = false;
            self.received.d.next = false;
        }
    }
}
