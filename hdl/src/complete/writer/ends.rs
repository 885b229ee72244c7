//! Tells `interrupt/notify` and `complete/queues` of each descriptor that has ended.
//!
//! ```text
//!  ends, at, written ──►┌────────────────┐──► ended
//!                       │ DescriptorEnds │──► closed
//!                       └────────────────┘──► waits
//! ```
//! Contract: with `ends`, the descriptor of the completion `at` has ended, if that says so. Then `ended` names its queue and `closed` the
//! descriptor, each until it is taken; `waits` until both are. The owner ends no other descriptor while the block `waits`.
//!
//! Latency: 1 from `ends`.
//!
//! Example: a receive of VI 3 ends and its status is written: in the next cycle `ended` has queue 7, and `closed` VI 3's receive with
//! `written`.
//!
//! Tests: with the whole, `tests/complete/writer/`.

use crate::bus::{Closed, Completion, Queue, QueueId};
use crate::prims::Cast;
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct DescriptorEnds {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is not told yet.
    pub reset: Signal<In, bool>,
    /// Pulse: the completion is over; [`Writer`](super::Writer) drives this and the other inputs.
    pub ends: Signal<In, bool>,
    /// The completion that is over.
    pub at: Signal<In, Completion>,
    /// The status of the completion is written.
    pub written: Signal<In, bool>,
    /// The work queue of which a descriptor has ended, to `interrupt/notify`.
    pub ended: Source<Queue>,
    /// The descriptor that has ended, to `complete/queues`.
    pub closed: Source<Closed>,
    /// `ended` or `closed` is not taken yet.
    pub waits: Signal<Out, bool>,
    /// `ended` is not taken yet.
    ended_waits: DFF<bool>,
    /// `closed` is not taken yet.
    closed_waits: DFF<bool>,
    queue: DFF<Queue>,
    descriptor: DFF<Closed>,
    queue_id: Cast<QueueId, Queue>,
}

impl Logic for DescriptorEnds {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, ended_waits, closed_waits, queue, descriptor);
        self.queue_id.from.next.vi = self.at.val().vi;
        self.queue_id.from.next.receive = self.at.val().receive;
        self.waits.next = self.ended_waits.q.val() | self.closed_waits.q.val();
        drive!(self, ended_waits.q => ended.valid; queue.q => ended.data; closed_waits.q => closed.valid;
            descriptor.q => closed.data);
        if self.ended.ready.val() {
            self.ended_waits.d.next = false;
        }
        if self.closed.ready.val() {
            self.closed_waits.d.next = false;
        }
        if self.ends.val() {
            self.ended_waits.d.next = self.at.val().ends;
            self.closed_waits.d.next = self.at.val().ends;
            self.queue.d.next = self.queue_id.to.val();
            self.descriptor.d.next.vi = self.at.val().vi;
            self.descriptor.d.next.receive = self.at.val().receive;
            self.descriptor.d.next.region = self.at.val().region;
            self.descriptor.d.next.offset = self.at.val().offset;
            self.descriptor.d.next.written = self.written.val();
        }
        if self.reset.val() {
            self.ended_waits.d.next = false;
            self.closed_waits.d.next = false;
        }
    }
}
