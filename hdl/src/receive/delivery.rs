//! Carries an order out: the payload to memory, and how it ends.
//!
//! ```text
//!  order_* ──►┌──────────┐◄─► scatter's job
//!     look ──►│          │──► close_*
//!             │ Delivery │──► acknowledged
//!             │          │──► save_*
//!             └──────────┘──► frame, payload_start, release_valid, count_*
//! ```
//! Contract: one order at a time.
//!
//! * A PSN behind the expected one is not delivered again; a reliable VI acknowledges it again, with the newest PSN,
//!   if it asks or ends a message. A gap is refused once (NAK_SEQUENCE).
//! * The first packet takes the descriptor at the consumed position. If there is none, an unreliable VI drops the
//!   message and reports RECVQ_EMPTY, and a reliable one breaks, with the NAK that InfiniBand has for it (RNR_NAK; VIA
//!   knows no retry). A descriptor that was lost is skipped and counts as none, with NAK_OPERATIONAL.
//! * A descriptor that is malformed, too short for the message or refused completes with its error; the rest of the
//!   message is dropped. A reliable VI breaks: NAK_INVALID if the message is too long, else NAK_OPERATIONAL.
//! * The last packet completes the descriptor: Length is what arrived. Its acknowledgement goes with the completion,
//!   behind the data. The context is saved with it, and from then on the VI may be looked up again (`blocking`).
//! * When a VI breaks: its descriptor with the NAK, then the fault; from then on its frames match nothing.
//! * A flush completes the descriptor at the consumed position DESC_FLUSHED_ERROR.
//!
//! Latency: a frame of one packet and one segment takes 3 cycles, scatter's and the checker's.
//!
//! Tests: `tests/receive/path.rs`.

