//! Knows how far each queue is complete, and raises the queue's vector for a consumer that sleeps.
//!
//! ```text
//!    arm ──►┌────────┐──► raise
//!  ended ──►│ Notify │
//! commit ──►└────────┘──► busy
//! ```
//! Contract:
//! - A commit of WORK_QUEUE empties a queue's row: position 0, disarmed, its vector.
//! - `ended`: one more descriptor of the queue has ended; an armed queue is disarmed and its vector raised.
//! - `arm`: the consumer has not seen the descriptor at `arm.position` complete. If that is the queue's position, the queue is
//!   armed. If it is not, something has ended meanwhile: the vector is raised at once, and the queue is not armed.
//! - What comes in one cycle is done in this order: the arm, then the end, then the commit. So an end and
//!   an arm, in whichever order, raise exactly once. An arm is never refused, and may come in every cycle.
//!
//! The armed position is not kept: a queue is armed only at its own position, and the next end leaves it.
//!
//! Latency: 4 cycles from `arm` or `ended` to `raise`. One job every cycle.
//!
//! How: read, wait in a register (block RAM is slow), change and write. Jobs for one row follow each other
//! closer than that, so the row comes from the memory or from the two jobs before.
//!
//! Example: a queue stands at position 4. `arm` at 4 arms it; the next `ended` raises its vector and disarms it. `arm` at 4 again, while
//! the queue stands at 5, raises the vector at once.
//!
//! Tests: `tests/interrupt/notify.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Arm, Commit, Position, Queue, Vector, QUEUE_LOG2};
use crate::prims::{Ram, Unpack};
use crate::rows::tables::WorkQueueRow;
use crate::stream::{FlowSink, FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VECTOR_LOG2;

/// What is known of a queue.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct NotifyRow {
    /// Descriptors ended: the position of the next.
    pub position: Position,
    /// The queue's consumer sleeps.
    pub armed: bool,
    /// The queue's interrupt vector.
    pub vector: Vector,
}

/// What is to be done to a row; neither `arm` nor `end`: a commit.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct NotifyJob {
    /// The work queue whose row it is.
    pub queue: Queue,
    /// The consumer goes to sleep.
    pub arm: bool,
    /// A descriptor has ended.
    pub end: bool,
    /// An arm's position.
    pub position: Position,
    /// A commit's vector.
    pub vector: Vector,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Notify {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; the rows are cleared by commits.
    pub reset: Signal<In, bool>,
    /// The consumer of a work queue goes to sleep at a position; from `doorbell`.
    pub arm: FlowSink<Arm>,
    /// The work queue of which a descriptor has ended, from `complete/writer`.
    pub ended: Sink<Queue>,
    /// A row of WORK_QUEUE, from `admin/broadcast`: the queue starts at position 0 with its vector.
    pub commit: Sink<Commit>,
    /// The vector that is raised for the consumer of a queue, for [`Vectors`](super::Vectors).
    pub raise: FlowSource<Vector>,
    /// A job or a raise is under way; `quiet` listens.
    pub busy: Signal<Out, bool>,
    /// The row of each queue.
    rows: Ram<NotifyRow, QUEUE_LOG2>,
    /// The memory gives the row of `reader` in this cycle.
    read: DFF<bool>,
    /// The job whose row comes out of the memory.
    reader: DFF<NotifyJob>,
    /// There is a job in `job`.
    active: DFF<bool>,
    /// The job that is done in this cycle.
    job: DFF<NotifyJob>,
    /// The row of `job`.
    row: DFF<NotifyRow>,
    /// A row was written in the cycle before.
    wrote: DFF<bool>,
    /// The queue whose row that was.
    written_queue: DFF<Queue>,
    /// The row as it was written.
    written: DFF<NotifyRow>,
    /// A vector is raised in this cycle.
    raised: DFF<bool>,
    /// The vector that is raised.
    raised_vector: DFF<Vector>,
    /// The job that is taken in this cycle.
    next_job: Signal<Local, NotifyJob>,
    /// The row as the job leaves it.
    changed: Signal<Local, NotifyRow>,
    /// The position behind the row's.
    following: Signal<Local, Position>,
    behind: Signal<Local, bool>,
    committed: Unpack<Commit, WorkQueueRow>,
}

impl Logic for Notify {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, read, reader, active, job, row, wrote, written_queue, written);
        dff_setup!(self, clock, raised, raised_vector);
        clock!(self, clock, rows);

        // The job is chosen, and its row is read.
        self.committed.from.next = self.commit.data.val();
        self.next_job.next.queue = bit_cast::<QUEUE_LOG2, 16>(self.commit.data.val().row);
        fill!(self, next_job, arm.valid => arm; false => end; arm.data.val().position => position);
        self.next_job.next.vector = bit_cast::<VECTOR_LOG2, 8>(self.committed.to.val().vector);
        self.ended.ready.next = !self.arm.valid.val();
        self.commit.ready.next = self.commit.valid.val() & !self.arm.valid.val() & !self.ended.valid.val();
        if self.arm.valid.val() {
            self.next_job.next.queue = self.arm.data.val().queue;
        } else if self.ended.valid.val() {
            self.next_job.next.queue = self.ended.data.val();
            self.next_job.next.end = true;
        }
        self.rows.read_address.next = self.next_job.val().queue;
        self.read.d.next = self.arm.valid.val() | self.ended.valid.val() | self.commit.valid.val();
        self.reader.d.next = self.next_job.val();

        // The row is changed.
        self.following.next = self.row.q.val().position + 1;
        self.behind.next = self.row.q.val().position != self.job.q.val().position;
        self.changed.next = self.row.q.val();
        self.raised.d.next = false;
        if self.job.q.val().arm {
            self.changed.next.armed = !self.behind.val();
            self.raised.d.next = self.active.q.val() & self.behind.val();
        } else if self.job.q.val().end {
            self.changed.next.position = self.following.val();
            self.changed.next.armed = false;
            // WQ-1: the interrupt of a work queue comes behind the status of its descriptor.
            self.raised.d.next = self.active.q.val() & self.row.q.val().armed;
        } else {
            self.changed.next.position = bits::<14>(0);
            self.changed.next.armed = false;
            self.changed.next.vector = self.job.q.val().vector;
        }
        drive!(self, active.q => rows.write_enable; job.q.val().queue => rows.write_address;
            changed => rows.write_data);
        self.raised_vector.d.next = self.row.q.val().vector;

        // The row for the next job: what was changed last counts.
        self.active.d.next = self.read.q.val();
        self.job.d.next = self.reader.q.val();
        self.row.d.next = self.rows.read_data.val();
        if self.active.q.val() & (self.job.q.val().queue == self.reader.q.val().queue) {
            self.row.d.next = self.changed.val();
        } else if self.wrote.q.val() & (self.written_queue.q.val() == self.reader.q.val().queue) {
            self.row.d.next = self.written.q.val();
        }
        self.wrote.d.next = self.active.q.val();
        self.written_queue.d.next = self.job.q.val().queue;
        self.written.d.next = self.changed.val();

        drive!(self, raised.q => raise.valid; raised_vector.q => raise.data);
        self.busy.next = self.read.q.val() | self.active.q.val() | self.raised.q.val();

        if self.reset.val() {
            self.read.d.next = false;
            self.active.d.next = false;
            self.wrote.d.next = false;
            self.raised.d.next = false;
        }
    }
}
