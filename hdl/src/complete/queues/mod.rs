//! Completion queues: an entry for each completion of a work queue that has one, and for each event.
//!
//! ```text
//!           closed ──►┌──────────────────┐──► entry
//!       ring_event ──►│ CompletionQueues │◄── entry_end
//!            store ──►│ CqSteps          │──► raise
//!           commit ──►│ CqWords          │──► fault, event_writing
//!                     │ Indices          │──► result, count_*
//!                     │ EntryPlace       │
//!                     │ ErrorRing        │
//!                     └──────────────────┘
//! ```
//! Contract:
//! - WORK_QUEUE rows say which completion queue a work queue has; a commit starts its positions at 0. Each descriptor that ends counts a
//!   position; one whose status is written makes an entry {token, VI, receive}.
//! - An event makes an entry of the queue that has EVENTS. Without such a queue, or without room in it, it is lost and counted.
//! - `entry` stays until `entry_end`, which says whether it was granted; then it is in the queue, and an armed queue is raised.
//!   `complete/writer` writes it: behind the status, which was written before `closed`.
//! - Without room the entry is lost and counted, and CONN_LOST breaks its VI. Before that, the first entry lost since the queue had room
//!   is reported by the event CQ_OVERRUN, which names the queue. Without such a queue or such memory, COMP_PROT breaks the VI.
//! - A commit of COMPLETION_QUEUE is taken between entries: `result` is the number of entries that the old ring has.
//! - A commit of WORK_QUEUE comes behind the descriptors of that queue that have ended: whoever saw their status has their entries in the
//!   old completion queue.
//! - The block does one thing at a time. A commit waits for one descriptor or event at most, and a descriptor goes before an event. A
//!   store holds nothing up for more than two cycles.
//!
//! Latency: 7 cycles from `closed` to `entry`; 4 if the work queue has no completion queue.
//!
//! How: [`CqSteps`] has the order of what is done. [`CqWords`] has the ring places and the work queues' rows in one block RAM of 36-bit
//! words, read a word at a time; [`Indices`] has how far each ring is. [`EntryPlace`] collects where an entry goes, and [`ErrorRing`]
//! knows where events go.
//!
//! Example: a work queue has completion queue 3, which is armed and has room. `closed` of its descriptor gives an `entry` {token, VI,
//! receive} 7 cycles later; when `entry_end` is true, the queue's vector is raised.
//!
//! Tests: `tests/complete/queues.rs`, `cq_random.rs`.

mod entry_place;
mod error_ring;
mod next_entry;
mod steps;
mod words;

pub use error_ring::ErrorRing;
pub use next_entry::NextEntry;

use entry_place::EntryPlace;
use steps::{CqJob, CqStep, CqSteps};
use words::{CqWords, WorkWord};