use super::ahead::AheadMeta;
use super::contexts::{Message, Peer};
use super::judge::Verdict;
use super::scatter::result;
use crate::bus::{local, word, Acknowledged, Answer, Completion, FrameInfo, Position, ReadRequest, Vi};
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Nothing.
    Idle,
    /// Do what the verdict says.
    Act,
    /// An acknowledgement goes to the send side.
    Answer,
    /// An RDMA read is looked at.
    Request,
    /// An answer is looked at.
    Ask,
    /// Scatter works.
    Scatter,
    /// The context is saved, and the frame freed.
    Close,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Delivery {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the order under way.
    pub reset: Signal<In, bool>,
    /// There is something to do: see [`Lookup`](super::Lookup).
    pub order_valid: Signal<In, bool>,
    /// It is taken.
    pub order_ready: Signal<Out, bool>,
    /// For this VI.
    pub order_vi: Signal<In, Vi>,
    /// Flush the receive at the consumed position; otherwise deliver the frame.
    pub order_flush: Signal<In, bool>,
    /// What the frame is to the VI.
    pub order_verdict: Signal<In, Verdict>,
    /// It ends a message.
    pub order_ends: Signal<In, bool>,
    /// It is of an RDMA write.
    pub order_writes: Signal<In, bool>,
    /// It is an RDMA read request, and may be one.
    pub order_reads: Signal<In, bool>,
    /// It carries immediate data.
    pub order_immediate: Signal<In, bool>,
    /// A receive is there at the consumed position.
    pub order_present: Signal<In, bool>,
    /// The VI's peer.
    pub order_peer: Signal<In, Peer>,
    /// Where the VI is.
    pub order_message: Signal<In, Message>,
    /// Receive descriptors of it that are completed.
    pub order_consumed: Signal<In, Position>,
    /// The frame.
    pub info: Signal<In, FrameInfo>,
    /// The receive, if there is one.
    pub look: Signal<In, AheadMeta>,
    /// The context of `blocking_vi` is not saved yet.
    pub blocking: Signal<Out, bool>,
    /// Which.
    pub blocking_vi: Signal<Out, Vi>,
    /// Nothing is under way.
    pub idle: Signal<Out, bool>,
    /// The frame in hand.
    pub frame: Signal<Out, FrameInfo>,
    /// Show its payload.
    pub payload_start: Signal<Out, bool>,
    /// It is done.
    pub release_valid: Signal<Out, bool>,
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
    /// An RDMA write: one segment, the peer's.
    pub job_remote: Signal<Out, bool>,
    /// Its address.
    pub job_place: Signal<Out, Bits<64>>,
    /// Its handle.
    pub job_handle: Signal<Out, Bits<32>>,
    /// Bytes of it not yet filled.
    pub job_left: Signal<Out, Bits<32>>,
    /// The answer to a read of ours: see [`Scatter`](super::Scatter).
    pub job_reading: Signal<Out, bool>,
    /// Bytes to place.
    pub job_length: Signal<Out, Bits<13>>,
    /// A peer reads: see [`Requests`](crate::reply::Requests).
    pub request_valid: Signal<Out, bool>,
    /// What.
    pub request: Signal<Out, ReadRequest>,
    /// It is looked at.
    pub request_done: Signal<In, bool>,
    /// It is kept.
    pub request_ok: Signal<In, bool>,
    /// The peer has no right to read.
    pub request_denied: Signal<In, bool>,
    /// PSNs of its answer.
    pub request_packets: Signal<In, Bits<24>>,
    /// An answer came: see [`Reads`](super::Reads).
    pub answer_valid: Signal<Out, bool>,
    /// Which.
    pub answer: Signal<Out, Answer>,
    /// Path MTU of its VI: 256 << MTU bytes.
    pub answer_mtu: Signal<Out, Bits<3>>,
    /// It is judged.
    pub told_valid: Signal<In, bool>,
    /// It counts.
    pub told_keep: Signal<In, bool>,
    /// It has payload to place first.
    pub told_data: Signal<In, bool>,
    /// What it is for `complete/sends`.
    pub told: Signal<In, Acknowledged>,
    /// Its payload is placed, or cannot be.
    pub placed_valid: Signal<Out, bool>,
    /// It is placed.
    pub placed_ok: Signal<Out, bool>,
    /// The payload of an answer is being placed, or will be, for `blocking_vi`.
    pub placing: Signal<Out, bool>,
    /// The job is over.
    pub done_valid: Signal<In, bool>,
    /// How: `result`.
    pub done_result: Signal<In, Bits<2>>,
    /// Segment to go on with.
    pub done_index: Signal<In, Bits<8>>,
    /// Bytes of it filled.
    pub done_position: Signal<In, Bits<32>>,
    /// Write the context back.
    pub save_valid: Signal<Out, bool>,
    /// Where the VI is.
    pub save_message: Signal<Out, Message>,
    /// Receive descriptors of it that are completed.
    pub save_consumed: Signal<Out, Position>,
    /// The order ends: see [`Closing`](super::Closing).
    pub close_valid: Signal<Out, bool>,
    /// It is taken.
    pub close_ready: Signal<In, bool>,
    /// With a completion.
    pub close_completes: Signal<Out, bool>,
    /// The completion; its VI in any case.
    pub close_completion: Signal<Out, Completion>,
    /// With a fault.
    pub close_faulty: Signal<Out, bool>,
    /// Its code.
    pub close_code: Signal<Out, Bits<8>>,
    /// It breaks the VI.
    pub close_breaks: Signal<Out, bool>,
    /// An acknowledgement came from the wire.
    pub acknowledged_valid: Signal<Out, bool>,
    /// It is taken.
    pub acknowledged_ready: Signal<In, bool>,
    /// The acknowledgement.
    pub acknowledged: Signal<Out, Acknowledged>,
    /// A message was delivered.
    pub count_message: Signal<Out, bool>,
    /// An answer was to nothing that waits.
    pub count_response: Signal<Out, bool>,
    /// A frame was for no VI.
    pub count_no_vi: Signal<Out, bool>,
    /// A frame was a duplicate, and answered again.
    pub count_duplicate: Signal<Out, bool>,
    /// A frame was another duplicate, or behind a gap.
    pub count_psn: Signal<Out, bool>,
    /// A message found no receive descriptor.
    pub count_no_receive: Signal<Out, bool>,
    /// A frame belonged to no message that can still be whole.
    pub count_partial: Signal<Out, bool>,
    step: DFF<Step>,
    vi: DFF<Vi>,
    flushing: DFF<bool>,
    verdict: DFF<Verdict>,
    ends: DFF<bool>,
    writes: DFF<bool>,
    reads: DFF<bool>,
    word: DFF<Acknowledged>,
    counted_response: DFF<bool>,
    carries: DFF<bool>,
    present: DFF<bool>,
    peer: DFF<Peer>,
    message: DFF<Message>,
    consumed: DFF<Position>,
    packet: DFF<FrameInfo>,
    receive: DFF<AheadMeta>,

    // How the order ends.
    completing: DFF<bool>,
    faulty: DFF<bool>,
    consume: DFF<bool>,
    write: DFF<bool>,
    errors: DFF<Bits<9>>,
    immediate: DFF<bool>,
    acknowledge: DFF<bool>,
    negative: DFF<bool>,
    says: DFF<Bits<8>>,
    kind: DFF<Bits<2>>,
    code: DFF<Bits<8>>,
    retry: DFF<bool>,

    counted_message: DFF<bool>,
    counted_no_vi: DFF<bool>,
    counted_duplicate: DFF<bool>,
    counted_psn: DFF<bool>,
    counted_no_receive: DFF<bool>,
    counted_partial: DFF<bool>,

    reliable: Signal<Local, bool>,
    next_psn: Signal<Local, Bits<24>>,
    previous_psn: Signal<Local, Bits<24>>,
    next_position: Signal<Local, Position>,
    place: Signal<Local, Bits<64>>,
    /// Where a send goes on, as in [`Message`].
    send_place: Signal<Local, Bits<64>>,
    /// The packet begins a message.
    begins: Signal<Local, bool>,
    /// It needs a receive.
    needs: Signal<Local, bool>,
    /// It is an RDMA write's with immediate data, and has one.
    has_receive: Signal<Local, bool>,
    /// The packet is of a message that may be taken.
    takes: Signal<Local, bool>,
    /// Its payload is placed.
    placed: Signal<Local, bool>,
    opcode: Signal<Local, Bits<8>>,
    /// It is the answer to a read.
    responds: Signal<Local, bool>,
    packets: Signal<Local, Bits<24>>,
    next_msn: Signal<Local, Bits<24>>,
    /// The peer may not write there.
    denied: Signal<Local, bool>,
    /// The packet cannot be taken: the message is lost.
    fails: Signal<Local, bool>,
    closes: Signal<Local, bool>,

    status_receive: Number<20, { (status::DONE | status::OP_RECEIVE) as u64 }>,
    status_write: Number<20, { (status::DONE | status::OP_REMOTE_RDMA_WRITE) as u64 }>,
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
    nak_access: Number<8, { syndrome::NAK_ACCESS as u64 }>,
    remote_error: Number<9, { status::RDMA_PROT_ERROR as u64 }>,
    read_refused: Number<8, { event_code::RDMAR_PROT as u64 }>,
    local_protection: Number<8, { local::PROTECTION }>,
    local_failure: Number<8, { local::FAILURE }>,
    write_refused: Number<8, { event_code::RDMAW_PROT as u64 }>,
    write_abort: Number<8, { event_code::RDMAW_ABORT as u64 }>,
    say: Number<2, { word::SAY }>,
    last_word: Number<2, { word::LAST }>,
    say_again: Number<2, { word::REPEAT }>,
    connection_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    queue_empty: Number<8, { event_code::RECVQ_EMPTY as u64 }>,
    ok: Number<2, { result::OK }>,
    too_long: Number<2, { result::TOO_LONG }>,
    refused: Number<2, { result::REFUSED }>,
}

