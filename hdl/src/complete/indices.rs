//! How far each completion queue is written and taken, and who sleeps for it.
//!
//! ```text
//!           store (a pulse) ──►┌─────────┐──► raise: vector   ◄── raise_ready
//!    cq; start, count, tell ──►│ Indices │──► row, taken, ready
//!                              └─────────┘──► count_ignored
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
//! - With `count`, `following` is one more than the queue's `written`: who counts has seen the row, and has the time to add.
//! - `row` and `taken` are those of `cq` in a cycle with `ready`; at most one of `start`, `count` and `tell` is high, and is done
//!   with `ready`.
//!
//! A store waits while a raise is not taken: at most two cycles, since who takes raises is busy with others for no longer. The edge makes
//! at most one store in three cycles.
//!
//! Latency: 3 cycles from `store`, 1 from `count`, to `raise`. Tests: `tests/complete/indices.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Cq, CqIndex, CqStore, Vector};
use crate::prims::LutRam;
use crate::stream::{FlowSink, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::CQ_LOG2;

/// What is known of a queue.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqRow {
    /// Entries written.
    pub written: CqIndex,
    /// log2 of the ring's entries.
    pub log2: Bits<5>,
    /// Its interrupt vector.
    pub vector: Vector,
    /// The queue exists.
    pub live: bool,
    /// Its consumer sleeps.
    pub armed: bool,
    /// Its overrun has been reported.
    pub told: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Indices {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; the rows are cleared by commits.
    pub reset: Signal<In, bool>,
    /// A store of the host, this cycle only.
    pub store: FlowSink<CqStore>,
    /// The queue that is looked at, or changed.
    pub cq: Signal<In, Cq>,
    /// A commit: `started` is its row, at index 0.
    pub start: Signal<In, bool>,
    /// The new row: `log2`, `vector` and `live`.
    pub started: Signal<In, CqRow>,
    /// What `written` is with one entry more.
    pub following: Signal<In, CqIndex>,
    /// An entry is written.
    pub count: Signal<In, bool>,
    /// An overrun is reported.
    pub tell: Signal<In, bool>,
    /// `row` and `taken` are `cq`'s, and the change is made.
    pub ready: Signal<Out, bool>,
    /// The queue's row.
    pub row: Signal<Out, CqRow>,
    /// Entries that its consumer has taken.
    pub taken: Signal<Out, CqIndex>,
    /// A vector is raised, until it is taken.
    pub raise: Source<Vector>,
    /// Pulse: a store was ignored.
    pub count_ignored: Pulse,
    /// A store or a raise is under way.
    pub busy: Signal<Out, bool>,
    rows: LutRam<CqRow, CQ_LOG2>,
    takes: LutRam<CqIndex, CQ_LOG2>,
    held: DFF<bool>,
    job: DFF<CqStore>,
    /// `elsewhere` is that of the job: its row has been read.
    judged: DFF<bool>,
    /// The job's queue stands at another index.
    elsewhere: DFF<bool>,
    raised: DFF<bool>,
    raised_vector: DFF<Vector>,
    ignored: DFF<bool>,
    free: Signal<Local, bool>,
    serve: Signal<Local, bool>,
    change: Signal<Local, bool>,
    now: Signal<Local, CqRow>,
    changed: Signal<Local, CqRow>,
}

impl Logic for Indices {
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
        self.takes.read_address.next = self.cq.val();
        self.now.next = self.rows.read_data.val();
        self.row.next = self.now.val();
        self.taken.next = self.takes.read_data.val();

        // A change waits for a held store, so its row is the same a cycle later.
        self.judged.d.next = self.held.q.val();
        self.elsewhere.d.next = self.now.val().written != self.job.q.val().index;
        self.changed.next = self.now.val();
        self.rows.write_enable.next = false;
        self.rows.write_address.next = self.cq.val();
        self.takes.write_enable.next = false;
        self.takes.write_address.next = self.cq.val();
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
            // Whether it is written does not wait for what the row says.
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

        self.raise.valid.next = self.raised.q.val();
        self.raise.data.next = self.raised_vector.q.val();
        self.count_ignored.next = self.ignored.q.val();
        self.busy.next = self.held.q.val() | self.raised.q.val();
        if self.reset.val() {
            self.held.d.next = false;
            self.judged.d.next = false;
            self.raised.d.next = false;
            self.ignored.d.next = false;
        }
    }
}
