//! Carries an order out: the payload to memory, and how it ends.
//!
//! ```text
//!        order ──►┌──────────┐──► job              (scatter's)
//!   info, look ──►│ Delivery │──► frame, payload_start, release_valid
//!         done ──►│          │──► blocking, idle, placing
//!    admission ──►│ Outcome  │──► request          (reply/requests')
//!         told ──►│ Standing │──► answer, placed   (Reads')
//!                 │ Report   │──► save, close, acknowledged
//!                 │ Tally    │──► count_*
//!                 └──────────┘
//! ```
//! Contract: one order at a time. What came of it, and so how it ends, is a table: see [`Outcome`]; where the VI is then is
//! [`Standing`]'s, what is said of it [`Report`]'s.
//!
//! * The first packet of a send takes the descriptor at the consumed position, the last one of an RDMA write with
//!   immediate data does; its segments are then not looked at. A right that the VI does not give goes first, then the
//!   receive, then the bytes. A descriptor that was lost is skipped and counts as none.
//! * A PSN behind the expected one is not delivered again; a reliable VI acknowledges it again, with the newest PSN. A
//!   gap is refused once, until the expected PSN comes.
//! * A raw frame that finds no receive, or no VI, is counted as such (`count_raw_dropped`), and nobody hears of it.
//! * The step that finds out what came of an order only keeps that; how it ends is worked out behind the register, in the step that
//!   closes it.
//! * The last packet completes the descriptor: Length is what arrived. Its acknowledgement goes with the completion,
//!   behind the data. The context is saved with it, and from then on the VI may be looked up again (`blocking`).
//! * When a reliable VI breaks: its descriptor with the NAK, then the fault; from then on its frames match nothing but
//!   the last word. An unreliable one only loses the message.
//!
//! A verdict of another kind, as of a read request or a response, becomes one arm of `Act`, and a step like `Answer` where it
//! is handed on.
//!
//! Example: a message of 8 bytes comes in one packet for a VI that has a receive. The order's verdict is Take. `job` asks scatter for 8
//! bytes; when `done` says that they are placed, `save` writes the context back with the next PSN, `close` brings the completion, and
//! `release_valid` frees the frame.
//!
//! Latency: a frame of one packet and one segment takes 3 cycles, scatter's and the checker's.
//!
//! Tests: `tests/receive/path/`.

