//! Keeps the RDMA reads that peers ask for, and gives out the answers, a packet of one VI at a time.
//!
//! ```text
//!  request ──►┌───────────────────────┐──► reply           (to send/gather)
//!   answer ◄──│       Requests        │◄── gone, failed    (from send/transmit)
//!   commit ──►│ ReplySteps SlotCursor │──► word            (a refusal, to send/ack)
//!  issued, ──►│ ReadQueues Slots      │──► held, free      (send/ack holds what is behind an answer)
//!  retired,   │ AnswerSize SlotMatch  │
//!  arriving   │ ReplyCut   Departures │
//!             └───────────────────────┘
//! ```
//! How: [`ReplySteps`] has the order of what is done. [`ReadQueues`] has what is known of each VI, [`Slots`] its requests, of which
//! [`SlotCursor`] points at one. [`AnswerSize`] counts packets, [`SlotMatch`] compares a request that comes again with a slot,
//! [`ReplyCut`] cuts a packet off an answer, and [`Departures`] follows the packets until they have left.
//!
//! Contract: docs/semantics.md, RSP-1, RSP-6 and RSP-7.
//! - A request stays on show until `answer`: its `ok` says that the request is kept, its `packets` how many PSNs the answer has;
//!   `packets` stays until the next request. The block looks at a request when the writes granted before it have left the edge, so a read
//!   finds what was written before; at one of Reliable Reception when all that was received before is in memory (not `arriving`), because
//!   its answer acknowledges that.
//! - A VI has READ_DEPTH slots, used in turn. A new request goes into the oldest. It is not kept if as many as the VI's RECEIVE row
//!   allows wait for their answers. None is kept where the row does not allow RDMA reads; `answer` then says `denied`. A request that
//!   comes `again` is kept if its PSNs lie within those of a request that is still in its slot; its own address, handle and length count
//!   from then on. The block forgets what waits behind it, since the peer asks for that again too.
//! - VIs with answers to give take turns, packet by packet; a VI's answers come in the order of its requests.
//! - `held` of a VI is high from its request until the last packet of its answers has left, or was dropped (`gone`). Then `free` comes.
//! - `failed` reports a packet that could not be read; it counts as `gone` too. The block forgets the VI's requests and gives the NAK to
//!   `word`; it is the connection's last word. Transmit drops the VI's packets that are behind it, and breaks the VI.
//! - A commit of RECEIVE forgets the VI's requests. It is taken when no packet is on its way.
//!
//! How: a row has a step of its own, so what a request makes of the queues and what a row makes of them do not share a path.
//!
//! Example: a peer reads 2049 bytes of a VI with a path MTU of 1024 bytes, from PSN 100 on. `answer` says `ok` and 3 packets. `reply`
//! gives three packets, of 1024, 1024 and 1 bytes, with PSNs 100 to 102. When all three are `gone`, `free` names the VI.
//!
//! Latency: 9 to 14 cycles from a new request to its answer, 5 more to its first reply; a reply every 8 cycles; 4 from
//! the last `gone` to `free`, when nothing else is under way.
//!
//! Tests: `tests/reply/requests/`.

