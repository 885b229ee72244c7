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

use super::indices::{CqRow, Indices};
use crate::bus::{
    Closed, Commit, Cq, CqEntry, CqIndex, CqStore, Event, Fault, Position, Queue, Vector, QUEUE_LOG2,
};
use crate::prims::{Number, Ram};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{CQ_LOG2, VECTOR_LOG2, VI_LOG2};
use viaduct_spec::register::{event, event_code};
use viaduct_spec::tables::{completion_queue, table, work_queue};

/// log2 of the words: two for each completion queue, from row 0; one for each work queue, from the middle on.
const WORD_LOG2: usize = if QUEUE_LOG2 > 8 { QUEUE_LOG2 + 1 } else { 9 };

// The slices below are the specification's.
const _: () = {
    use viaduct_spec::layout::Field;
    const fn at(field: Field, lo: usize, width: usize) -> bool {
        field.lo == lo && field.width == width
    }
    assert!(CQ_LOG2 + 1 < WORD_LOG2 && QUEUE_LOG2 < WORD_LOG2);
    assert!(at(work_queue::CQ, 104, 10) && at(work_queue::TO_CQ, 114, 1));
    assert!(at(completion_queue::RING_OFFSET, 0, 34) && at(completion_queue::RING_REGION, 34, 16));
    assert!(at(completion_queue::RING_LOG2, 50, 5) && at(completion_queue::LIVE, 55, 1));
    assert!(at(completion_queue::EVENTS, 56, 1) && at(completion_queue::SYSTEM_TAG, 64, 16));
    assert!(completion_queue::VECTOR.lo == 96 && completion_queue::VECTOR.width >= VECTOR_LOG2);
    assert!(at(event::CODE, 0, 8) && event::VI.lo == 8 && event::VI.width >= CQ_LOG2);
};

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    /// Second half of a ring's place; then the queue starts.
    Place,
    Start,
    /// The work queue's row comes.
    Look,
    Fetch,
    Found,
    /// The completion queue's row is there, its place comes.
    Read,
    First,
    Second,
    Offer,
    Count,
    Lost,
    Break,
    Tell,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Queues {
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
    pub ring_event: Sink<Event>,
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
    /// Places of the rings and rows of the work queues, half a row a word.
    words: Ram<Bits<36>, WORD_LOG2>,
    indices: Indices,
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
    /// The queue that takes events.
    event_cq: DFF<Cq>,
    /// There is a queue that takes events: `event_cq`.
    has_events: DFF<bool>,
    /// `result`.
    old: DFF<CqIndex>,
    /// The word read last.
    found: DFF<Bits<36>>,
    /// What is known of the queue at hand.
    row: DFF<CqRow>,
    /// Entries that the queue's consumer has taken.
    taken: DFF<CqIndex>,
    /// Offset of the ring, in units of 64 bytes.
    offset: DFF<Bits<34>>,
    /// Region of the ring.
    region: DFF<Bits<16>>,
    /// Tag that the region must have.
    tag: DFF<Bits<16>>,
    /// Place of the entry in the ring.
    slot: DFF<Bits<18>>,
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
    word0: Signal<Local, Bits<64>>,
    word1: Signal<Local, Bits<64>>,
    of_work_queue: Signal<Local, bool>,
    closed_row: Signal<Local, Queue>,
    ends_first: Signal<Local, bool>,
    receive_queue: Number<QUEUE_LOG2, 1>,
    commit_cq: Signal<Local, Cq>,
    work_row: Signal<Local, Bits<WORD_LOG2>>,
    place_row: Signal<Local, Bits<WORD_LOG2>>,
    committed: Signal<Local, Bits<36>>,
    counted: Signal<Local, Bits<36>>,
    position: Signal<Local, Position>,
    next_position: Signal<Local, Position>,
    size: Signal<Local, Bits<18>>,
    below: Signal<Local, Bits<18>>,
    waiting: Signal<Local, CqIndex>,
    following: Signal<Local, CqIndex>,
    lines: Signal<Local, Bits<34>>,
    events_bit: Signal<Local, bool>,
    row_q: Signal<Local, CqRow>,
    found_q: Signal<Local, Bits<36>>,
    place: Signal<Local, Bits<36>>,
    slot_q: Signal<Local, Bits<18>>,
    one: Number<18, 1>,
    work_queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
    work_rows: Number<WORD_LOG2, { 1 << (WORD_LOG2 - 1) }>,
    second_word: Number<WORD_LOG2, 1>,
    receive_row: Number<WORD_LOG2, 1>,
    overrun_code: Number<64, { event_code::CQ_OVERRUN as u64 }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    comp_prot: Number<8, { event_code::COMP_PROT as u64 }>,
    receive_bit: Number<64, { 1 << event::RECEIVE.lo }>,
    broke_bit: Number<64, { 1 << event::BROKE.lo }>,
}