use super::ahead::AheadMeta;
use super::closing::Close;
use super::contexts::Saved;
use super::contexts::{Message, Peer};
use super::job::{Done, Job};
use super::judge::Verdict;
use super::order::Order;
use super::outcome::{Ending, Outcome, Situation};
use super::report::Report;
use super::scatter::result;
use super::standing::Standing;
use super::tally::Tally;
use crate::bus::{local, Acknowledged, Admission, Answer, FrameInfo, Position, ReadRequest, Vi};
use crate::prims::Number;
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;

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
    /// While high, the block forgets the order under way.
    pub reset: Signal<In, bool>,
    /// What to do: deliver the frame on show, or flush a receive; from [`Lookup`](super::Lookup).
    pub order: Sink<Order>,
    /// The frame that the order is about, from the store.
    pub info: Signal<In, FrameInfo>,
    /// The receive descriptor at the consumed position, if there is one; from `Ahead`.
    pub look: Signal<In, AheadMeta>,
    /// An order of `blocking_vi` is under way, and the VI's context is not saved yet.
    pub blocking: Signal<Out, bool>,
    /// VI whose context is not saved yet; it has a meaning with `blocking`.
    pub blocking_vi: Signal<Out, Vi>,
    /// No order is under way.
    pub idle: Signal<Out, bool>,
    /// The frame in delivery, for the store.
    pub frame: Signal<Out, FrameInfo>,
    /// Pulses when the store is to show the payload of `frame`.
    pub payload_start: Signal<Out, bool>,
    /// Pulses when the frame in delivery is done, so that the store may free it.
    pub release_valid: Signal<Out, bool>,
    /// What scatter is to place: the payload of the frame in delivery.
    pub job: FlowSource<Job>,
    /// An RDMA read that a peer asks for: see [`Requests`](crate::reply::Requests).
    pub request: FlowSource<ReadRequest>,
    /// What becomes of the request: whether it is kept, and how many PSNs its answer takes.
    pub admission: FlowSink<Admission>,
    /// An acknowledgement, or an answer to a read of ours: see [`Reads`](super::Reads).
    pub answer: FlowSource<Answer>,
    /// Path MTU of the VI of `answer`: 256 << MTU bytes.
    pub answer_mtu: Signal<Out, Bits<3>>,
    /// What `answer` is for `complete/sends`; from [`Reads`](super::Reads).
    pub told: FlowSink<Acknowledged>,
    /// With `told`: the answer counts, and `complete/sends` has to hear of it.
    pub told_keep: Signal<In, bool>,
    /// With `told`: the answer has payload that must be placed first.
    pub told_data: Signal<In, bool>,
    /// Whether the payload of an answer is placed (true), or cannot be (false); for [`Reads`](super::Reads).
    pub placed: FlowSource<bool>,
    /// The payload of an answer for `blocking_vi` is being placed, or will be.
    pub placing: Signal<Out, bool>,
    /// How scatter's job ended, and how far it came.
    pub done: FlowSink<Done>,
    /// The context to write back to `Contexts`.
    pub save: FlowSource<Saved>,
    /// What is left of the order that ends: see [`Closing`](super::Closing).
    pub close: Source<Close>,
    /// An acknowledgement from the wire, or what an answer to a read amounts to, for complete/sends.
    pub acknowledged: Source<Acknowledged>,
    /// Pulses when a message was delivered.
    pub count_message: Pulse,
    /// Pulses when a raw frame was delivered.
    pub count_raw: Pulse,
    /// Pulses when a raw frame found no receive descriptor, or no VI.
    pub count_raw_dropped: Pulse,
    /// Pulses when an answer was to nothing that waits.
    pub count_response: Pulse,
    /// Pulses when a frame was for no VI.
    pub count_no_vi: Pulse,
    /// Pulses when a frame was a duplicate that the VI answers again.
    pub count_duplicate: Pulse,
    /// Pulses when a frame was any other duplicate, or came behind a gap.
    pub count_psn: Pulse,
    /// Pulses when a message found no receive descriptor.
    pub count_no_receive: Pulse,
    /// Pulses when a frame belonged to no message that can still be whole.
    pub count_partial: Pulse,
    step: DFF<Step>,
    /// VI of the order.
    vi: DFF<Vi>,
    /// The order is to flush a receive, not to deliver a frame.
    flushing: DFF<bool>,
    verdict: DFF<Verdict>,
    ends: DFF<bool>,
    writes: DFF<bool>,
    reads: DFF<bool>,
    word: DFF<Acknowledged>,
    /// The packet carries immediate data.
    carries: DFF<bool>,
    /// A receive is there at the consumed position.
    present: DFF<bool>,
    peer: DFF<Peer>,
    message: DFF<Message>,
    consumed: DFF<Position>,
    packet: DFF<FrameInfo>,
    /// The packet has payload.
    some: DFF<bool>,
    receive: DFF<AheadMeta>,

    outcome: Outcome,
    standing: Standing,
    report: Report,
    tally: Tally,
    /// What came of the order, until it is closed.
    came: DFF<Situation>,
    /// The message is lost by what came of the order.
    lost: DFF<bool>,
    /// A receive ends by what came of the order.
    spent: DFF<bool>,
    /// Its packet's PSN is done with: placed, kept, or lost by an unreliable VI.
    advances: DFF<bool>,
    /// How the order ends, from `Outcome`.
    ending: Signal<Local, Ending>,
    /// Where the VI stands behind the order.
    after: Signal<Local, Message>,
    /// The same frame is looked at again behind this order.
    retry: Signal<Local, bool>,

    /// The frame is the raw channel's.
    raw: Signal<Local, bool>,

    reliable: Signal<Local, bool>,
    next_position: Signal<Local, Position>,
    place: Signal<Local, Bits<64>>,
    /// Where a send goes on, as in [`Message`].
    send_place: Signal<Local, Bits<64>>,
    /// The packet begins a message; there is no receive to flush first.
    begins: Signal<Local, bool>,
    starts: Signal<Local, bool>,
    /// The packet needs a receive.
    needs: Signal<Local, bool>,
    /// An answer's bytes are in their place: the send side is told in the same cycle.
    placed_at_once: Signal<Local, bool>,
    /// The packet is of a message that may be taken.
    takes: Signal<Local, bool>,
    opcode: Signal<Local, Bits<8>>,
    /// The packet is the answer to a read.
    responds: Signal<Local, bool>,
    /// What came of the order is known.
    settles: Signal<Local, bool>,
    /// What came of the order.
    situation: Signal<Local, Situation>,
    /// The message is lost by what came of the order.
    fails: Signal<Local, bool>,
    /// The packet's PSN is done with, unless the message is lost.
    passes: Signal<Local, bool>,
    /// A receive ends by what came of the order.
    consumes: Signal<Local, bool>,
    /// A receive ends if the packet is placed.
    placed_ends: Signal<Local, bool>,
    /// A receive ends if the packet is refused and was of an RDMA write.
    denied_ends: Signal<Local, bool>,
    /// A receive ends if the packet breaks into a send.
    broken_ends: Signal<Local, bool>,
    /// The VI stays when there is no receive.
    stays: Signal<Local, bool>,
    closes: Signal<Local, bool>,

    local_protection: Number<8, { local::PROTECTION }>,
    local_failure: Number<8, { local::FAILURE }>,
    ok: Number<2, { result::OK }>,
    too_long: Number<2, { result::TOO_LONG }>,
    refused: Number<2, { result::REFUSED }>,
}