use super::indices::Indices;
use crate::bus::{Closed, Commit, Cq, CqEntry, CqIndex, CqStore, Fault, Queue, QueueId, Vector, QUEUE_LOG2};
use crate::prims::{Cast, Number, Unpack};
use crate::rows::doorbell::Token;
use crate::rows::register::EventWord;
use crate::rows::tables::{CompletionQueueRow, WorkQueueRow};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{CQ_LOG2, VECTOR_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::table;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CompletionQueues {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; the rows are cleared by commits.
    pub reset: Signal<In, bool>,
    /// A row of WORK_QUEUE or COMPLETION_QUEUE, from `admin/broadcast`.
    pub commit: Sink<Commit>,
    /// Number of entries written to the old ring of the completion queue that was committed last, to `admin/command`.
    pub result: Signal<Out, CqIndex>,
    /// A descriptor that has ended, from `complete/writer`.
    pub closed: Sink<Closed>,
    /// An event for the error ring, from `vi/state`.
    pub ring_event: Sink<EventWord>,
    /// The host stores to the page of a completion queue; `doorbell/cq_pages` drives it.
    pub store: FlowSink<CqStore>,
    /// The entry to write, to `complete/writer`; it holds still until `entry_end`.
    pub entry: FlowSource<CqEntry>,
    /// `complete/writer` is done with the entry; true: it is written, false: its memory is refused.
    pub entry_end: FlowSink<bool>,
    /// The vector to raise for a consumer that sleeps, to `interrupt/vectors`.
    pub raise: Source<Vector>,
    /// A VI breaks because one of its entries is lost; to `vi/state`.
    pub fault: Source<Fault>,
    /// An entry found no room and is lost.
    pub count_overrun: Pulse,
    /// An event found no queue or no room and is lost.
    pub count_lost: Pulse,
    /// A store to a queue that is not live is ignored.
    pub count_ignored: Pulse,
    /// An event that was taken is neither in the error ring nor lost yet; `vi/state` waits for it.
    pub event_writing: Signal<Out, bool>,
    /// A commit, a descriptor, an event or a store is under way; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    /// Places of the rings and words of the work queues.
    words: CqWords,
    indices: Indices,
    /// Where events go.
    errors: ErrorRing,
    /// Where the entry goes.
    entry_place: EntryPlace,
    steps: CqSteps,
    /// A commit is next. A register says so, because `closed.ready`, on which `complete/writer` waits, comes of it.
    commit_turn: DFF<bool>,
    /// The descriptor that has ended and is at hand.
    closing: DFF<Closed>,
    /// The entry is an event; `token` is all of its first word.
    is_event: DFF<bool>,
    /// First word of the entry.
    token: DFF<Bits<64>>,
    /// The completion queue at hand.
    cq: DFF<Cq>,
    /// `result`.
    old: DFF<CqIndex>,
    /// The word of the work queue at hand.
    found: DFF<WorkWord>,
    /// An entry was lost in the cycle before.
    overrun: DFF<bool>,
    /// An event was lost in the cycle before.
    lost: DFF<bool>,
    job: Signal<Local, CqJob>,
    step: Signal<Local, CqStep>,
    as_cq_row: Unpack<Commit, CompletionQueueRow>,
    as_work_row: Unpack<Commit, WorkQueueRow>,
    cq_row: Signal<Local, CompletionQueueRow>,
    of_work_queue: Signal<Local, bool>,
    commit_cq: Signal<Local, Cq>,
    /// The queue of `closed`.
    closed_queue: Cast<QueueId, Queue>,
    /// The queue of `closing`.
    work_queue: Cast<QueueId, Queue>,
    /// A descriptor of the work queue that is committed has ended before.
    ends_first: Signal<Local, bool>,
    /// The token of the descriptor that has ended.
    ended: Cast<Token, Bits<64>>,
    /// `ring_event` as the first eight bytes of an entry.
    reported: Cast<EventWord, Bits<64>>,
    /// The event of an overrun of the queue at hand, likewise.
    overrun_event: Cast<EventWord, Bits<64>>,
    following: Signal<Local, CqIndex>,
    work_queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    comp_prot: Number<8, { event_code::COMP_PROT as u64 }>,
}

impl Logic for CompletionQueues {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, commit_turn, closing, is_event, token, cq, old, found, overrun, lost);
        clock!(self, clock, steps, words, indices, errors, entry_place);
        drive!(self, reset => steps.reset, indices.reset);
        FlowSink::<CqStore>::link(&mut self.store, &mut self.indices.store);
        Source::<Vector>::link(&mut self.raise, &mut self.indices.raise);
        Pulse::link(&mut self.count_ignored, &mut self.indices.count_ignored);

        drive!(self, steps.step => step; steps.job => job);

        // A commit's row.
        drive!(self, commit.data => as_cq_row.from, as_work_row.from; as_cq_row.to => cq_row;
            reset => errors.reset; cq.q => errors.cq, indices.cq; cq_row => errors.row;
            ring_event.data => reported.from; errors.overrun => overrun_event.from);
        self.of_work_queue.next = self.commit.data.val().target == self.work_queue_table.val();
        self.commit_cq.next = bit_cast::<CQ_LOG2, 16>(self.commit.data.val().row);
        self.closed_queue.from.next.vi = self.closed.data.val().vi;
        self.closed_queue.from.next.receive = self.closed.data.val().receive;
        self.ends_first.next = self.of_work_queue.val()
            & self.closed.valid.val()
            & (self.closed_queue.to.val() == bit_cast::<QUEUE_LOG2, 16>(self.commit.data.val().row));
        self.errors.commits.next = false;
        self.indices.start.next = self.step.val() == CqStep::Start;
        self.indices.started.next.written = bits::<18>(0);
        self.indices.started.next.log2 = self.cq_row.val().ring_log2;
        self.indices.started.next.vector = bit_cast::<VECTOR_LOG2, 8>(self.cq_row.val().vector);
        fill!(self, indices.started, cq_row.val().live => live; false => armed, told);
        self.following.next = self.entry_place.written.val() + 1;
        self.indices.following.next = self.following.val();
        self.indices.count.next = self.step.val() == CqStep::Count;
        self.indices.tell.next = self.step.val() == CqStep::Tell;

        // CQ-5: a resize is taken between entries, behind the descriptors that have ended.
        if self.step.val() == CqStep::Idle {
            self.is_event.d.next = false;
            self.commit_turn.d.next =
                self.commit.valid.val() & !self.ends_first.val() & !self.commit_turn.q.val();
        }

        // The words: read and written as the step says.
        self.work_queue.from.next.vi = self.closing.q.val().vi;
        self.work_queue.from.next.receive = self.closing.q.val().receive;
        self.words.read_ring.next.cq = self.cq.q.val();
        self.words.read_ring.next.home = self.step.val() == CqStep::First;
        self.words.read_queue.next = self.work_queue.to.val();
        self.words.reads_work.next = self.step.val() == CqStep::Look;
        self.words.write.next = (self.step.val() == CqStep::Home) | (self.step.val() == CqStep::Found);
        self.words.write_ring.next.cq = self.cq.q.val();
        self.words.write_ring.next.home = self.step.val() == CqStep::Home;
        self.words.write_queue.next = self.work_queue.to.val();
        self.words.writes_work.next = self.step.val() == CqStep::Found;
        self.words.new_place.next.offset = self.cq_row.val().ring_offset;
        self.words.new_home.next.region = self.cq_row.val().ring_region;
        self.words.new_home.next.tag = self.cq_row.val().system_tag;
        self.words.new_work.next.position = self.found.q.val().position + 1;
        self.words.new_work.next.cq = self.found.q.val().cq;
        self.words.new_work.next.to_cq = self.found.q.val().to_cq;

        // Where the entry goes, and what it says.
        drive!(self, step => entry_place.step; indices.row => entry_place.row;
            indices.taken => entry_place.taken; words.place => entry_place.place;
            words.home => entry_place.home; entry_end.valid => entry_place.entry_end.valid;
            entry_end.data => entry_place.entry_end.data);
        // An entry's token says nothing of the descriptor's size.
        fill!(self, ended.from, closing.q.val().offset => offset; false => short;
            found.q.val().position => position);
        self.ended.from.next.region = bit_cast::<15, 16>(self.closing.q.val().region);

        self.entry.valid.next = self.step.val() == CqStep::Offer;
        fill!(self, entry.data, entry_place.at.val().region => region; entry_place.at.val().tag => tag;
            entry_place.at.val().address => address; token.q => token; closing.q.val().vi => vi;
            closing.q.val().receive => receive; entry_place.at.val().phase => phase);

        // The steps.
        drive!(self, commit_turn.q => steps.row; of_work_queue => steps.work_row;
            closed.valid => steps.closed; ring_event.valid => steps.ring_event;
            errors.is_there => steps.ring_is_there; indices.ready => steps.ready);
        // CQ-1: an entry if the queue has TO_CQ. CQ-4: none if the status could not be written.
        self.steps.makes.next = self.found.q.val().to_cq & self.closing.q.val().written;
        self.steps.full.next = self.entry_place.full.val();
        self.steps.entry_end.valid.next = self.entry_end.valid.val();
        self.steps.entry_end.data.next = self.entry_end.data.val();
        self.steps.is_event.next = self.is_event.q.val();
        self.steps.broken.next = self.fault.ready.val();
        // An overrun that the error ring knows of is not told again.
        self.steps.tells.next =
            !self.entry_place.told.val() & self.errors.is_there.val() & !self.entry_place.gone.val();

        self.fault.valid.next = self.step.val() == CqStep::Break;
        self.fault.data.next.vi = self.closing.q.val().vi;
        // CQ-2: an entry without room breaks its VI with CONN_LOST. CQ-4: any other lost entry with COMP_PROT.
        self.fault.data.next.code = self.conn_lost.val();
        if self.entry_place.gone.val() {
            self.fault.data.next.code = self.comp_prot.val();
        }
        self.fault.data.next.receive = self.closing.q.val().receive;
        self.fault.data.next.breaks = true;
        self.commit.ready.next = false;
        self.closed.ready.next = (self.step.val() == CqStep::Idle) & !self.commit_turn.q.val();
        self.ring_event.ready.next =
            (self.step.val() == CqStep::Idle) & !self.commit_turn.q.val() & !self.closed.valid.val();
        drive!(self, old.q => result; overrun.q => count_overrun; lost.q => count_lost);
        self.overrun.d.next = false;
        self.lost.d.next = false;
        self.busy.next = (self.step.val() != CqStep::Idle)
            | self.closed.valid.val()
            | self.ring_event.valid.val()
            | self.indices.busy.val();
        self.event_writing.next = self.is_event.q.val() & (self.step.val() != CqStep::Idle);

        match self.job.val() {
            CqJob::Row => {
                self.words.write.next = true;
                self.words.writes_work.next = self.of_work_queue.val();
                self.words.write_ring.next.cq = self.commit_cq.val();
                self.words.write_queue.next = bit_cast::<QUEUE_LOG2, 16>(self.commit.data.val().row);
                if self.of_work_queue.val() {
                    self.commit.ready.next = true;
                    self.words.new_work.next.position = bits::<14>(0);
                    self.words.new_work.next.cq = self.as_work_row.to.val().cq;
                    self.words.new_work.next.to_cq = self.as_work_row.to.val().to_cq;
                } else {
                    self.cq.d.next = self.commit_cq.val();
                }
            }
            CqJob::Descriptor => {
                self.closing.d.next = self.closed.data.val();
            }
            CqJob::Event => {
                self.closing.d.next.vi = bit_cast::<VI_LOG2, 10>(self.ring_event.data.val().vi);
                self.closing.d.next.receive = self.ring_event.data.val().receive;
                self.token.d.next = self.reported.to.val();
                self.is_event.d.next = true;
                self.cq.d.next = self.errors.ring.val();
                // CQ-3: without an error ring the event is lost.
                self.lost.d.next = !self.errors.is_there.val();
            }
            _ => {}
        }
        match self.step.val() {
            CqStep::Start => {
                if self.indices.ready.val() {
                    self.commit.ready.next = true;
                    self.old.d.next = self.indices.row.val().written;
                    if !self.indices.row.val().live {
                        self.old.d.next = bits::<18>(0);
                    }
                    self.errors.commits.next = true;
                }
            }
            CqStep::Fetch => {
                self.found.d.next = self.words.work.val();
            }
            CqStep::Found => {
                self.token.d.next = self.ended.to.val();
                self.cq.d.next = bit_cast::<CQ_LOG2, 10>(self.found.q.val().cq);
            }
            CqStep::Lost => {
                // CQ-3: a lost event is counted. CQ-2: a lost entry is counted, and breaks its VI.
                self.lost.d.next = self.is_event.q.val();
                self.overrun.d.next = !self.is_event.q.val() & !self.entry_place.gone.val();
            }
            CqStep::Tell => {
                self.token.d.next = self.overrun_event.to.val();
                if self.indices.ready.val() {
                    self.is_event.d.next = true;
                    self.cq.d.next = self.errors.ring.val();
                }
            }
            _ => {}
        }
        if self.reset.val() {
            self.commit_turn.d.next = false;
            self.overrun.d.next = false;
            self.lost.d.next = false;
        }
    }
}