use super::answer_size::AnswerSize;
use super::cursor::SlotCursor;
use super::cut::ReplyCut;
use super::departures::Departures;
use super::queues::{QueueChange, ReadQueues};
use super::slot_match::SlotMatch;
use super::slots::{AnswerProgress, Slots};
use super::steps::{ReplyJob, ReplyStep, ReplySteps};
use crate::arithmetic::Distance;
use crate::bus::{AckRequest, Admission, Commit, Mark, ReadRequest, Reply, Vi};
use crate::prims::RunQueue;
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Requests {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets what is under way; the queues stay until their rows are committed.
    pub reset: Signal<In, bool>,
    /// An RDMA read that a peer asks for, from receive/delivery. It stays on show until `answer`.
    pub request: FlowSink<ReadRequest>,
    /// What becomes of the request, to receive/delivery: whether it is kept, whether it is denied, and how many PSNs its answer takes.
    pub answer: FlowSource<Admission>,
    /// Write commands that the write engine has been given, modulo 256, from `protect`.
    pub issued: Signal<In, Mark>,
    /// Write commands whose bytes have left the edge, modulo 256, from `dma/write`.
    pub retired: Signal<In, Mark>,
    /// Something that was received before is not in memory yet, status included: `receive`, `complete/writer` or `send/ack` has it.
    pub arriving: Signal<In, bool>,
    /// A table row, from `admin/broadcast`; the block takes the RECEIVE rows.
    pub commit: Sink<Commit>,
    /// A packet of an answer, without its bytes, for send/gather.
    pub reply: Source<Reply>,
    /// Pulses when the oldest packet of an answer has left, or was dropped; send/transmit drives it.
    pub gone: Signal<In, bool>,
    /// The NAK for a packet whose bytes could not be read, from send/transmit.
    pub failed: Sink<AckRequest>,
    /// A refusal to send, for send/ack: the NAK of a failed answer.
    pub word: Source<AckRequest>,
    /// Tells send/ack whether the acknowledgements of a VI are held behind its answers.
    pub held: Table<Vi, bool>,
    /// A VI whose answers have all left, for send/ack.
    pub free: Source<Vi>,
    /// Pulses when a request is kept.
    pub count_request: Pulse,
    /// Answers wait, or are on their way; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    steps: ReplySteps,
    cursor: SlotCursor,
    queues: ReadQueues,
    /// The requests themselves.
    slots: Slots,
    size: AnswerSize,
    matching: SlotMatch,
    cut: ReplyCut,
    departures: Departures,
    /// The VIs that have answers to give.
    turn: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    /// The VI at hand.
    vi: DFF<Vi>,
    /// How far the answer in the slot at hand is.
    at: DFF<AnswerProgress>,
    /// The mark of the request's writes; valid in Wait.
    mark: DFF<Mark>,
    /// How far the writes that have left the edge are beyond those before the request.
    since: Distance<8>,
    /// Nothing was `arriving` in the cycle before.
    rests: DFF<bool>,
    /// The NAK to give.
    failure: DFF<AckRequest>,
    /// `answer` is given in this cycle.
    told: DFF<bool>,
    /// With `told`: the request is kept.
    kept: DFF<bool>,
    /// With `told`: the VI gives its peer no right to read.
    denied: DFF<bool>,
    /// The VI whose answer is out has more to answer.
    holding: DFF<bool>,
    /// `holding` is valid.
    weighed: DFF<bool>,
    job: Signal<Local, ReplyJob>,
    step: Signal<Local, ReplyStep>,
    asked: Signal<Local, ReadRequest>,
    commit_vi: Signal<Local, Vi>,
    /// No packet is on its way, and `turn` is not busy.
    takes_row: Signal<Local, bool>,
    /// The request lies within the slot at hand.
    found: Signal<Local, bool>,
    /// send/ack knows that the VI's acknowledgements may go, or they still may not.
    freed: Signal<Local, bool>,
    /// The request is being written.
    keeps: Signal<Local, bool>,
}