impl Logic for Delivery {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, step, vi, flushing, verdict, ends, writes, reads, word, carries, present, peer,
            message, consumed, packet
        );
        dff_setup!(self, clock, receive, some, came, lost, spent, advances);
        clock!(self, clock, tally);

        self.reliable.next = self.peer.q.val().reliable;
        self.raw.next = self.packet.q.val().raw;
        self.opcode.next = self.packet.q.val().opcode;
        self.responds.next = (self.verdict.q.val() == Verdict::Answer)
            & !(self.opcode.val().get_bit(4) & self.opcode.val().get_bit(0));
        self.next_position.next = self.consumed.q.val() + 1;

        // How it ends.
        self.outcome.situation.next = self.came.q.val();
        self.outcome.fails.next = self.lost.q.val();
        self.outcome.consumes.next = self.spent.q.val();
        self.outcome.reliable.next = self.reliable.val();
        self.outcome.stays.next = self.peer.q.val().rnr_stay;
        self.stays.next = self.reliable.val() & self.peer.q.val().rnr_stay;
        self.outcome.timer.next = self.peer.q.val().rnr_timer;
        self.outcome.refused_before.next = self.message.q.val().refused;
        self.outcome.active.next = self.message.q.val().active;
        self.outcome.writing.next = self.message.q.val().writing;
        self.outcome.asks.next = self.packet.q.val().ack_request;
        self.outcome.writes.next = self.writes.q.val();
        self.outcome.carries.next = self.carries.q.val();
        self.outcome.has_receive.next = self.present.q.val() & !self.receive.q.val().lost;
        self.ending.next = self.outcome.ending.val();
        self.retry.next = self.came.q.val() == Situation::Partial;

        // Where the VI is then.
        self.closes.next = (self.step.q.val() == Step::Close) & self.close.ready.val();
        self.standing.situation.next = self.came.q.val();
        self.standing.verdict.next = self.verdict.q.val();
        self.standing.ending.next = self.ending.val();
        self.standing.message.next = self.message.q.val();
        self.standing.packet.next = self.packet.q.val();
        self.standing.advances.next = self.advances.q.val();
        self.standing.ends.next = self.ends.q.val();
        self.standing.writes.next = self.writes.q.val();
        self.standing.reads.next = self.reads.q.val();
        self.standing.request_packets.next = self.admission.data.val().packets;
        self.after.next = self.standing.after.val();

        // What is counted.
        self.tally.reset.next = self.reset.val();
        self.tally.closes.next = self.closes.val();
        self.tally.situation.next = self.came.q.val();
        self.tally.verdict.next = self.verdict.q.val();
        self.tally.raw.next = self.raw.val();
        self.tally.reliable.next = self.reliable.val();
        self.tally.ends.next = self.ends.q.val();
        self.tally.loses.next = self.lost.q.val();
        self.tally.dropped.next = false;
        self.tally.strays.next = false;
        Pulse::link(&mut self.count_message, &mut self.tally.count_message);
        Pulse::link(&mut self.count_raw, &mut self.tally.count_raw);
        Pulse::link(&mut self.count_raw_dropped, &mut self.tally.count_raw_dropped);
        Pulse::link(&mut self.count_response, &mut self.tally.count_response);
        Pulse::link(&mut self.count_no_vi, &mut self.tally.count_no_vi);
        Pulse::link(&mut self.count_duplicate, &mut self.tally.count_duplicate);
        Pulse::link(&mut self.count_psn, &mut self.tally.count_psn);
        Pulse::link(&mut self.count_no_receive, &mut self.tally.count_no_receive);
        Pulse::link(&mut self.count_partial, &mut self.tally.count_partial);

        self.begins.next = self.verdict.q.val() == Verdict::Take;
        self.starts.next = self.begins.val() & !self.flushing.q.val();

        // Outputs.
        self.order.ready.next = self.step.q.val() == Step::Idle;
        self.idle.next = self.step.q.val() == Step::Idle;
        self.blocking.next = self.step.q.val() != Step::Idle;
        self.blocking_vi.next = self.vi.q.val();
        self.frame.next = self.packet.q.val();
        self.job.valid.next = false;
        self.payload_start.next = false;
        self.job.data.next.vi = self.vi.q.val();
        self.job.data.next.slot = self.consumed.q.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        self.job.data.next.tag = self.peer.q.val().tag;
        self.job.data.next.region = self.receive.q.val().region;
        self.job.data.next.offset = self.receive.q.val().offset;
        self.job.data.next.segments = self.receive.q.val().segments;
        self.place.next = self.message.q.val().place;
        self.job.data.next.index = self.place.val().get_bits::<8>(32);
        self.job.data.next.position = self.place.val().get_bits::<32>(0);
        self.job.data.next.remote = self.writes.q.val();
        if self.writes.q.val() {
            self.job.data.next.position = self.message.q.val().received;
        }
        // In Act `message` is still that of before.
        if self.starts.val() {
            self.job.data.next.index = bits::<8>(0);
            self.job.data.next.position = bits::<32>(0);
        }
        self.job.data.next.place = self.place.val();
        self.job.data.next.handle = self.message.q.val().rkey;
        self.job.data.next.left = self.message.q.val().left;
        self.job.data.next.length = self.packet.q.val().length;
        self.close.valid.next = self.step.q.val() == Step::Close;
        self.close.data.next.completes = self.ending.val().completes;
        self.close.data.next.faulty = self.ending.val().faulty;
        self.close.data.next.code = self.ending.val().code;
        self.close.data.next.breaks = self.ending.val().breaks;
        self.report.vi.next = self.vi.q.val();
        self.report.situation.next = self.came.q.val();
        self.report.ending.next = self.ending.val();
        self.report.message.next = self.message.q.val();
        self.report.after.next = self.after.val();
        self.report.receive.next = self.receive.q.val();
        self.report.packet.next = self.packet.q.val();
        self.close.data.next.completion = self.report.completion.val();
        self.job.data.next.reading = self.verdict.q.val() == Verdict::Answer;
        // Only who keeps the reads knows.
        self.job.data.next.fresh = false;
        self.placed_at_once.next = (self.step.q.val() == Step::Scatter)
            & self.job.data.val().reading
            & self.done.valid.val()
            & (self.done.data.val().result == self.ok.val());
        self.acknowledged.valid.next = (self.step.q.val() == Step::Answer) | self.placed_at_once.val();
        self.acknowledged.data.next = self.word.q.val();
        self.request.valid.next = self.step.q.val() == Step::Request;
        self.request.data.next.vi = self.vi.q.val();
        self.request.data.next.again = self.verdict.q.val() == Verdict::Behind;
        self.request.data.next.address = self.packet.q.val().address;
        self.request.data.next.rkey = self.packet.q.val().rkey;
        self.request.data.next.length = self.packet.q.val().size;
        self.request.data.next.psn = self.packet.q.val().psn;
        self.request.data.next.msn = self.standing.next_msn.val();
        self.request.data.next.reception = self.message.q.val().reception;
        // Opcodes of answers: FIRST 13, MIDDLE 14, LAST 15, ONLY 16.
        self.answer.valid.next = (self.step.q.val() == Step::Ask)
            | ((self.step.q.val() == Step::Act)
                & (self.verdict.q.val() == Verdict::Answer)
                & !self.flushing.q.val());
        self.answer_mtu.next = self.peer.q.val().mtu;
        self.answer.data.next.vi = self.vi.q.val();
        self.answer.data.next.response = self.responds.val();
        self.answer.data.next.first = !self.opcode.val().get_bit(1);
        self.answer.data.next.last = self.opcode.val().get_bit(0) == self.opcode.val().get_bit(1);
        self.answer.data.next.psn = self.packet.q.val().psn;
        self.answer.data.next.length = self.packet.q.val().length;
        self.answer.data.next.syndrome = bit_cast::<8, 32>(self.packet.q.val().extension >> 24);
        self.placed.valid.next = self.done.valid.val() & (self.verdict.q.val() == Verdict::Answer);
        self.placed.data.next = self.done.data.val().result == self.ok.val();
        self.placing.next = self.responds.val()
            & ((self.step.q.val() == Step::Act)
                | (self.step.q.val() == Step::Ask)
                | (self.step.q.val() == Step::Scatter));

        // The context is saved when the order ends.
        self.save.valid.next = self.closes.val();
        self.release_valid.next = self.closes.val() & !self.flushing.q.val() & !self.retry.val();
        self.save.data.next.message = self.after.val();
        self.save.data.next.consumed = self.consumed.q.val();
        if self.ending.val().consume {
            self.save.data.next.consumed = self.next_position.val();
        }
        // WIRE-1: a send takes a receive with its first packet, a write with its immediate data.
        self.needs.next =
            (self.writes.q.val() & self.carries.q.val()) | (!self.writes.q.val() & self.begins.val());
        // Above these 40 bits a send's place is 0 and stays so.
        self.send_place.next = ((self.place.val() >> 40) << 40)
            | (bit_cast::<64, 8>(self.done.data.val().index) << 32)
            | bit_cast::<64, 32>(self.done.data.val().position);
        self.takes.next = false;
        self.settles.next = false;
        self.situation.next = Situation::Nothing;
        self.fails.next = false;
        self.consumes.next = false;
        self.passes.next = false;
        self.placed_ends.next = self.ends.q.val() & (!self.writes.q.val() | self.carries.q.val());
        self.denied_ends.next = self.carries.q.val() & self.present.q.val() & !self.receive.q.val().lost;
        self.broken_ends.next = self.message.q.val().active & !self.message.q.val().writing;
        match self.step.q.val() {
            Step::Idle => {
                self.vi.d.next = self.order.data.val().vi;
                self.flushing.d.next = self.order.data.val().flush;
                self.verdict.d.next = self.order.data.val().verdict;
                self.ends.d.next = self.order.data.val().ends;
                self.writes.d.next = self.order.data.val().writes;
                self.reads.d.next = self.order.data.val().reads;
                self.carries.d.next = self.order.data.val().immediate;
                self.present.d.next = self.order.data.val().present;
                self.peer.d.next = self.order.data.val().peer;
                self.message.d.next = self.order.data.val().message;
                self.consumed.d.next = self.order.data.val().consumed;
                self.packet.d.next = self.info.val();
                self.some.d.next = self.info.val().length.any();
                // Block RAM is slow: nothing but a register behind it.
                self.receive.d.next = self.look.val();
                if self.order.valid.val() {
                    self.step.d.next = Step::Act;
                }
            }
            Step::Act => {
                if !self.message.q.val().active | self.starts.val() {
                    self.message.d.next.received = bits::<32>(0);
                }
                if self.starts.val() {
                    self.message.d.next.place = bits::<64>(0);
                    if self.writes.q.val() {
                        self.message.d.next.place = self.packet.q.val().address;
                    }
                    self.message.d.next.rkey = self.packet.q.val().rkey;
                    self.message.d.next.left = self.packet.q.val().size;
                }
                self.step.d.next = Step::Close;
                self.settles.next = true;
                match self.verdict.q.val() {
                    Verdict::Over => {
                        self.situation.next = Situation::Over;
                    }
                    Verdict::Answer => {
                        self.step.d.next = Step::Ask;
                    }
                    Verdict::Read => {
                        self.settles.next = false;
                        self.step.d.next = Step::Request;
                    }
                    Verdict::Behind => {
                        // RSP-1: a duplicate is not executed, but for a read.
                        // A read is answered from its own request; one that may not be is not even looked at.
                        self.situation.next = Situation::Behind;
                        if self.reads.q.val() {
                            self.settles.next = false;
                            self.step.d.next = Step::Request;
                        } else if self.opcode.val().get_bits::<2>(2).all() {
                            self.situation.next = Situation::Unread;
                        }
                    }
                    Verdict::Gap => {
                        self.situation.next = Situation::Gap;
                    }
                    Verdict::Refuse => {
                        self.situation.next = Situation::Refuse;
                        self.fails.next = true;
                        self.consumes.next = self.broken_ends.val();
                    }
                    Verdict::Partial => {
                        self.situation.next = Situation::Partial;
                        self.consumes.next = !self.message.q.val().writing;
                    }
                    Verdict::Take => {
                        self.takes.next = true;
                    }
                    Verdict::Continue => {
                        self.takes.next = true;
                    }
                    Verdict::Stray => {
                        self.passes.next = true;
                    }
                    _ => {
                        self.situation.next = Situation::Nothing;
                    }
                }
                if self.flushing.q.val() {
                    self.situation.next = Situation::Flush;
                    self.fails.next = false;
                    self.consumes.next = true;
                    self.passes.next = false;
                    self.settles.next = true;
                    self.takes.next = false;
                    self.step.d.next = Step::Close;
                }
                if self.takes.val() {
                    self.situation.next = Situation::Placed;
                    self.consumes.next = self.placed_ends.val();
                    self.passes.next = true;
                    // RSP-5: first the VI's right, then the receive, then the range and the data.
                    if self.writes.q.val() & self.begins.val() & !self.message.q.val().writable {
                        self.situation.next = Situation::NoRight;
                        self.fails.next = true;
                        self.consumes.next = self.denied_ends.val();
                    } else if self.needs.val() & !self.present.q.val() {
                        // RSP-4, UNR-4: no receive is posted.
                        self.situation.next = Situation::NotReady;
                        self.passes.next = false;
                        self.fails.next = !self.stays.val();
                        self.consumes.next = false;
                        // RAW-2: a raw frame without a receive is dropped and counted.
                        if self.raw.val() {
                            self.situation.next = Situation::Nothing;
                            self.fails.next = false;
                            self.tally.dropped.next = true;
                        }
                    } else if self.needs.val() & self.receive.q.val().lost {
                        // RSP-3: the receive's place in the ring is wrong.
                        self.situation.next = Situation::Lost;
                        self.fails.next = true;
                        self.consumes.next = true;
                    } else if self.needs.val() & self.receive.q.val().malformed {
                        // RSP-3, UNR-4: the receive is malformed.
                        self.situation.next = Situation::Malformed;
                        self.fails.next = true;
                        self.consumes.next = true;
                    } else if self.some.q.val() {
                        self.settles.next = false;
                        self.job.valid.next = true;
                        self.payload_start.next = true;
                        self.step.d.next = Step::Scatter;
                    }
                }
            }
            Step::Request => {
                if self.admission.valid.val() {
                    self.step.d.next = Step::Close;
                    self.settles.next = true;
                    self.situation.next = Situation::Unread;
                    if self.admission.data.val().ok {
                        self.situation.next = Situation::Read;
                        self.passes.next = self.verdict.q.val() == Verdict::Read;
                    } else if self.verdict.q.val() == Verdict::Read {
                        self.fails.next = true;
                        self.situation.next = Situation::Refuse;
                        self.consumes.next = self.broken_ends.val();
                        if self.admission.data.val().denied {
                            self.situation.next = Situation::NoReading;
                            self.consumes.next = false;
                        }
                    }
                }
            }
            Step::Ask => {
                self.word.d.next = self.told.data.val();
                if self.told.valid.val() {
                    self.step.d.next = Step::Close;
                    self.tally.strays.next = !self.told_keep.val();
                    if self.told_keep.val() {
                        self.step.d.next = Step::Answer;
                        if self.told_data.val() {
                            self.job.valid.next = true;
                            self.payload_start.next = true;
                            self.step.d.next = Step::Scatter;
                        }
                    }
                }
            }
            Step::Answer => {
                if self.acknowledged.ready.val() {
                    self.step.d.next = Step::Close;
                }
            }
            Step::Scatter => {
                if self.done.valid.val() {
                    self.step.d.next = Step::Close;
                    self.settles.next = true;
                    if !self.writes.q.val() & !self.job.data.val().reading {
                        self.message.d.next.place = self.send_place.val();
                    }
                    self.situation.next = Situation::Failed;
                    self.consumes.next = true;
                    self.fails.next = self.done.data.val().result != self.ok.val();
                    // WQ-2: a segment's error is found when its bytes move.
                    if self.done.data.val().result == self.refused.val() {
                        self.situation.next = Situation::Refused;
                    }
                    if self.done.data.val().result == self.too_long.val() {
                        self.situation.next = Situation::TooLong;
                    }
                    if self.writes.q.val() {
                        self.situation.next = Situation::Denied;
                        self.consumes.next = self.denied_ends.val();
                    }
                    if self.done.data.val().result == self.ok.val() {
                        self.situation.next = Situation::Placed;
                        self.consumes.next = self.placed_ends.val();
                        self.passes.next = true;
                    }
                    // An answer to a read of ours: the send side is told.
                    if self.job.data.val().reading {
                        self.settles.next = false;
                        self.step.d.next = Step::Answer;
                        // WQ-2: a read's own segment is refused when its answer comes. WQ-8: or cannot be read then.
                        if self.done.data.val().result == self.refused.val() {
                            self.word.d.next.syndrome = self.local_protection.val();
                        } else if self.done.data.val().result != self.ok.val() {
                            self.word.d.next.syndrome = self.local_failure.val();
                        }
                        if self.placed_at_once.val() & self.acknowledged.ready.val() {
                            self.step.d.next = Step::Close;
                        }
                    }
                }
            }
            Step::Close => {
                if self.close.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        if self.settles.val() {
            self.came.d.next = self.situation.val();
            self.lost.d.next = self.fails.val();
            // UNR-3, UNR-4: the connection stays.
            // An unreliable VI goes on behind what it has lost.
            self.advances.d.next =
                (self.passes.val() & !self.fails.val()) | (self.fails.val() & !self.reliable.val());
            self.spent.d.next = self.consumes.val();
        }
        if self.closes.val() {
            self.came.d.next = Situation::Nothing;
            self.lost.d.next = false;
            self.advances.d.next = false;
            self.spent.d.next = false;
            // The far half is written a cycle later, and `received` has bits in both.
            self.message.d.next.received = self.after.val().received;
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.came.d.next = Situation::Nothing;
            self.lost.d.next = false;
            self.advances.d.next = false;
            self.spent.d.next = false;
        }
    }
}
