//! Brings a frame to its VI: sequence, receive descriptor, acknowledgement, completion; and flushes.
//!
//! ```text
//!     info, release ──►┌─────────┐◄─► scatter's job
//!    commit, state  ──►│         │──► completion
//!  look_*, read_data ─►│ Matcher │──► acknowledged, fault
//!  posted_position  ──►│         │──► again_receive, consumed_position
//!         filled_*  ──►└─────────┘──► count_*
//! ```
//! Contract: one frame at a time, in the order of the store; between frames, commits first, then flushes.
//!
//! * What a packet is, [`Judge`] says. A PSN behind the expected one is not delivered again; a reliable VI acknowledges
//!   it again, with the newest PSN, if it asks or ends a message. A gap is refused once (NAK_SEQUENCE).
//! * The first packet takes the descriptor at the consumed position. If it is posted and not there yet, the frame is
//!   looked at again from the start until it is, or until the VI is no longer connected. If none is posted, an
//!   unreliable VI drops the message and reports RECVQ_EMPTY, and a reliable one breaks, with the NAK that
//!   InfiniBand has for it (RNR_NAK; VIA knows no retry). A descriptor that was lost is skipped and counts as none,
//!   with NAK_OPERATIONAL.
//! * A descriptor that is malformed, too short for the message or refused completes with its error; the rest of the
//!   message is dropped. A reliable VI breaks: NAK_INVALID if the message is too long, else NAK_OPERATIONAL.
//! * The last packet completes the descriptor: Length is what arrived. Its acknowledgement goes with the completion,
//!   behind the data. Only then does the consumed position move, and the receive queue is queued for fetch again.
//! * When a VI breaks: its descriptor with the NAK, then the fault; from then on its frames match nothing.
//! * In Error, the message in progress and every descriptor fetched ahead complete DESC_FLUSHED_ERROR, in order.
//!
//! Latency: a frame of one packet and one segment occupies the matcher for 12 cycles plus scatter's 10 and the
//! checker's.
//!
//! Tests: `tests/receive/path.rs`.

