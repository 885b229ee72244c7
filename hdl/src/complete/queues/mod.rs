//! Completion queues: an entry for each completion of a work queue that has one, and for each event.
//!
//! ```text
//!          closed ──►┌────────┐──► entry
//!      ring_event ──►│        │◄── entry_end
//!           store ──►│ Queues │──► raise
//!          commit ──►│        │──► fault
//!                    └────────┘──► result, count_*
//! ```
//! Contract:
//! - WORK_QUEUE rows say which completion queue a work queue has; a commit starts its positions at 0. Each descriptor that
//!   ends counts a position; one whose status is written makes an entry {token, VI, receive}.
//! - An event makes an entry of the queue that has EVENTS. Without such a queue, or without room in it, it is lost and counted.
//! - `entry` stays until `entry_end`, which says whether it was granted; then it is in the queue, and an armed
//!   queue is raised. `complete/writer` writes it: behind the status, which was written before `closed`.
//! - Without room the entry is lost and counted, and CONN_LOST breaks its VI. Before that, the first entry lost since the queue had
//!   room is reported by the event CQ_OVERRUN, which names the queue. Without such a queue or such memory, COMP_PROT breaks the VI.
//! - A commit of COMPLETION_QUEUE is taken between entries: `result` is the number of entries that the old ring has.
//! - A commit of WORK_QUEUE comes behind the descriptors of that queue that have ended: whoever saw their status has them on
//!   the old row.
//! - The block does one thing at a time. A commit waits for one descriptor or event at most, and a descriptor goes before an event. A store
//!   holds nobody up for more than two cycles.
//!
//! Latency: 7 cycles from `closed` to `entry`; 4 if the work queue has no completion queue.
//!
//! How: ring places and the work queues' rows share one block RAM of 36-bit words, read a word at a time.
//!
//! Example: a work queue has completion queue 3, which is armed and has room. `closed` of its descriptor gives an `entry` {token, VI, receive} 7
//! cycles later; when `entry_end` is true, the queue's vector is raised.
//!
//! Tests: `tests/complete/queues.rs`, `cq_random.rs`.

mod error_ring;
mod next_entry;
mod words;

use error_ring::ErrorRing;
use next_entry::NextEntry;
use words::{CqWords, RingAddress, WorkWord, HALF_LOG2};