impl Logic for Requests {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, vi, at, mark, rests, failure, told, kept, denied, holding, weighed);
        clock!(self, clock, steps, cursor, queues, slots, size, matching, cut, departures, turn);
        drive!(self, reset => turn.reset, departures.reset, cut.reset, steps.reset; steps.step => step;
            request.data => asked);

        // The VI at hand, and its slot.
        drive!(self, vi.q => queues.vi, slots.vi; cursor.slot => queues.slot, slots.slot;
            commit.data => queues.commit; departures.mark => queues.mark; step => cursor.step;
            queues.now.val().oldest => cursor.oldest; queues.waits => cursor.waits);
        self.slots.second.next =
            (self.step.val() == ReplyStep::Search) | (self.step.val() == ReplyStep::Place);
        if (self.step.val() == ReplyStep::Fetch) | (self.step.val() == ReplyStep::Progress) {
            self.at.d.next = self.slots.progress.val();
        }

        // A request: its packets, and whether a slot has it already.
        drive!(self, step => size.step; queues.now.val().mtu => size.mtu; asked.val().length => size.bytes;
            at.q => size.progress; asked.val().psn => matching.psn; size.packets => matching.packets;
            at.q.val().start => matching.start; at.q.val().psn => matching.next_psn;
            size.left => matching.left);
        self.found.next = self.queues.used.val() & self.matching.covered.val();
        drive!(self, found => cursor.found; retired => since.number; mark.q => since.from);
        self.rests.d.next = !self.arriving.val();
        // RSP-6: whether the VI may be read at all comes first (RSP-5).
        if self.step.val() == ReplyStep::Sort {
            self.denied.d.next = !self.queues.known.val().depth.any();
        }
        self.told.d.next = false;
        self.answer.valid.next = self.told.q.val();
        fill!(self, answer.data, kept.q => ok; denied.q => denied; size.packets => packets);
        self.count_request.next = self.told.q.val() & self.kept.q.val();

        // A packet of an answer.
        self.cut.gives.next = self.step.val() == ReplyStep::Give;
        drive!(self, vi.q => cut.vi; queues.known.val().mtu => cut.mtu; slots.place => cut.place;
            slots.handle => cut.handle; at.q => cut.progress);
        Source::<Reply>::link(&mut self.reply, &mut self.cut.reply);

        // Writing a request: as it came, and then as each packet moves it on.
        self.keeps.next = (self.step.val() == ReplyStep::Keep) | (self.step.val() == ReplyStep::Note);
        self.slots.write.next =
            self.keeps.val() | (self.step.val() == ReplyStep::Shift) | (self.step.val() == ReplyStep::Store);
        self.slots.write_second.next =
            (self.step.val() == ReplyStep::Note) | (self.step.val() == ReplyStep::Store);
        drive!(self, keeps => slots.whole; asked.val().rkey => slots.new_handle);
        self.slots.new_place.next = self.cut.next_place.val();
        self.slots.new_progress.next = self.cut.next_progress.val();
        if self.keeps.val() {
            self.slots.new_place.next = self.asked.val().address;
            fill!(self, slots.new_progress, asked.val().psn => psn; asked.val().msn => msn;
                asked.val().length => left; true => first);
            if !self.asked.val().again {
                self.slots.new_progress.next.start = self.asked.val().psn;
            }
        }

        // The VIs whose acknowledgements are held.
        drive!(self, vi.q => departures.vi; gone => departures.gone; departures.out_vi => free.data);
        self.departures.begins.next = self.step.val() == ReplyStep::Give;
        self.departures.looks.next = self.step.val() == ReplyStep::Free;
        drive!(self, false => departures.ends, departures.done, departures.hold, departures.free);
        Table::<Vi, bool>::link(&mut self.held, &mut self.departures.held);
        self.free.valid.next =
            (self.step.val() == ReplyStep::Free) & self.weighed.q.val() & !self.holding.q.val();
        self.holding.d.next = self.queues.now.val().pending.any()
            | (self.queues.now.val().mark != self.departures.out_mark.val());
        // In Free `holding` is right a cycle later.
        self.weighed.d.next = self.step.val() == ReplyStep::Free;
        self.word.valid.next = self.step.val() == ReplyStep::Say;
        self.word.data.next = self.failure.q.val();

        // The steps.
        drive!(self, failed.valid => steps.failure; departures.out => steps.departure;
            commit.valid => steps.row);
        self.steps.request.next = self.request.valid.val() & !self.told.q.val();
        self.steps.turn.next = self.turn.pop.valid.val() & !self.cut.waits.val() & self.departures.room.val();
        // RSP-7: a read is executed behind the writes before it; of Reliable Reception when they are in memory.
        self.steps.in_order.next =
            !self.since.behind.val() & (self.rests.q.val() | !self.asked.val().reception);
        self.steps.counted.next = self.size.counted.val();
        self.steps.again.next = self.asked.val().again;
        self.steps.full.next = self.queues.full.val();
        self.steps.found.next = self.found.val();
        self.steps.last_slot.next = self.cursor.last.val();
        self.steps.queued.next = !self.turn.busy.val();
        self.steps.owes.next = self.queues.now.val().pending.any();
        self.steps.waits.next = self.queues.waits.val();
        self.freed.next = self.weighed.q.val() & (self.holding.q.val() | self.free.ready.val());
        self.steps.freed.next = self.freed.val();
        self.steps.said.next = self.word.ready.val();

        drive!(self, steps.job => job; vi.q => turn.push.data);
        self.commit_vi.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.takes_row.next = !self.departures.under_way.val()
            & !self.departures.waits.val()
            & !self.cut.waits.val()
            & !self.turn.busy.val();
        self.commit.ready.next = false;
        self.failed.ready.next = self.step.val() == ReplyStep::Fail;
        self.turn.push.valid.next = false;
        self.turn.pop.ready.next = false;
        self.queues.change.next = QueueChange::Nothing;
        if self.step.val() == ReplyStep::Idle {
            self.mark.d.next = self.issued.val();
        }
        match self.job.val() {
            ReplyJob::Failure => {
                self.vi.d.next = self.failed.data.val().vi;
                self.failure.d.next = self.failed.data.val();
            }
            ReplyJob::Departure => {
                self.vi.d.next = self.departures.out_vi.val();
            }
            ReplyJob::Request => {
                self.vi.d.next = self.asked.val().vi;
            }
            ReplyJob::Row => {
                self.vi.d.next = self.commit_vi.val();
            }
            ReplyJob::Turn => {
                self.turn.pop.ready.next = true;
                self.vi.d.next = self.turn.pop.data.val();
            }
            _ => {}
        }
        if self.steps.refuses.val() {
            self.kept.d.next = false;
            self.told.d.next = true;
        }
        if self.steps.keeps.val() {
            self.queues.change.next = QueueChange::Takes;
            if self.asked.val().again {
                self.queues.change.next = QueueChange::TakesAgain;
            }
            self.departures.hold.next = true;
            self.turn.push.valid.next = true;
            self.kept.d.next = true;
            self.told.d.next = true;
        }
        match self.step.val() {
            ReplyStep::Move => {
                if self.cut.last.val() {
                    self.queues.change.next = QueueChange::Answers;
                    self.departures.ends.next = self.queues.alone.val();
                }
            }
            ReplyStep::Shift => {
                self.turn.push.valid.next = self.queues.known.val().pending.any();
            }
            ReplyStep::Row => {
                if self.takes_row.val() {
                    self.queues.change.next = QueueChange::Begins;
                    self.departures.free.next = true;
                    self.commit.ready.next = true;
                }
            }
            ReplyStep::Free => {
                // If another request came meanwhile, the VI stays held, and the last packet of that answer brings Free again.
                self.departures.free.next = self.freed.val() & !self.holding.q.val();
                self.departures.done.next = self.freed.val();
            }
            ReplyStep::Fail => {
                // RSP-6: no answer follows one that cannot be made.
                self.queues.change.next = QueueChange::Forgets;
                self.departures.free.next = true;
            }
            _ => {}
        }
        self.busy.next = (self.step.val() != ReplyStep::Idle)
            | self.turn.held.val()
            | self.departures.waits.val()
            | self.cut.waits.val()
            | self.departures.under_way.val();
        if self.reset.val() {
            self.told.d.next = false;
        }
    }
}