use super::contexts::{Contexts, Message, Peer};
use super::flush::Flush;
use super::judge::{Judge, Verdict};
use super::scatter::result;
use crate::bus::{Acknowledged, Commit, Completion, Fault, FrameInfo, Position, StateWrite, Vi};
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{control, status, MAX_SEGMENTS};
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    /// Nothing, or a commit.
    Idle,
    /// The VI's row comes.
    Load,
    /// It is compared.
    Judge,
    /// The verdict is there.
    Decide,
    /// The third word of the descriptor is there, the fourth is read.
    Reserved,
    /// The fourth is there.
    Status,
    /// Begin to scatter.
    Begin,
    /// Scatter works.
    Scatter,
    /// The payload is placed.
    Placed,
    /// An acknowledgement goes to the send side.
    Answer,
    /// A completion goes out, or the acknowledgement alone.
    Complete,
    /// A fault goes out.
    Fault,
    /// The row is written back and the frame freed.
    Save,
    /// The receive queue is queued again.
    Again,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Matcher {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the frame and the flushes under way.
    pub reset: Signal<In, bool>,
    /// A frame is on show.
    pub info_valid: Signal<In, bool>,
    /// The frame.
    pub info: Signal<In, FrameInfo>,
    /// It is done.
    pub release_valid: Signal<Out, bool>,
    /// Show its payload.
    pub payload_start: Signal<Out, bool>,
    /// A table row is on the bus.
    pub commit_valid: Signal<In, bool>,
    /// The row.
    pub commit: Signal<In, Commit>,
    /// It is taken, if it is a RECEIVE or WORK_QUEUE row.
    pub commit_ready: Signal<Out, bool>,
    /// A VI has changed its state.
    pub state_valid: Signal<In, bool>,
    /// Which, and to what.
    pub state: Signal<In, StateWrite>,
    /// Fetch has put a descriptor into `ahead`.
    pub filled_valid: Signal<In, bool>,
    /// For this VI.
    pub filled_vi: Signal<In, Vi>,
    /// VI to look at in `ahead`.
    pub look_vi: Signal<Out, Vi>,
    /// Slot, likewise.
    pub look_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Word, likewise.
    pub look_word: Signal<Out, Bits<3>>,
    /// The word.
    pub read_data: Signal<In, Bits<64>>,
    /// Up to where its receive queue is filled.
    pub look_filled: Signal<In, Position>,
    /// Region of the descriptor.
    pub look_region: Signal<In, Bits<16>>,
    /// Its offset, in units of 64 bytes.
    pub look_offset: Signal<In, Bits<34>>,
    /// Words of its first 64 bytes that the region holds.
    pub look_words: Signal<In, Bits<4>>,
    /// It could not be read.
    pub look_lost: Signal<In, bool>,
    /// VI whose posted position is wanted.
    pub posted_vi: Signal<Out, Vi>,
    /// Up to where its receive queue is posted.
    pub posted_position: Signal<In, Position>,
    /// Scatter: begin.
    pub job_valid: Signal<Out, bool>,
    /// VI.
    pub job_vi: Signal<Out, Vi>,
    /// Slot of the descriptor.
    pub job_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// The VI's tag.
    pub job_tag: Signal<Out, Bits<16>>,
    /// Region of the descriptor.
    pub job_region: Signal<Out, Bits<16>>,
    /// Its offset, in units of 64 bytes.
    pub job_offset: Signal<Out, Bits<34>>,
    /// Its segments.
    pub job_segments: Signal<Out, Bits<8>>,
    /// Segment to go on with.
    pub job_index: Signal<Out, Bits<8>>,
    /// Bytes of it already filled.
    pub job_position: Signal<Out, Bits<32>>,
    /// Bytes to place.
    pub job_length: Signal<Out, Bits<13>>,
    /// The job is over.
    pub done_valid: Signal<In, bool>,
    /// How: `result`.
    pub done_result: Signal<In, Bits<2>>,
    /// Segment to go on with.
    pub done_index: Signal<In, Bits<8>>,
    /// Bytes of it filled.
    pub done_position: Signal<In, Bits<32>>,
    /// A completion, an acknowledgement, or both.
    pub completion_valid: Signal<Out, bool>,
    /// It is taken.
    pub completion_ready: Signal<In, bool>,
    /// The completion.
    pub completion: Signal<Out, Completion>,
    /// An acknowledgement came from the wire.
    pub acknowledged_valid: Signal<Out, bool>,
    /// It is taken.
    pub acknowledged_ready: Signal<In, bool>,
    /// The acknowledgement.
    pub acknowledged: Signal<Out, Acknowledged>,
    /// Something went wrong.
    pub fault_valid: Signal<Out, bool>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// What.
    pub fault: Signal<Out, Fault>,
    /// There is room for another descriptor of a receive queue.
    pub again_receive_valid: Signal<Out, bool>,
    /// It is taken.
    pub again_receive_ready: Signal<In, bool>,
    /// Whose.
    pub again_receive_vi: Signal<Out, Vi>,
    /// VI whose consumed position fetch wants.
    pub consumed_vi: Signal<In, Vi>,
    /// Receive descriptors of it that are completed, one cycle later.
    pub consumed_position: Signal<Out, Position>,
    /// A frame or a flush waits or is worked on.
    pub busy: Signal<Out, bool>,
    /// A message was delivered.
    pub count_message: Signal<Out, bool>,
    /// A frame was for no VI.
    pub count_no_vi: Signal<Out, bool>,
    /// A frame was a duplicate or behind a gap.
    pub count_psn: Signal<Out, bool>,
    /// A message found no receive descriptor.
    pub count_no_receive: Signal<Out, bool>,
    /// A frame belonged to no message that can still be whole.
    pub count_partial: Signal<Out, bool>,
    contexts: Contexts,
    flush: Flush,
    judge: Judge,
    step: DFF<Step>,
    vi: DFF<Vi>,
    flushing: DFF<bool>,
    peer: DFF<Peer>,
    message: DFF<Message>,
    consumed: DFF<Position>,
    /// A descriptor is there at the consumed position.
    present: DFF<bool>,
    /// None is even posted.
    none_posted: DFF<bool>,
    /// High half of the descriptor's second word: segment count and control.
    head: DFF<Bits<32>>,
    malformed: DFF<bool>,
    /// A half of its third or fourth word, which must be 0.
    zero: DFF<Bits<32>>,
    /// It could not be read.
    lost: DFF<bool>,
    /// Where it lies.
    region: DFF<Bits<16>>,
    offset: DFF<Bits<34>>,
    /// Words of it that are there.
    words: DFF<Bits<4>>,
    /// The packet takes a new descriptor.
    fresh: DFF<bool>,

    // What to do before the row is written back.
    write: DFF<bool>,
    errors: DFF<Bits<9>>,
    immediate: DFF<bool>,
    acknowledge: DFF<bool>,
    negative: DFF<bool>,
    answer: DFF<Bits<8>>,
    faulty: DFF<bool>,
    code: DFF<Bits<8>>,
    consume: DFF<bool>,
    retry: DFF<bool>,

    counted_message: DFF<bool>,
    counted_no_vi: DFF<bool>,
    counted_psn: DFF<bool>,
    counted_no_receive: DFF<bool>,
    counted_partial: DFF<bool>,

    target: Signal<Local, Vi>,
    slot: Signal<Local, Bits<RECEIVE_AHEAD_LOG2>>,
    committing: Signal<Local, bool>,
    reliable: Signal<Local, bool>,
    word: Signal<Local, Bits<64>>,
    segments: Signal<Local, Bits<16>>,
    control_word: Signal<Local, Bits<16>>,
    words_needed: Signal<Local, Bits<4>>,
    next_psn: Signal<Local, Bits<24>>,
    previous_psn: Signal<Local, Bits<24>>,
    next_position: Signal<Local, Position>,
    opcode: Signal<Local, Bits<8>>,
    /// The packet cannot be taken: the message is lost.
    fails: Signal<Local, bool>,
    saved: Signal<Local, Message>,

    control_mask: Number<16, { (control::RESERVED | control::OP_MASK) as u64 }>,
    most_segments: Number<16, { MAX_SEGMENTS as u64 }>,
    status_done: Number<20, { (status::DONE | status::OP_RECEIVE) as u64 }>,
    status_immediate: Number<20, { status::IMMEDIATE as u64 }>,
    format_error: Number<9, { status::FORMAT_ERROR as u64 }>,
    protection_error: Number<9, { status::PROTECTION_ERROR as u64 }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    partial_error: Number<9, { status::PARTIAL_ERROR as u64 }>,
    flushed_error: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport_error: Number<9, { status::TRANSPORT_ERROR as u64 }>,
    ack: Number<8, { syndrome::ACK as u64 }>,
    rnr_nak: Number<8, { syndrome::RNR_NAK as u64 }>,
    nak_sequence: Number<8, { syndrome::NAK_SEQUENCE as u64 }>,
    nak_invalid: Number<8, { syndrome::NAK_INVALID as u64 }>,
    nak_operational: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
    connection_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    queue_empty: Number<8, { event_code::RECVQ_EMPTY as u64 }>,
    ok: Number<2, { result::OK }>,
    too_long: Number<2, { result::TOO_LONG }>,
    refused: Number<2, { result::REFUSED }>,
}