use super::indices::{CqRow, Indices};
use crate::bus::{Closed, Commit, Cq, CqEntry, CqIndex, CqStore, Fault, Queue, QueueId, Vector, QUEUE_LOG2};
use crate::prims::{Cast, Number, Unpack};
use crate::rows::doorbell::Token;
use crate::rows::register::EventWord;
use crate::rows::tables::{CompletionQueueRow, WorkQueueRow};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{CQ_LOG2, VECTOR_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::table;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Take a commit, a descriptor or an event.
    Idle,
    /// Write the ring's home, the second word of a completion queue that is committed.
    Home,
    /// Begin the queue.
    Start,
    /// Ask for the work queue's word.
    Look,
    /// The word comes.
    Fetch,
    /// Count the descriptor.
    Found,
    /// The completion queue's row is there; ask for its ring's place.
    Read,
    /// The place comes; ask for the ring's home.
    First,
    /// The home comes.
    Second,
    /// Offer the entry.
    Offer,
    /// Count the entry.
    Count,
    /// The entry is lost.
    Lost,
    /// Break the VI.
    Break,
    /// Make an event of the overrun.
    Tell,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CompletionQueues {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; the rows are cleared by commits.
    pub reset: Signal<In, bool>,
    /// A row of WORK_QUEUE or COMPLETION_QUEUE.
    pub commit: Sink<Commit>,
    /// Number of entries written to the old ring of the completion queue that was committed last.
    pub result: Signal<Out, CqIndex>,
    /// A descriptor that has ended, from `complete/writer`.
    pub closed: Sink<Closed>,
    /// An event for the error ring, from `vi/state`.
    pub ring_event: Sink<EventWord>,
    /// The host stores to the page of a completion queue.
    pub store: FlowSink<CqStore>,
    /// The entry to write, to `complete/writer`; it holds still until `entry_end`.
    pub entry: FlowSource<CqEntry>,
    /// `complete/writer` is done with the entry; true: it is written, false: its memory is refused.
    pub entry_end: FlowSink<bool>,
    /// The vector to raise for a consumer that sleeps.
    pub raise: Source<Vector>,
    /// A VI breaks because an entry of its is lost.
    pub fault: Source<Fault>,
    /// An entry found no room and is lost.
    pub count_overrun: Pulse,
    /// An event found no queue or no room and is lost.
    pub count_lost: Pulse,
    /// A store to a queue that is not live is ignored.
    pub count_ignored: Pulse,
    /// An event that was taken is neither in the error ring nor lost yet.
    pub event_writing: Signal<Out, bool>,
    /// A commit, a descriptor, an event or a store is under way.
    pub busy: Signal<Out, bool>,
    /// Places of the rings and words of the work queues.
    words: CqWords,
    indices: Indices,
    /// Where events go.
    errors: ErrorRing,
    next_entry: NextEntry,
    step: DFF<Step>,
    /// A commit is next. From a register: what `complete/writer` does next hangs on it.
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
    /// What is known of the completion queue at hand.
    row: DFF<CqRow>,
    /// Entries that its consumer has taken.
    taken: DFF<CqIndex>,
    /// Offset of the ring, in units of 64 bytes.
    offset: DFF<Bits<34>>,
    /// Region of the ring.
    region: DFF<Bits<16>>,
    /// Tag that the region must have.
    tag: DFF<Bits<16>>,
    /// Place of the entry in the ring.
    slot: DFF<CqIndex>,
    /// Phase of the ring's lap.
    phase: DFF<bool>,
    /// The ring has no room.
    full: DFF<bool>,
    /// There is no such queue, or its memory is refused.
    gone: DFF<bool>,
    /// Where the entry goes, in bytes.
    address: DFF<Bits<40>>,
    /// An entry was lost in the cycle before.
    overrun: DFF<bool>,
    /// An event was lost in the cycle before.
    lost: DFF<bool>,
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
    /// A word of the completion queue at hand.
    ring_row: Cast<RingAddress, Bits<{ CQ_LOG2 + 1 }>>,
    /// The first word of the queue that is committed.
    commit_row: Cast<RingAddress, Bits<{ CQ_LOG2 + 1 }>>,
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
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, commit_turn, closing, is_event, token, cq, old, found, row, taken);
        dff_setup!(self, clock, offset, region, tag, slot, phase, full, gone, address, overrun, lost);
        clock!(self, clock, words, indices, errors);
        self.indices.reset.next = self.reset.val();
        FlowSink::<CqStore>::link(&mut self.store, &mut self.indices.store);
        Source::<Vector>::link(&mut self.raise, &mut self.indices.raise);
        Pulse::link(&mut self.count_ignored, &mut self.indices.count_ignored);

        // A commit's row.
        self.as_cq_row.from.next = self.commit.data.val();
        self.as_work_row.from.next = self.commit.data.val();
        self.cq_row.next = self.as_cq_row.to.val();
        self.of_work_queue.next = self.commit.data.val().target == self.work_queue_table.val();
        self.commit_cq.next = bit_cast::<CQ_LOG2, 16>(self.commit.data.val().row);
        self.closed_queue.from.next.vi = self.closed.data.val().vi;
        self.closed_queue.from.next.receive = self.closed.data.val().receive;
        self.ends_first.next = self.of_work_queue.val()
            & self.closed.valid.val()
            & (self.closed_queue.to.val() == bit_cast::<QUEUE_LOG2, 16>(self.commit.data.val().row));
        self.errors.reset.next = self.reset.val();
        self.errors.commits.next = false;
        self.errors.cq.next = self.cq.q.val();
        self.errors.row.next = self.cq_row.val();
        self.reported.from.next = self.ring_event.data.val();
        self.overrun_event.from.next = self.errors.overrun.val();
        self.indices.cq.next = self.cq.q.val();
        self.indices.start.next = false;
        self.indices.started.next.written = bits::<18>(0);
        self.indices.started.next.log2 = self.cq_row.val().ring_log2;
        self.indices.started.next.vector = bit_cast::<VECTOR_LOG2, 8>(self.cq_row.val().vector);
        self.indices.started.next.live = self.cq_row.val().live;
        self.indices.started.next.armed = false;
        self.indices.started.next.told = false;
        self.following.next = self.row.q.val().written + 1;
        self.indices.following.next = self.following.val();
        self.indices.count.next = false;
        self.indices.tell.next = false;

        // The words: read and written as the step says.
        self.work_queue.from.next.vi = self.closing.q.val().vi;
        self.work_queue.from.next.receive = self.closing.q.val().receive;
        self.ring_row.from.next.cq = self.cq.q.val();
        self.ring_row.from.next.home = (self.step.q.val() == Step::Home) | (self.step.q.val() == Step::First);
        self.commit_row.from.next.cq = self.commit_cq.val();
        self.commit_row.from.next.home = false;
        self.words.read_at.next.row = bit_cast::<HALF_LOG2, { CQ_LOG2 + 1 }>(self.ring_row.to.val());
        self.words.read_at.next.work = false;
        self.words.write.next = false;
        self.words.write_at.next.row = bit_cast::<HALF_LOG2, QUEUE_LOG2>(self.work_queue.to.val());
        self.words.write_at.next.work = true;
        self.words.new_place.next.offset = self.cq_row.val().ring_offset;
        self.words.new_home.next.region = self.cq_row.val().ring_region;
        self.words.new_home.next.tag = self.cq_row.val().system_tag;
        self.words.new_work.next.position = self.found.q.val().position + 1;
        self.words.new_work.next.cq = self.found.q.val().cq;
        self.words.new_work.next.to_cq = self.found.q.val().to_cq;

        // Where in its ring the next entry goes, and whether there is room.
        self.next_entry.row.next = self.row.q.val();
        self.next_entry.taken.next = self.taken.q.val();
        self.next_entry.offset.next = self.offset.q.val();
        self.next_entry.held_slot.next = self.slot.q.val();
        self.ended.from.next.offset = self.closing.q.val().offset;
        self.ended.from.next.region = self.closing.q.val().region;
        self.ended.from.next.position = self.found.q.val().position;

        self.commit.ready.next = false;
        self.closed.ready.next = false;
        self.ring_event.ready.next = false;
        self.result.next = self.old.q.val();
        self.overrun.d.next = false;
        self.lost.d.next = false;
        self.count_overrun.next = self.overrun.q.val();
        self.count_lost.next = self.lost.q.val();
        self.entry.valid.next = false;
        self.entry.data.next.region = self.region.q.val();
        self.entry.data.next.tag = self.tag.q.val();
        self.entry.data.next.address = self.address.q.val();
        self.entry.data.next.token = self.token.q.val();
        self.entry.data.next.vi = self.closing.q.val().vi;
        self.entry.data.next.receive = self.closing.q.val().receive;
        self.entry.data.next.phase = self.phase.q.val();
        self.fault.valid.next = false;
        self.fault.data.next.vi = self.closing.q.val().vi;
        // CQ-2: CONN_LOST for want of room. CQ-4: COMP_PROT otherwise.
        self.fault.data.next.code = self.conn_lost.val();
        if self.gone.q.val() {
            self.fault.data.next.code = self.comp_prot.val();
        }
        self.fault.data.next.receive = self.closing.q.val().receive;
        self.fault.data.next.breaks = true;
        self.busy.next = true;
        self.event_writing.next = self.is_event.q.val() & (self.step.q.val() != Step::Idle);

        match self.step.q.val() {
            Step::Idle => {
                self.busy.next =
                    self.closed.valid.val() | self.ring_event.valid.val() | self.indices.busy.val();
                self.is_event.d.next = false;
                // CQ-5: a resize is taken between entries, behind the descriptors that have ended.
                self.commit_turn.d.next = self.commit.valid.val() & !self.ends_first.val();
                if self.commit_turn.q.val() {
                    self.commit_turn.d.next = false;
                    self.words.write.next = true;
                    if self.of_work_queue.val() {
                        self.commit.ready.next = true;
                        self.words.write_at.next.row = bit_cast::<HALF_LOG2, 16>(self.commit.data.val().row);
                        self.words.new_work.next.position = bits::<14>(0);
                        self.words.new_work.next.cq = self.as_work_row.to.val().cq;
                        self.words.new_work.next.to_cq = self.as_work_row.to.val().to_cq;
                    } else {
                        self.cq.d.next = self.commit_cq.val();
                        self.words.write_at.next.row =
                            bit_cast::<HALF_LOG2, { CQ_LOG2 + 1 }>(self.commit_row.to.val());
                        self.words.write_at.next.work = false;
                        self.step.d.next = Step::Home;
                    }
                } else {
                    self.closed.ready.next = true;
                    self.ring_event.ready.next = !self.closed.valid.val();
                    if self.closed.valid.val() {
                        self.closing.d.next = self.closed.data.val();
                        self.step.d.next = Step::Look;
                    } else if self.ring_event.valid.val() {
                        self.closing.d.next.vi = bit_cast::<VI_LOG2, 10>(self.ring_event.data.val().vi);
                        self.closing.d.next.receive = self.ring_event.data.val().receive;
                        self.token.d.next = self.reported.to.val();
                        self.is_event.d.next = true;
                        self.cq.d.next = self.errors.ring.val();
                        self.step.d.next = Step::Read;
                        // CQ-3: without an error ring the event is lost.
                        if !self.errors.is_there.val() {
                            self.lost.d.next = true;
                            self.step.d.next = Step::Idle;
                        }
                    }
                }
            }
            Step::Home => {
                self.words.write.next = true;
                self.words.write_at.next.row = bit_cast::<HALF_LOG2, { CQ_LOG2 + 1 }>(self.ring_row.to.val());
                self.words.write_at.next.work = false;
                self.step.d.next = Step::Start;
            }
            Step::Start => {
                self.indices.start.next = true;
                if self.indices.ready.val() {
                    self.commit.ready.next = true;
                    self.old.d.next = self.indices.row.val().written;
                    if !self.indices.row.val().live {
                        self.old.d.next = bits::<18>(0);
                    }
                    self.errors.commits.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Look => {
                self.words.read_at.next.row = bit_cast::<HALF_LOG2, QUEUE_LOG2>(self.work_queue.to.val());
                self.words.read_at.next.work = true;
                self.step.d.next = Step::Fetch;
            }
            Step::Fetch => {
                self.found.d.next = self.words.work.val();
                self.step.d.next = Step::Found;
            }
            Step::Found => {
                self.token.d.next = self.ended.to.val();
                self.cq.d.next = bit_cast::<CQ_LOG2, 10>(self.found.q.val().cq);
                self.words.write.next = true;
                self.step.d.next = Step::Idle;
                // CQ-1: an entry if the queue has TO_CQ. CQ-4: none if the status could not be written.
                if self.found.q.val().to_cq & self.closing.q.val().written {
                    self.step.d.next = Step::Read;
                }
            }
            Step::Read => {
                self.row.d.next = self.indices.row.val();
                self.taken.d.next = self.indices.taken.val();
                if self.indices.ready.val() {
                    self.step.d.next = Step::First;
                }
            }
            Step::First => {
                self.offset.d.next = self.words.place.val().offset;
                self.slot.d.next = self.next_entry.slot.val();
                self.phase.d.next = self.next_entry.phase.val();
                // CQ-2: the ring has no room. CQ-4: the queue is not live.
                self.full.d.next = self.next_entry.full.val() | !self.row.q.val().live;
                self.gone.d.next = !self.row.q.val().live;
                self.step.d.next = Step::Second;
            }
            Step::Second => {
                self.region.d.next = self.words.home.val().region;
                self.tag.d.next = self.words.home.val().tag;
                self.address.d.next = self.next_entry.address.val();
                self.step.d.next = Step::Offer;
                if self.full.q.val() {
                    self.step.d.next = Step::Lost;
                }
            }
            Step::Offer => {
                self.entry.valid.next = true;
                if self.entry_end.valid.val() {
                    self.step.d.next = Step::Lost;
                    self.gone.d.next = !self.entry_end.data.val();
                    if self.entry_end.data.val() {
                        self.step.d.next = Step::Count;
                    }
                }
            }
            Step::Count => {
                self.indices.count.next = true;
                if self.indices.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Lost => {
                // CQ-3: a lost event is counted. CQ-2: a lost entry is counted, and breaks its VI.
                self.lost.d.next = self.is_event.q.val();
                self.overrun.d.next = !self.is_event.q.val() & !self.gone.q.val();
                self.step.d.next = Step::Break;
                if self.is_event.q.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Break => {
                self.fault.valid.next = true;
                if self.fault.ready.val() {
                    self.step.d.next = Step::Tell;
                    // CQ-2: an overrun is told once.
                    if self.row.q.val().told | !self.errors.is_there.val() | self.gone.q.val() {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Tell => {
                self.indices.tell.next = true;
                self.token.d.next = self.overrun_event.to.val();
                if self.indices.ready.val() {
                    self.is_event.d.next = true;
                    self.cq.d.next = self.errors.ring.val();
                    self.step.d.next = Step::Read;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.commit_turn.d.next = false;
            self.overrun.d.next = false;
            self.lost.d.next = false;
        }
    }
}