impl Logic for Delivery {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, step, vi, flushing, verdict, ends, writes, reads, word, counted_response, carries, present, peer, message,
            consumed, packet
        );
        dff_setup!(self, clock, receive, completing, faulty, consume);
        dff_setup!(self, clock, write, errors, immediate, acknowledge, negative, says, kind, code, retry);
        dff_setup!(self, clock, counted_message, counted_no_vi, counted_psn, counted_duplicate);
        dff_setup!(self, clock, counted_no_receive, counted_partial);

        self.reliable.next = self.peer.q.val().reliable;
        self.opcode.next = self.packet.q.val().opcode;
        self.responds.next = (self.verdict.q.val() == Verdict::Answer)
            & !(self.opcode.val().get_bit(4) & self.opcode.val().get_bit(0));
        self.next_msn.next = self.message.q.val().msn + 1;
        self.packets.next = bits::<24>(1);
        if self.reads.q.val() {
            self.packets.next = self.request_packets.val();
        }
        self.next_psn.next = self.packet.q.val().psn + self.packets.val();
        self.previous_psn.next = self.message.q.val().psn - 1;
        self.next_position.next = self.consumed.q.val() + 1;

        // Outputs.
        self.order_ready.next = self.step.q.val() == Step::Idle;
        self.idle.next = self.step.q.val() == Step::Idle;
        self.blocking.next = self.step.q.val() != Step::Idle;
        self.blocking_vi.next = self.vi.q.val();
        self.frame.next = self.packet.q.val();
        self.job_valid.next = false;
        self.payload_start.next = false;
        self.job_vi.next = self.vi.q.val();
        self.job_slot.next = self.consumed.q.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        self.job_tag.next = self.peer.q.val().tag;
        self.job_region.next = self.receive.q.val().region;
        self.job_offset.next = self.receive.q.val().offset;
        self.job_segments.next = self.receive.q.val().segments;
        self.place.next = self.message.q.val().place;
        self.job_index.next = self.place.val().get_bits::<8>(32);
        self.job_position.next = self.place.val().get_bits::<32>(0);
        self.job_remote.next = self.writes.q.val();
        if self.writes.q.val() {
            self.job_position.next = self.message.q.val().received;
        }
        self.job_place.next = self.place.val();
        self.job_handle.next = self.message.q.val().rkey;
        self.job_left.next = self.message.q.val().left;
        self.job_length.next = self.packet.q.val().length;
        self.close_valid.next = self.step.q.val() == Step::Close;
        self.closes.next = (self.step.q.val() == Step::Close) & self.close_ready.val();
        self.close_completes.next = self.completing.q.val();
        self.close_faulty.next = self.faulty.q.val();
        self.close_code.next = self.code.q.val();
        self.close_breaks.next = self.message.q.val().broken;
        self.close_completion.next.vi = self.vi.q.val();
        self.close_completion.next.receive = true;
        self.close_completion.next.write = self.write.q.val();
        self.close_completion.next.region = self.receive.q.val().region;
        self.close_completion.next.offset = self.receive.q.val().offset;
        self.close_completion.next.length = self.message.q.val().received;
        self.close_completion.next.status =
            self.status_receive.val() | bit_cast::<20, 9>(self.errors.q.val());
        if self.writes.q.val() & !self.flushing.q.val() {
            self.close_completion.next.status =
                self.status_write.val() | bit_cast::<20, 9>(self.errors.q.val());
        }
        if self.immediate.q.val() {
            self.close_completion.next.status = self.status_receive.val() | self.status_immediate.val();
            if self.writes.q.val() {
                self.close_completion.next.status = self.status_write.val() | self.status_immediate.val();
            }
        }
        self.close_completion.next.has_immediate = self.immediate.q.val();
        self.close_completion.next.immediate = self.packet.q.val().extension;
        self.close_completion.next.acknowledge = self.acknowledge.q.val();
        self.close_completion.next.psn = self.previous_psn.val();
        if self.negative.q.val() {
            self.close_completion.next.psn = self.message.q.val().psn;
        }
        self.close_completion.next.msn = self.message.q.val().msn;
        self.close_completion.next.syndrome = self.says.q.val();
        self.close_completion.next.kind = self.kind.q.val();
        self.close_completion.next.ends = self.consume.q.val();
        self.close_completion.next.reception = self.message.q.val().reception;
        self.acknowledged_valid.next = self.step.q.val() == Step::Answer;
        self.acknowledged.next = self.word.q.val();
        self.request_valid.next = self.step.q.val() == Step::Request;
        self.request.next.vi = self.vi.q.val();
        self.request.next.again = self.verdict.q.val() == Verdict::Behind;
        self.request.next.address = self.packet.q.val().address;
        self.request.next.rkey = self.packet.q.val().rkey;
        self.request.next.length = self.packet.q.val().size;
        self.request.next.psn = self.packet.q.val().psn;
        self.request.next.msn = self.message.q.val().msn;
        if self.verdict.q.val() == Verdict::Read {
            self.request.next.msn = self.next_msn.val();
        }
        // Opcodes of answers: FIRST 13, MIDDLE 14, LAST 15, ONLY 16.
        self.answer_valid.next = self.step.q.val() == Step::Ask;
        self.answer_mtu.next = self.peer.q.val().mtu;
        self.answer.next.vi = self.vi.q.val();
        self.answer.next.response = self.responds.val();
        self.answer.next.first = !self.opcode.val().get_bit(1);
        self.answer.next.last = self.opcode.val().get_bit(0) == self.opcode.val().get_bit(1);
        self.answer.next.psn = self.packet.q.val().psn;
        self.answer.next.length = self.packet.q.val().length;
        self.answer.next.syndrome = bit_cast::<8, 32>(self.packet.q.val().extension >> 24);
        self.job_reading.next = self.verdict.q.val() == Verdict::Answer;
        self.placed_valid.next = self.done_valid.val() & (self.verdict.q.val() == Verdict::Answer);
        self.placed_ok.next = self.done_result.val() == self.ok.val();
        self.placing.next = self.responds.val()
            & ((self.step.q.val() == Step::Act)
                | (self.step.q.val() == Step::Ask)
                | (self.step.q.val() == Step::Scatter));
        self.counted_response.d.next = false;
        self.count_response.next = self.counted_response.q.val();
        self.counted_message.d.next = false;
        self.counted_no_vi.d.next = false;
        self.counted_psn.d.next = false;
        self.counted_duplicate.d.next = false;
        self.counted_no_receive.d.next = false;
        self.counted_partial.d.next = false;
        self.count_duplicate.next = self.counted_duplicate.q.val();
        self.count_message.next = self.counted_message.q.val();
        self.count_no_vi.next = self.counted_no_vi.q.val();
        self.count_psn.next = self.counted_psn.q.val();
        self.count_no_receive.next = self.counted_no_receive.q.val();
        self.count_partial.next = self.counted_partial.q.val();

        // The context is saved when the order ends. A consumed descriptor ends the message.
        self.save_valid.next = self.closes.val();
        self.release_valid.next = self.closes.val() & !self.flushing.q.val() & !self.retry.q.val();
        self.save_message.next = self.message.q.val();
        self.save_consumed.next = self.consumed.q.val();
        if self.consume.q.val() {
            self.save_message.next.active = false;
            self.save_consumed.next = self.next_position.val();
        }
        self.begins.next = self.verdict.q.val() == Verdict::Take;
        self.needs.next =
            (self.writes.q.val() & self.carries.q.val()) | (!self.writes.q.val() & self.begins.val());
        self.has_receive.next =
            self.writes.q.val() & self.carries.q.val() & self.present.q.val() & !self.receive.q.val().lost;
        self.send_place.next =
            (bit_cast::<64, 8>(self.done_index.val()) << 32) | bit_cast::<64, 32>(self.done_position.val());
        self.takes.next = false;
        self.placed.next = false;
        self.denied.next = false;
        self.fails.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.vi.d.next = self.order_vi.val();
                self.flushing.d.next = self.order_flush.val();
                self.verdict.d.next = self.order_verdict.val();
                self.ends.d.next = self.order_ends.val();
                self.writes.d.next = self.order_writes.val();
                self.reads.d.next = self.order_reads.val();
                self.carries.d.next = self.order_immediate.val();
                self.present.d.next = self.order_present.val();
                self.peer.d.next = self.order_peer.val();
                self.message.d.next = self.order_message.val();
                self.consumed.d.next = self.order_consumed.val();
                self.packet.d.next = self.info.val();
                // Block RAM is slow: nothing but a register behind it.
                self.receive.d.next = self.look.val();
                if !self.order_message.val().active
                    | (!self.order_flush.val() & (self.order_verdict.val() == Verdict::Take))
                {
                    self.message.d.next.received = bits::<32>(0);
                }
                if !self.order_flush.val() & (self.order_verdict.val() == Verdict::Take) {
                    self.message.d.next.place = bits::<64>(0);
                    if self.order_writes.val() {
                        self.message.d.next.place = self.info.val().address;
                    }
                    self.message.d.next.rkey = self.info.val().rkey;
                    self.message.d.next.left = self.info.val().size;
                }
                self.completing.d.next = false;
                self.faulty.d.next = false;
                self.consume.d.next = false;
                self.write.d.next = false;
                self.errors.d.next = bits::<9>(0);
                self.immediate.d.next = false;
                self.acknowledge.d.next = false;
                self.negative.d.next = false;
                self.says.d.next = self.ack.val();
                self.kind.d.next = self.say.val();
                self.code.d.next = self.connection_lost.val();
                self.retry.d.next = false;
                if self.order_valid.val() {
                    self.step.d.next = Step::Act;
                }
            }
            Step::Act => {
                self.step.d.next = Step::Close;
                if self.flushing.q.val() {
                    self.errors.d.next = self.flushed_error.val();
                    // The bytes of an RDMA write are not the receive's.
                    if self.message.q.val().writing {
                        self.message.d.next.received = bits::<32>(0);
                    }
                    self.write.d.next = !self.receive.q.val().lost;
                    self.consume.d.next = true;
                    self.completing.d.next = true;
                } else {
                    match self.verdict.q.val() {
                        Verdict::Unknown => {
                            self.counted_no_vi.d.next = true;
                        }
                        Verdict::Over => {
                            self.counted_no_vi.d.next = true;
                            self.kind.d.next = self.say_again.val();
                            self.acknowledge.d.next = true;
                            self.completing.d.next = true;
                        }
                        Verdict::Answer => {
                            self.step.d.next = Step::Ask;
                        }
                        Verdict::Behind => {
                            self.counted_psn.d.next = true;
                            if self.reads.q.val() {
                                self.counted_psn.d.next = false;
                                self.step.d.next = Step::Request;
                            } else if self.reliable.val() & !self.opcode.val().get_bits::<2>(2).all() {
                                self.counted_psn.d.next = false;
                                self.counted_duplicate.d.next = true;
                                self.acknowledge.d.next = true;
                                self.completing.d.next = true;
                            }
                        }
                        Verdict::Gap => {
                            self.counted_psn.d.next = true;
                            if !self.message.q.val().refused {
                                self.message.d.next.refused = true;
                                self.acknowledge.d.next = true;
                                self.negative.d.next = true;
                                self.says.d.next = self.nak_sequence.val();
                                self.completing.d.next = true;
                            }
                        }
                        Verdict::Refuse => {
                            // What ends is what was in progress; the packet is not looked at.
                            self.writes.d.next = self.message.q.val().writing;
                            self.says.d.next = self.nak_invalid.val();
                            self.errors.d.next = self.transport_error.val();
                            self.write.d.next = self.message.q.val().active & !self.message.q.val().writing;
                            self.consume.d.next = self.message.q.val().active & !self.message.q.val().writing;
                            self.fails.next = true;
                        }
                        Verdict::Partial => {
                            self.retry.d.next = true;
                            self.writes.d.next = self.message.q.val().writing;
                            if self.message.q.val().writing {
                                self.message.d.next.active = false;
                                self.code.d.next = self.write_abort.val();
                                self.faulty.d.next = true;
                            } else {
                                self.errors.d.next = self.partial_error.val();
                                self.write.d.next = true;
                                self.consume.d.next = true;
                                self.completing.d.next = true;
                            }
                        }
                        Verdict::Stray => {
                            self.counted_partial.d.next = true;
                            self.message.d.next.psn = self.next_psn.val();
                        }
                        Verdict::Read => {
                            self.step.d.next = Step::Request;
                        }
                        Verdict::Take => {
                            self.takes.next = true;
                        }
                        Verdict::Continue => {
                            self.takes.next = true;
                        }
                        _ => {
                            self.step.d.next = Step::Close;
                        }
                    }
                }
                // A right that the VI does not give goes first, then the receive, then the bytes.
                if self.takes.val() {
                    if self.writes.q.val() & self.begins.val() & !self.message.q.val().writable {
                        self.says.d.next = self.nak_invalid.val();
                        self.denied.next = true;
                    } else if self.needs.val() & !self.present.q.val() {
                        self.says.d.next = self.rnr_nak.val();
                        if self.reliable.val() & self.peer.q.val().rnr_stay {
                            self.says.d.next =
                                self.rnr_nak.val() | bit_cast::<8, 5>(self.peer.q.val().rnr_timer);
                            // What is behind it is not asked for before it comes.
                            self.message.d.next.refused = true;
                            self.acknowledge.d.next = true;
                            self.negative.d.next = true;
                            self.completing.d.next = true;
                        } else {
                            self.code.d.next = self.queue_empty.val();
                            self.counted_no_receive.d.next = true;
                            self.faulty.d.next = true;
                            self.fails.next = true;
                        }
                    } else if self.needs.val() & self.receive.q.val().lost {
                        self.says.d.next = self.nak_operational.val();
                        self.counted_no_receive.d.next = true;
                        self.consume.d.next = true;
                        self.completing.d.next = true;
                        self.fails.next = true;
                    } else if self.needs.val() & self.receive.q.val().malformed {
                        self.says.d.next = self.nak_operational.val();
                        self.errors.d.next = self.format_error.val();
                        self.write.d.next = true;
                        self.consume.d.next = true;
                        self.completing.d.next = true;
                        self.fails.next = true;
                    } else if self.packet.q.val().length.any() {
                        self.job_valid.next = true;
                        self.payload_start.next = true;
                        self.step.d.next = Step::Scatter;
                    } else {
                        self.placed.next = true;
                    }
                }
            }
            Step::Request => {
                if self.request_done.val() {
                    self.step.d.next = Step::Close;
                    if self.verdict.q.val() == Verdict::Behind {
                        // Its answer is what it gets.
                        self.counted_duplicate.d.next = self.request_ok.val();
                        self.counted_psn.d.next = !self.request_ok.val();
                    } else if self.request_ok.val() {
                        self.message.d.next.psn = self.next_psn.val();
                        self.message.d.next.msn = self.next_msn.val();
                        self.message.d.next.refused = false;
                    } else {
                        self.says.d.next = self.nak_invalid.val();
                        if self.request_denied.val() {
                            self.code.d.next = self.read_refused.val();
                        }
                        self.fails.next = true;
                    }
                }
            }
            Step::Ask => {
                self.word.d.next = self.told.val();
                if self.told_valid.val() {
                    self.step.d.next = Step::Close;
                    self.counted_response.d.next = !self.told_keep.val();
                    if self.told_keep.val() {
                        self.step.d.next = Step::Answer;
                        if self.told_data.val() {
                            self.job_valid.next = true;
                            self.payload_start.next = true;
                            self.step.d.next = Step::Scatter;
                        }
                    }
                }
            }
            Step::Answer => {
                if self.acknowledged_ready.val() {
                    self.step.d.next = Step::Close;
                }
            }
            Step::Scatter => {
                if self.done_valid.val() {
                    self.step.d.next = Step::Close;
                    if !self.writes.q.val() & !self.job_reading.val() {
                        self.message.d.next.place = self.send_place.val();
                    }
                    if self.job_reading.val() {
                        self.step.d.next = Step::Answer;
                        if self.done_result.val() == self.refused.val() {
                            self.word.d.next.syndrome = self.local_protection.val();
                        } else if self.done_result.val() != self.ok.val() {
                            self.word.d.next.syndrome = self.local_failure.val();
                        }
                    } else if self.done_result.val() == self.ok.val() {
                        self.placed.next = true;
                    } else if self.writes.q.val() {
                        self.says.d.next = self.nak_access.val();
                        self.denied.next = true;
                    } else {
                        self.says.d.next = self.nak_operational.val();
                        self.errors.d.next = self.transport_error.val();
                        if self.done_result.val() == self.too_long.val() {
                            self.says.d.next = self.nak_invalid.val();
                            self.errors.d.next = self.length_error.val();
                        }
                        if self.done_result.val() == self.refused.val() {
                            self.errors.d.next = self.protection_error.val();
                        }
                        self.write.d.next = true;
                        self.consume.d.next = true;
                        self.completing.d.next = true;
                        self.fails.next = true;
                    }
                }
            }
            Step::Close => {
                if self.close_ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        if self.placed.val() {
            self.message.d.next.received =
                self.message.q.val().received + bit_cast::<32, 13>(self.packet.q.val().length);
            self.message.d.next.psn = self.next_psn.val();
            self.message.d.next.refused = false;
            self.message.d.next.active = !self.ends.q.val();
            self.message.d.next.writing = self.writes.q.val();
            self.message.d.next.left =
                self.message.q.val().left - bit_cast::<32, 13>(self.packet.q.val().length);
            if self.reliable.val() & self.packet.q.val().ack_request {
                self.acknowledge.d.next = true;
                self.completing.d.next = true;
            }
            if self.ends.q.val() {
                self.message.d.next.msn = self.next_msn.val();
                self.counted_message.d.next = true;
                if !self.writes.q.val() | self.carries.q.val() {
                    self.immediate.d.next = self.carries.q.val();
                    self.write.d.next = true;
                    self.consume.d.next = true;
                    self.completing.d.next = true;
                }
            }
        }
        // An RDMA write that may not be: the receive says so if the packet has one, otherwise an event.
        if self.denied.val() {
            self.fails.next = true;
            if self.has_receive.val() {
                self.errors.d.next = self.remote_error.val();
                self.write.d.next = true;
                self.consume.d.next = true;
                self.completing.d.next = true;
            } else {
                self.code.d.next = self.write_refused.val();
                self.faulty.d.next = true;
            }
        }
        // A reliable connection breaks: the NAK, then the fault. An unreliable one only loses the message.
        if self.fails.val() {
            self.message.d.next.active = false;
            if self.reliable.val() {
                self.message.d.next.broken = true;
                self.kind.d.next = self.last_word.val();
                self.acknowledge.d.next = true;
                self.negative.d.next = true;
                self.completing.d.next = true;
                self.faulty.d.next = true;
            } else {
                self.message.d.next.psn = self.next_psn.val();
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.counted_message.d.next = false;
            self.counted_no_vi.d.next = false;
            self.counted_psn.d.next = false;
            self.counted_duplicate.d.next = false;
            self.counted_no_receive.d.next = false;
            self.counted_partial.d.next = false;
        }
    }
}