// `slot` and `target` take the low bits of a position and of a queue pair number.
const _: () = assert!(RECEIVE_AHEAD_LOG2 == 2 && VI_LOG2 <= 10);

impl Logic for Matcher {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, flushing, message, consumed, present, none_posted);
        dff_setup!(self, clock, head, malformed, zero, lost, words, fresh, write, errors, immediate);
        dff_setup!(self, clock, acknowledge, peer, region, offset);
        dff_setup!(self, clock, negative, answer, faulty, code, consume, retry);
        dff_setup!(self, clock, counted_message, counted_no_vi, counted_psn);
        dff_setup!(self, clock, counted_no_receive, counted_partial);
        clock!(self, clock, contexts, flush, judge);
        self.flush.reset.next = self.reset.val();
        self.flush.state_valid.next = self.state_valid.val();
        self.flush.state.next = self.state.val();
        self.flush.filled_valid.next = self.filled_valid.val();
        self.flush.filled_vi.next = self.filled_vi.val();
        self.flush.look_vi.next = self.vi.q.val();

        // The VI in hand; in Idle, the next one.
        self.target.next = self.vi.q.val();
        if self.step.q.val() == Step::Idle {
            self.target.next = bit_cast::<VI_LOG2, 24>(self.info.val().queue_pair);
            if self.flush.work_valid.val() {
                self.target.next = self.flush.work_vi.val();
            }
        }
        self.contexts.read_vi.next = self.target.val();
        self.look_vi.next = self.target.val();
        self.posted_vi.next = self.target.val();
        self.slot.next = self.consumed.q.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        self.look_slot.next = self.slot.val();
        self.look_word.next = bits::<3>(1);
        if self.step.q.val() == Step::Decide {
            self.look_word.next = bits::<3>(2);
        }
        if self.step.q.val() == Step::Reserved {
            self.look_word.next = bits::<3>(3);
        }
        self.judge.info.next = self.info.val();
        self.judge.peer.next = self.peer.q.val();
        self.judge.message.next = self.message.q.val();
        self.judge.connected.next = self.flush.connected.val();
        self.reliable.next = self.peer.q.val().reliable;
        self.opcode.next = self.info.val().opcode;

        // Commits, in Idle only.
        self.contexts.commit_valid.next = self.commit_valid.val();
        self.contexts.commit.next = self.commit.val();
        self.contexts.commit_allowed.next = self.step.q.val() == Step::Idle;
        self.committing.next = self.contexts.commit_wanted.val();
        self.commit_ready.next = self.committing.val() & (self.step.q.val() == Step::Idle);
        self.contexts.consumed_vi.next = self.consumed_vi.val();
        self.consumed_position.next = self.contexts.consumed_position.val();

        // The descriptor's control segment.
        self.word.next = self.read_data.val();
        self.segments.next = self.head.q.val().get_bits::<16>(0);
        self.control_word.next = self.head.q.val().get_bits::<16>(16);
        self.words_needed.next = bits::<4>(8);
        if self.segments.val() == bits::<16>(1) {
            self.words_needed.next = bits::<4>(6);
        }
        if self.segments.val() == bits::<16>(0) {
            self.words_needed.next = bits::<4>(4);
        }

        self.next_psn.next = self.info.val().psn + 1;
        self.previous_psn.next = self.message.q.val().psn - 1;
        self.next_position.next = self.consumed.q.val() + 1;

        // Outputs.
        self.job_valid.next = false;
        self.payload_start.next = false;
        self.job_vi.next = self.vi.q.val();
        self.job_slot.next = self.slot.val();
        self.job_tag.next = self.peer.q.val().tag;
        self.job_region.next = self.region.q.val();
        self.job_offset.next = self.offset.q.val();
        self.job_segments.next = self.segments.val().get_bits::<8>(0);
        self.job_index.next = self.message.q.val().index;
        self.job_position.next = self.message.q.val().position;
        self.job_length.next = self.info.val().length;
        self.completion_valid.next = self.step.q.val() == Step::Complete;
        self.completion.next.vi = self.vi.q.val();
        self.completion.next.receive = true;
        self.completion.next.write = self.write.q.val();
        self.completion.next.region = self.region.q.val();
        self.completion.next.offset = self.offset.q.val();
        self.completion.next.length = self.message.q.val().received;
        self.completion.next.status = self.status_done.val() | bit_cast::<20, 9>(self.errors.q.val());
        if self.immediate.q.val() {
            self.completion.next.status = self.status_done.val() | self.status_immediate.val();
        }
        self.completion.next.has_immediate = self.immediate.q.val();
        self.completion.next.immediate = self.info.val().extension;
        self.completion.next.acknowledge = self.acknowledge.q.val();
        self.completion.next.psn = self.previous_psn.val();
        if self.negative.q.val() {
            self.completion.next.psn = self.message.q.val().psn;
        }
        self.completion.next.msn = self.message.q.val().msn;
        self.completion.next.syndrome = self.answer.q.val();
        self.completion.next.ends = self.consume.q.val();
        self.acknowledged_valid.next = self.step.q.val() == Step::Answer;
        self.acknowledged.next.vi = self.vi.q.val();
        self.acknowledged.next.psn = self.info.val().psn;
        self.acknowledged.next.syndrome = bit_cast::<8, 32>(self.info.val().extension >> 24);
        self.fault_valid.next = self.step.q.val() == Step::Fault;
        self.fault.next.vi = self.vi.q.val();
        self.fault.next.code = self.code.q.val();
        self.fault.next.receive = true;
        self.fault.next.breaks = self.message.q.val().broken;
        self.again_receive_valid.next = self.step.q.val() == Step::Again;
        self.again_receive_vi.next = self.vi.q.val();
        self.release_valid.next =
            (self.step.q.val() == Step::Save) & !self.flushing.q.val() & !self.retry.q.val();
        self.busy.next =
            (self.step.q.val() != Step::Idle) | self.info_valid.val() | self.flush.work_valid.val();
        self.counted_message.d.next = false;
        self.counted_no_vi.d.next = false;
        self.counted_psn.d.next = false;
        self.counted_no_receive.d.next = false;
        self.counted_partial.d.next = false;
        self.count_message.next = self.counted_message.q.val();
        self.count_no_vi.next = self.counted_no_vi.q.val();
        self.count_psn.next = self.counted_psn.q.val();
        self.count_no_receive.next = self.counted_no_receive.q.val();
        self.count_partial.next = self.counted_partial.q.val();

        // A consumed descriptor ends the message.
        self.saved.next = self.message.q.val();
        if self.consume.q.val() {
            self.saved.next.active = false;
            self.saved.next.received = bits::<32>(0);
        }
        self.contexts.save_valid.next = self.step.q.val() == Step::Save;
        self.contexts.save_vi.next = self.vi.q.val();
        self.contexts.save_message.next = self.saved.val();
        self.contexts.save_consumed.next = self.consumed.q.val();
        if self.consume.q.val() {
            self.contexts.save_consumed.next = self.next_position.val();
        }

        // The slot stays until the row is loaded again; block RAM is slow, so nothing but registers behind it.
        self.region.d.next = self.look_region.val();
        self.offset.d.next = self.look_offset.val();
        self.lost.d.next = self.look_lost.val();
        self.words.d.next = self.look_words.val();

        self.flush.work_ready.next = false;
        self.fails.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.vi.d.next = self.target.val();
                self.flushing.d.next = self.flush.work_valid.val();
                if !self.committing.val() {
                    if self.flush.work_valid.val() {
                        self.flush.work_ready.next = true;
                        self.step.d.next = Step::Load;
                    } else if self.info_valid.val() {
                        self.step.d.next = Step::Load;
                    }
                }
            }
            Step::Load => {
                self.peer.d.next = self.contexts.peer.val();
                self.message.d.next = self.contexts.message.val();
                self.consumed.d.next = self.contexts.consumed.val();
                self.write.d.next = false;
                self.errors.d.next = bits::<9>(0);
                self.immediate.d.next = false;
                self.acknowledge.d.next = false;
                self.negative.d.next = false;
                self.answer.d.next = self.ack.val();
                self.faulty.d.next = false;
                self.code.d.next = self.connection_lost.val();
                self.consume.d.next = false;
                self.retry.d.next = false;
                self.fresh.d.next = false;
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.present.d.next = self.look_filled.val() != self.consumed.q.val();
                self.none_posted.d.next = self.look_filled.val() == self.posted_position.val();
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.head.d.next = self.word.val().get_bits::<32>(32);
                self.step.d.next = Step::Save;
                if self.flushing.q.val() {
                    self.errors.d.next = self.flushed_error.val();
                    self.consume.d.next = true;
                    self.step.d.next = Step::Reserved;
                    if !self.flush.error.val() | !self.present.q.val() {
                        self.step.d.next = Step::Idle;
                    }
                } else {
                    match self.judge.verdict.val() {
                        Verdict::Unknown => {
                            self.counted_no_vi.d.next = true;
                        }
                        Verdict::Answer => {
                            self.step.d.next = Step::Answer;
                        }
                        Verdict::Behind => {
                            self.counted_psn.d.next = true;
                            if self.reliable.val() & (self.judge.ends.val() | self.info.val().ack_request) {
                                self.acknowledge.d.next = true;
                                self.step.d.next = Step::Complete;
                            }
                        }
                        Verdict::Gap => {
                            self.counted_psn.d.next = true;
                            if !self.message.q.val().refused {
                                self.message.d.next.refused = true;
                                self.acknowledge.d.next = true;
                                self.negative.d.next = true;
                                self.answer.d.next = self.nak_sequence.val();
                                self.step.d.next = Step::Complete;
                            }
                        }
                        Verdict::Refuse => {
                            self.answer.d.next = self.nak_invalid.val();
                            self.errors.d.next = self.transport_error.val();
                            self.write.d.next = self.message.q.val().active;
                            self.consume.d.next = self.message.q.val().active;
                            self.fails.next = true;
                        }
                        Verdict::Partial => {
                            self.errors.d.next = self.partial_error.val();
                            self.write.d.next = true;
                            self.consume.d.next = true;
                            self.retry.d.next = true;
                            self.step.d.next = Step::Complete;
                        }
                        Verdict::Stray => {
                            self.counted_partial.d.next = true;
                            self.message.d.next.psn = self.next_psn.val();
                        }
                        Verdict::Take => {
                            self.fresh.d.next = true;
                            self.message.d.next.index = bits::<8>(0);
                            self.message.d.next.position = bits::<32>(0);
                            self.message.d.next.received = bits::<32>(0);
                            if self.present.q.val() {
                                self.step.d.next = Step::Reserved;
                            } else if self.none_posted.q.val() {
                                self.answer.d.next = self.rnr_nak.val();
                                self.code.d.next = self.queue_empty.val();
                                self.counted_no_receive.d.next = true;
                                self.fails.next = true;
                                self.step.d.next = Step::Fault;
                            } else {
                                self.step.d.next = Step::Idle;
                            }
                        }
                        Verdict::Continue => {
                            self.step.d.next = Step::Begin;
                        }
                        _ => {
                            self.step.d.next = Step::Save;
                        }
                    }
                }
            }
            Step::Reserved => {
                self.zero.d.next = self.word.val().get_bits::<32>(0);
                self.malformed.d.next = (self.control_word.val() & self.control_mask.val()).any()
                    | (self.segments.val() > self.most_segments.val())
                    | (self.words.q.val() < self.words_needed.val());
                self.step.d.next = Step::Status;
                if self.flushing.q.val() {
                    self.write.d.next = true;
                    self.step.d.next = Step::Complete;
                }
                if self.lost.q.val() {
                    self.write.d.next = false;
                    self.consume.d.next = true;
                    self.step.d.next = Step::Complete;
                    if !self.flushing.q.val() {
                        self.answer.d.next = self.nak_operational.val();
                        self.counted_no_receive.d.next = true;
                        self.fails.next = true;
                    }
                }
            }
            Step::Status => {
                self.zero.d.next = self.word.val().get_bits::<32>(32);
                if self.zero.q.val().any() {
                    self.malformed.d.next = true;
                }
                self.step.d.next = Step::Begin;
            }
            Step::Begin => {
                if self.fresh.q.val() & (self.malformed.q.val() | self.zero.q.val().any()) {
                    self.answer.d.next = self.nak_operational.val();
                    self.errors.d.next = self.format_error.val();
                    self.write.d.next = true;
                    self.consume.d.next = true;
                    self.fails.next = true;
                    self.step.d.next = Step::Complete;
                } else if self.info.val().length.any() {
                    self.job_valid.next = true;
                    self.payload_start.next = true;
                    self.step.d.next = Step::Scatter;
                } else {
                    self.step.d.next = Step::Placed;
                }
            }
            Step::Scatter => {
                if self.done_valid.val() {
                    self.message.d.next.index = self.done_index.val();
                    self.message.d.next.position = self.done_position.val();
                    self.step.d.next = Step::Placed;
                    if self.done_result.val() != self.ok.val() {
                        self.answer.d.next = self.nak_operational.val();
                        self.errors.d.next = self.transport_error.val();
                        if self.done_result.val() == self.too_long.val() {
                            self.answer.d.next = self.nak_invalid.val();
                            self.errors.d.next = self.length_error.val();
                        }
                        if self.done_result.val() == self.refused.val() {
                            self.errors.d.next = self.protection_error.val();
                        }
                        self.write.d.next = true;
                        self.consume.d.next = true;
                        self.fails.next = true;
                        self.step.d.next = Step::Complete;
                    }
                }
            }
            Step::Placed => {
                self.message.d.next.received =
                    self.message.q.val().received + bit_cast::<32, 13>(self.info.val().length);
                self.message.d.next.psn = self.next_psn.val();
                self.message.d.next.refused = false;
                self.message.d.next.active = true;
                self.acknowledge.d.next = self.reliable.val() & self.info.val().ack_request;
                self.step.d.next = Step::Save;
                if self.reliable.val() & self.info.val().ack_request {
                    self.step.d.next = Step::Complete;
                }
                if self.judge.ends.val() {
                    self.message.d.next.msn = self.message.q.val().msn + 1;
                    self.counted_message.d.next = true;
                    self.immediate.d.next = self.opcode.val().get_bit(0);
                    self.write.d.next = true;
                    self.consume.d.next = true;
                    self.step.d.next = Step::Complete;
                }
            }
            Step::Answer => {
                if self.acknowledged_ready.val() {
                    self.step.d.next = Step::Save;
                }
            }
            Step::Complete => {
                if self.completion_ready.val() {
                    self.step.d.next = Step::Save;
                    if self.faulty.q.val() {
                        self.step.d.next = Step::Fault;
                    }
                }
            }
            Step::Fault => {
                if self.fault_ready.val() {
                    self.step.d.next = Step::Save;
                }
            }
            Step::Save => {
                self.step.d.next = Step::Idle;
                if self.consume.q.val() {
                    self.step.d.next = Step::Again;
                }
            }
            Step::Again => {
                if self.again_receive_ready.val() {
                    self.step.d.next = Step::Idle;
                    if self.flushing.q.val() {
                        self.step.d.next = Step::Load;
                    }
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        // A reliable connection breaks: the NAK, then the fault. An unreliable one only loses the message.
        if self.fails.val() {
            if self.reliable.val() {
                self.message.d.next.broken = true;
                self.acknowledge.d.next = true;
                self.negative.d.next = true;
                self.faulty.d.next = true;
                self.step.d.next = Step::Complete;
            } else {
                self.message.d.next.psn = self.next_psn.val();
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.counted_message.d.next = false;
            self.counted_no_vi.d.next = false;
            self.counted_psn.d.next = false;
            self.counted_no_receive.d.next = false;
            self.counted_partial.d.next = false;
        }
    }
}
