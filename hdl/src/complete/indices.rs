//! Keeps how far each completion queue is written and taken, and whether its consumer sleeps.
//!
//! ```text
//!              store ──►┌─────────┐──► raise
//!                 cq ──►│ Indices │──► row, taken, ready
//! start, count, tell ──►│         │──► count_ignored, busy
//! started, following ──►└─────────┘
//! ```
//! Contract:
//! - `start` puts a committed queue at index 0, disarmed. If it was live and armed, and still is live, its vector, the
//!   old one, is raised.
//! - `count`: one more entry is written; an armed queue is disarmed and its vector raised.
//! - `tell`: its overrun has been reported. The next entry that is written, and a commit, forget that.
//! - A store gives the consumer's index, or asks for an interrupt: if the queue stands at another index, its vector is
//!   raised at once; otherwise it is armed. A store to a queue that is not live changes nothing and is counted.
//! - Stores go first, and each is done before the next one. So an entry and an arm, in whichever order, raise
//!   exactly once.
//! - `following` is one more than the `written` of the row that was shown for `cq`, and counts with `count`: the owner has had the time
//!   to add.
//! - `row` and `taken` are those of `cq` in a cycle with `ready`; at most one of `start`, `count` and `tell` is high, and is done
//!   with `ready`.
//!
//! A store waits while a raise is not taken: at most two cycles, since the block that takes raises is busy with others for no longer. The
//! edge makes at most one store in three cycles.
//!
//! Latency: 3 cycles from `store`, 1 from `count`, to `raise`.
//!
//! Example: a queue has 4 entries written. Its consumer arms it at index 4: it is armed. The owner's next `count` raises its vector once,
//! and disarms it.
//!
//! Tests: `tests/complete/indices.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Cq, CqIndex, CqStore, Vector};
use crate::prims::LutRam;
use crate::stream::{FlowSink, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::CQ_LOG2;

/// How far a completion queue is written, and whether its consumer sleeps.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqRow {
    /// Entries written, modulo 2^18.
    pub written: CqIndex,
    /// log2 of the ring's entries.
    pub log2: Bits<5>,
    /// The queue's interrupt vector.
    pub vector: Vector,
    /// The queue exists.
    pub live: bool,
    /// The queue's consumer sleeps.
    pub armed: bool,
    /// The queue's overrun has been reported.
    pub told: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Indices {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; the rows are cleared by commits.
    pub reset: Signal<In, bool>,
    /// The host stores to the page of a completion queue; `doorbell/cq_pages` drives it.
    pub store: FlowSink<CqStore>,
    /// The queue whose row is read and changed; [`CompletionQueues`](super::CompletionQueues), the owner, drives this and the inputs below.
    pub cq: Signal<In, Cq>,
    /// The owner commits the queue: it begins at index 0 with the row `started`.
    pub start: Signal<In, bool>,
    /// The row of a queue that is committed; only `log2`, `vector` and `live` count.
    pub started: Signal<In, CqRow>,
    /// The row's `written` with one entry more, computed by the owner.
    pub following: Signal<In, CqIndex>,
    /// The owner has written one more entry of the queue.
    pub count: Signal<In, bool>,
    /// The owner has reported an overrun of the queue.
    pub tell: Signal<In, bool>,
    /// `row` and `taken` are those of `cq` in this cycle, and a change that is asked for is made.
    pub ready: Signal<Out, bool>,
    /// The row of the queue `cq`.
    pub row: Signal<Out, CqRow>,
    /// Number of entries that the consumer of `cq` has taken.
    pub taken: Signal<Out, CqIndex>,
    /// The vector to raise for a consumer that sleeps, to `interrupt/vectors`.
    pub raise: Source<Vector>,
    /// A store to a queue that is not live is ignored.
    pub count_ignored: Pulse,
    /// A store or a raise is under way.
    pub busy: Signal<Out, bool>,
    /// The row of each queue.
    rows: LutRam<CqRow, CQ_LOG2>,
    /// How many entries each queue's consumer has taken.
    takes: LutRam<CqIndex, CQ_LOG2>,
    /// A store waits in `job`.
    held: DFF<bool>,
    /// The store that is served next.
    job: DFF<CqStore>,
    /// The row of the job's queue has been read: `elsewhere` is about it.
    judged: DFF<bool>,
    /// The job's queue stands at another index.
    elsewhere: DFF<bool>,
    /// A vector is raised and not taken yet.
    raised: DFF<bool>,
    /// The vector that is raised.
    raised_vector: DFF<Vector>,
    /// A store was ignored in the cycle before.
    ignored: DFF<bool>,
    /// No raise waits.
    free: Signal<Local, bool>,
    /// The job is done in this cycle.
    serve: Signal<Local, bool>,
    /// The owner's change is made in this cycle.
    change: Signal<Local, bool>,
    /// The row as it is.
    now: Signal<Local, CqRow>,
    /// The row as it is written back.
    changed: Signal<Local, CqRow>,
}

impl Logic for Indices {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, job, judged, elsewhere, raised, raised_vector, ignored);
        clock!(self, clock, rows, takes);

        self.free.next = !self.raised.q.val() | self.raise.ready.val();
        self.serve.next = self.judged.q.val() & self.free.val();
        self.ready.next = !self.held.q.val() & self.free.val();
        self.change.next = !self.held.q.val() & self.free.val();
        self.rows.read_address.next = self.cq.val();
        if self.held.q.val() {
            self.rows.read_address.next = self.job.q.val().cq;
        }
        drive!(self, cq => takes.read_address; rows.read_data => now; now => row; takes.read_data => taken);

        // A change waits for a held store, so its row is the same a cycle later.
        self.judged.d.next = self.held.q.val();
        self.elsewhere.d.next = self.now.val().written != self.job.q.val().index;
        drive!(self, now => changed; false => rows.write_enable, takes.write_enable;
            cq => rows.write_address, takes.write_address);
        self.takes.write_data.next = bits::<18>(0);
        self.ignored.d.next = false;
        if self.raise.ready.val() {
            self.raised.d.next = false;
        }
        if self.serve.val() {
            self.held.d.next = false;
            self.judged.d.next = false;
            self.rows.write_address.next = self.job.q.val().cq;
            self.takes.write_address.next = self.job.q.val().cq;
            self.takes.write_data.next = self.job.q.val().index;
            // CQ-6: at another index an arm is answered at once; otherwise it waits for the next entry.
            // Whether the row is written does not depend on what it says; only the new row does.
            self.changed.next.armed = self.now.val().live & !self.elsewhere.q.val();
            self.rows.write_enable.next = self.job.q.val().arm;
            if !self.now.val().live {
                self.ignored.d.next = true;
            } else if self.job.q.val().arm {
                self.raised.d.next = self.elsewhere.q.val();
                self.raised_vector.d.next = self.now.val().vector;
            } else {
                self.takes.write_enable.next = true;
            }
        } else if self.change.val() {
            if self.start.val() {
                self.changed.next = self.started.val();
                self.rows.write_enable.next = true;
                self.takes.write_enable.next = true;
                self.raised.d.next = self.now.val().live & self.now.val().armed & self.started.val().live;
                self.raised_vector.d.next = self.now.val().vector;
            } else if self.count.val() {
                // CQ-6: the next entry answers an arm, once.
                self.changed.next.written = self.following.val();
                self.changed.next.armed = false;
                self.changed.next.told = false;
                self.rows.write_enable.next = true;
                self.raised.d.next = self.now.val().armed;
                self.raised_vector.d.next = self.now.val().vector;
            } else if self.tell.val() {
                self.changed.next.told = true;
                self.rows.write_enable.next = true;
            }
        }
        self.rows.write_data.next = self.changed.val();
        if self.store.valid.val() {
            self.held.d.next = true;
            self.job.d.next = self.store.data.val();
        }

        drive!(self, raised.q => raise.valid; raised_vector.q => raise.data; ignored.q => count_ignored);
        self.busy.next = self.held.q.val() | self.raised.q.val();
        if self.reset.val() {
            self.held.d.next = false;
            self.judged.d.next = false;
            self.raised.d.next = false;
            self.ignored.d.next = false;
        }
    }
}