impl Logic for Queues {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, closing, is_event, token, cq, event_cq, has_events, old, found, row);
        dff_setup!(self, clock, commit_turn);
        dff_setup!(self, clock, taken, offset, region, tag, slot, phase, full, gone, address, overrun, lost);
        clock!(self, clock, words, indices);
        self.indices.reset.next = self.reset.val();
        FlowSink::<CqStore>::link(&mut self.store, &mut self.indices.store);
        Source::<Vector>::link(&mut self.raise, &mut self.indices.raise);
        Pulse::link(&mut self.count_ignored, &mut self.indices.count_ignored);

        self.row_q.next = self.row.q.val();

        // A commit's fields.
        self.word0.next = self.commit.data.val().word0;
        self.word1.next = self.commit.data.val().word1;
        self.of_work_queue.next = self.commit.data.val().target == self.work_queue_table.val();
        self.closed_row.next = bit_cast::<QUEUE_LOG2, VI_LOG2>(self.closed.data.val().vi) << 1;
        if self.closed.data.val().receive {
            self.closed_row.next =
                (bit_cast::<QUEUE_LOG2, VI_LOG2>(self.closed.data.val().vi) << 1) | self.receive_queue.val();
        }
        self.ends_first.next = self.of_work_queue.val()
            & self.closed.valid.val()
            & (self.closed_row.val() == bit_cast::<QUEUE_LOG2, 16>(self.commit.data.val().row));
        self.commit_cq.next = bit_cast::<CQ_LOG2, 16>(self.commit.data.val().row);
        self.events_bit.next = self.word0.val().get_bit(56) & self.word0.val().get_bit(55);
        self.indices.cq.next = self.cq.q.val();
        self.indices.start.next = false;
        self.indices.started.next.written = bits::<18>(0);
        self.indices.started.next.log2 = self.word0.val().get_bits::<5>(50);
        self.indices.started.next.vector = self.word1.val().get_bits::<VECTOR_LOG2>(32);
        self.indices.started.next.live = self.word0.val().get_bit(55);
        self.indices.started.next.armed = false;
        self.indices.started.next.told = false;
        self.following.next = self.row_q.val().written + 1;
        self.indices.following.next = self.following.val();
        self.indices.count.next = false;
        self.indices.tell.next = false;

        // A work queue's word: {TO_CQ, CQ 10, position 14}.
        self.found_q.next = self.found.q.val();
        self.position.next = self.found_q.val().get_bits::<14>(0);
        self.next_position.next = self.position.val() + 1;
        self.committed.next = bit_cast::<36, 11>(self.word1.val().get_bits::<11>(40)) << 14;
        self.counted.next = (bit_cast::<36, 11>(self.found_q.val().get_bits::<11>(14)) << 14)
            | bit_cast::<36, 14>(self.next_position.val());
        self.work_row.next =
            (bit_cast::<WORD_LOG2, VI_LOG2>(self.closing.q.val().vi) << 1) | self.work_rows.val();
        if self.closing.q.val().receive {
            self.work_row.next = (bit_cast::<WORD_LOG2, VI_LOG2>(self.closing.q.val().vi) << 1)
                | self.work_rows.val()
                | self.receive_row.val();
        }
        self.place_row.next = bit_cast::<WORD_LOG2, CQ_LOG2>(self.cq.q.val()) << 1;
        self.words.read_address.next = self.place_row.val();
        self.words.write_enable.next = false;
        self.words.write_address.next = self.work_row.val();
        self.words.write_data.next = self.counted.val();

        // Where in its ring the next entry goes, and whether there is room.
        self.slot_q.next = self.slot.q.val();
        self.place.next = self.words.read_data.val();
        self.size.next = self.one.val() << self.row_q.val().log2;
        self.below.next = self.size.val() - 1;
        self.waiting.next = self.row_q.val().written - self.taken.q.val();
        self.lines.next = self.offset.q.val() + bit_cast::<34, 18>(self.slot.q.val() >> 2);

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
                    self.words.write_enable.next = true;
                    if self.of_work_queue.val() {
                        self.commit.ready.next = true;
                        self.words.write_address.next =
                            bit_cast::<WORD_LOG2, 16>(self.commit.data.val().row) | self.work_rows.val();
                        self.words.write_data.next = self.committed.val();
                    } else {
                        self.cq.d.next = self.commit_cq.val();
                        self.words.write_address.next =
                            bit_cast::<WORD_LOG2, CQ_LOG2>(self.commit_cq.val()) << 1;
                        self.words.write_data.next = bit_cast::<36, 34>(self.word0.val().get_bits::<34>(0));
                        self.step.d.next = Step::Place;
                    }
                } else {
                    self.closed.ready.next = true;
                    self.ring_event.ready.next = !self.closed.valid.val();
                    if self.closed.valid.val() {
                        self.closing.d.next = self.closed.data.val();
                        self.step.d.next = Step::Look;
                    } else if self.ring_event.valid.val() {
                        self.closing.d.next.vi = self.ring_event.data.val().vi;
                        self.closing.d.next.receive = self.ring_event.data.val().receive;
                        self.token.d.next = bit_cast::<64, 8>(self.ring_event.data.val().code)
                            | (bit_cast::<64, VI_LOG2>(self.ring_event.data.val().vi) << 8);
                        if self.ring_event.data.val().receive {
                            self.token.d.next = self.token.d.val() | self.receive_bit.val();
                        }
                        if self.ring_event.data.val().broke {
                            self.token.d.next = self.token.d.val() | self.broke_bit.val();
                        }
                        self.is_event.d.next = true;
                        self.cq.d.next = self.event_cq.q.val();
                        self.step.d.next = Step::Read;
                        // CQ-3: without an error ring the event is lost.
                        if !self.has_events.q.val() {
                            self.lost.d.next = true;
                            self.step.d.next = Step::Idle;
                        }
                    }
                }
            }
            Step::Place => {
                self.words.write_enable.next = true;
                self.words.write_address.next = self.place_row.val() | self.second_word.val();
                self.words.write_data.next = (bit_cast::<36, 16>(self.word1.val().get_bits::<16>(0)) << 16)
                    | bit_cast::<36, 16>(self.word0.val().get_bits::<16>(34));
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
                    if self.events_bit.val() {
                        self.has_events.d.next = true;
                        self.event_cq.d.next = self.cq.q.val();
                    } else if self.event_cq.q.val() == self.cq.q.val() {
                        self.has_events.d.next = false;
                    }
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Look => {
                self.words.read_address.next = self.work_row.val();
                self.step.d.next = Step::Fetch;
            }
            Step::Fetch => {
                self.found.d.next = self.words.read_data.val();
                self.step.d.next = Step::Found;
            }
            Step::Found => {
                self.token.d.next = (bit_cast::<64, 14>(self.position.val()) << 50)
                    | (bit_cast::<64, 16>(self.closing.q.val().region) << 34)
                    | bit_cast::<64, 34>(self.closing.q.val().offset);
                self.cq.d.next = self.found_q.val().get_bits::<CQ_LOG2>(14);
                self.words.write_enable.next = true;
                self.step.d.next = Step::Idle;
                // CQ-1: an entry if the queue has TO_CQ. CQ-4: none if the status could not be written.
                if self.found_q.val().get_bit(24) & self.closing.q.val().written {
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
                self.offset.d.next = self.place.val().get_bits::<34>(0);
                self.words.read_address.next = self.place_row.val() | self.second_word.val();
                self.slot.d.next = self.row_q.val().written & self.below.val();
                // CQ-1: phase 1 in the first lap.
                self.phase.d.next = !(self.row_q.val().written & self.size.val()).any();
                // CQ-2: the ring has no room. CQ-4: the queue is not live.
                self.full.d.next = (self.waiting.val() & !self.below.val()).any() | !self.row_q.val().live;
                self.gone.d.next = !self.row_q.val().live;
                self.step.d.next = Step::Second;
            }
            Step::Second => {
                self.region.d.next = self.place.val().get_bits::<16>(0);
                self.tag.d.next = self.place.val().get_bits::<16>(16);
                self.address.d.next = (bit_cast::<40, 34>(self.lines.val()) << 6)
                    | (bit_cast::<40, 2>(self.slot_q.val().get_bits::<2>(0)) << 4);
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
                    if self.row_q.val().told | !self.has_events.q.val() | self.gone.q.val() {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Tell => {
                // The event names the queue, not the VI.
                self.indices.tell.next = true;
                self.token.d.next = (bit_cast::<64, CQ_LOG2>(self.cq.q.val()) << 8) | self.overrun_code.val();
                if self.indices.ready.val() {
                    self.is_event.d.next = true;
                    self.cq.d.next = self.event_cq.q.val();
                    self.step.d.next = Step::Read;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.commit_turn.d.next = false;
            self.has_events.d.next = false;
            self.overrun.d.next = false;
            self.lost.d.next = false;
        }
    }
}
