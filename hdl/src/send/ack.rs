//! Keeps the latest acknowledgement of every VI until transmit sends it.
//!
//! ```text
//!  request, request_mark ──►┌─────┐──► ack
//!                retired ──►│ Ack │──► access
//!           commit, beat ──►│     │◄─► held
//!             word, free ──►└─────┘──► busy, waits, count_rnr
//! ```
//! Contract: the block releases a request when the write engine has retired as many commands as had been issued when it was made
//! (`request_mark`), so nothing is acknowledged before its data has left the edge. A request with `reception` waits until the data is in
//! memory ([`FlushRead`]). Released requests are not queued: the block keeps one for each VI, and a newer one replaces an older one that
//! still waits, except that an ACK does not replace a NAK of a later PSN. VIs are served in turn. So requests never wait for the wire.
//!
//! The block sends nothing of a VI while it is `held`: answers to its peer's reads go before acknowledgements of later requests.
//!
//! The block keeps the last word of a connection (`bus::word`): nothing replaces it, and the block says it again for each request to
//! repeat it, until a new connection forgets it. An acknowledgement that is on offer then stays on offer, but its `kind` becomes FORGET:
//! transmit takes it and sends nothing. A request to repeat a word that was not said has no effect.
//!
//! Example: a request to acknowledge PSN 7 of VI 3 comes with `request_mark` 20. When `retired` reaches 20, the VI's row says PSN 7. If
//! a request for PSN 8 is released before the VI's turn comes, `ack` says PSN 8, and PSN 7 is never sent by itself.
//!
//! Latency: 6 cycles from release to `ack`, one request every 3 cycles. The first 64 cycles after reset clear the rows.
//!
//! Tests: `tests/complete/ack/`.

use super::FlushRead;
use crate::arithmetic::Distance;
use crate::bus::{syndrome_class, word, Access, AckRequest, Commit, ReadBeat, SyndromeParts, Vi};
use crate::prims::{Cast, Fifo, Number, Ram, RunQueue};
use crate::stream::{FlowSink, LookUp, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// A request and the number of write commands that must be out first.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct MarkedAck {
    vi: Vi,
    psn: Bits<24>,
    msn: Bits<24>,
    syndrome: Bits<8>,
    kind: Bits<2>,
    reception: bool,
    mark: Bits<16>,
}

/// The acknowledgement that a VI has to send.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct AckRow {
    psn: Bits<24>,
    msn: Bits<24>,
    syndrome: Bits<8>,
    waiting: bool,
    /// The acknowledgement in the row is the connection's last word.
    last: bool,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum AckStep {
    Clear,
    Idle,
    Judge,
    Merge,
    Load,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ack {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets all requests and begins to clear its rows.
    pub reset: Signal<In, bool>,
    /// An acknowledgement that receive asks for; it comes by way of `complete/writer`.
    pub request: Sink<AckRequest>,
    /// Write commands that had been issued when `request` was made, modulo 256, from `complete/writer`.
    pub request_mark: Signal<In, Bits<8>>,
    /// Write commands whose bytes have left the edge, modulo 256, from `dma/write`.
    pub retired: Signal<In, Bits<8>>,
    /// A table row, from `admin/broadcast`; another block takes it, and this one only listens.
    pub commit: FlowSink<Commit>,
    /// A read of eight bytes of the arena, for an acknowledgement of Reliable Reception: see [`FlushRead`].
    pub access: Source<Access>,
    /// Up to eight bytes that a read of any client brought, from dma/read.
    pub beat: FlowSink<ReadBeat>,
    /// A refusal from [`Requests`](crate::reply::Requests); it is taken while no other request is offered.
    pub word: Sink<AckRequest>,
    /// Asks [`Requests`](crate::reply::Requests) whether the acknowledgements of a VI are held behind answers to its peer's reads.
    pub held: LookUp<Vi, bool>,
    /// A VI whose answers have all left, from [`Requests`](crate::reply::Requests): its acknowledgements may go.
    pub free: Sink<Vi>,
    /// An acknowledgement for transmit to send, or to forget (`kind` is FORGET).
    pub ack: Source<AckRequest>,
    /// Pulses when a receiver-not-ready answer leaves.
    pub count_rnr: Pulse,
    /// An acknowledgement waits; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    /// A request waits until its data has left the edge, or is in memory; [`Requests`](crate::reply::Requests) looks at it.
    pub waits: Signal<Out, bool>,
    requests: Fifo<MarkedAck, 3, 4>,
    flush: FlushRead,
    /// Commands retired in units of 256, for requests that wait long.
    laps: DFF<Bits<8>>,
    /// The top bit of `retired` a cycle ago.
    upper: DFF<bool>,
    lap: Signal<Local, Bits<8>>,
    all_retired: Signal<Local, Bits<16>>,
    ahead_by: Signal<Local, Bits<8>>,
    extended: Signal<Local, Bits<16>>,
    /// The writes of the oldest request have left the edge.
    left: DFF<bool>,
    request_now: Signal<Local, AckRequest>,
    rows: Ram<AckRow, VI_LOG2>,
    /// The VIs that have something to say, in turn.
    turn: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    step: DFF<AckStep>,
    /// The row that is cleared next after reset.
    clear: DFF<Vi>,
    /// `offer` stands at `ack`.
    offered: DFF<bool>,
    offer: DFF<AckRequest>,
    /// The acknowledgement that waits in the row may not be replaced. This is looked at in the cycle before, because a memory takes half
    /// of a cycle.
    kept: DFF<bool>,
    /// The row holds the last word of its connection; looked at in the cycle before, like `kept`.
    closed: DFF<bool>,
    marked: Signal<Local, MarkedAck>,
    row: Signal<Local, AckRow>,
    /// Commands retired against the oldest request's mark.
    since: Distance<16>,
    /// PSN of the request against the one that waits.
    psns: Distance<24>,
    /// Syndromes: of the row, of the request, of what is offered.
    row_syndrome: Cast<Bits<8>, SyndromeParts>,
    request_syndrome: Cast<Bits<8>, SyndromeParts>,
    offer_syndrome: Cast<Bits<8>, SyndromeParts>,
    /// The row stays as it is, and the request is dropped.
    keeps: Signal<Local, bool>,
    say: Number<2, { word::SAY }>,
    last_word: Number<2, { word::LAST }>,
    say_again: Number<2, { word::REPEAT }>,
    forget: Number<2, { word::FORGET }>,
    positive: Number<2, { syndrome_class::ACK }>,
    not_ready: Number<2, { syndrome_class::RNR }>,
}

impl Logic for Ack {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, clear, offered, offer, kept, closed, left, laps, upper);
        clock!(self, clock, requests, flush, rows, turn);
        drive!(self, reset => requests.reset, turn.reset, flush.reset);

        fill!(self, marked, request.data.val().vi => vi; request.data.val().psn => psn;
            request.data.val().msn => msn; request.data.val().syndrome => syndrome;
            request.data.val().kind => kind; request.data.val().reception => reception);
        if !self.request.valid.val() {
            fill!(self, marked, word.data.val().vi => vi; word.data.val().psn => psn;
                word.data.val().msn => msn; word.data.val().syndrome => syndrome;
                word.data.val().kind => kind; false => reception);
        }
        // The mark is at most 127 commands ahead of what is retired, or behind.
        self.lap.next = self.laps.q.val();
        if self.upper.q.val() & !self.retired.val().get_bit(7) {
            self.lap.next = self.laps.q.val() + 1;
        }
        self.laps.d.next = self.lap.val();
        self.upper.d.next = self.retired.val().get_bit(7);
        self.all_retired.next =
            (bit_cast::<16, 8>(self.lap.val()) << 8) | bit_cast::<16, 8>(self.retired.val());
        self.ahead_by.next = self.request_mark.val() - self.retired.val();
        self.extended.next = bits::<16>(0);
        if self.request.valid.val() {
            self.extended.next = bit_cast::<16, 8>(self.ahead_by.val());
            if self.ahead_by.val().get_bit(7) {
                self.extended.next = bit_cast::<16, 8>(self.ahead_by.val()) | bits::<16>(0xff00);
            }
        }
        self.marked.next.mark = self.all_retired.val() + self.extended.val();
        self.requests.sink.valid.next = self.request.valid.val() | self.word.valid.val();
        self.word.ready.next = self.requests.sink.ready.val() & !self.request.valid.val();
        drive!(self, marked => requests.sink.data; requests.sink.ready => request.ready);

        drive!(self, offered.q => ack.valid; offer.q => ack.data);
        if self.ack.ready.val() {
            self.offered.d.next = false;
        }
        self.waits.next = self.requests.source.valid.val() | self.flush.busy.val();
        self.busy.next = self.requests.source.valid.val()
            | self.flush.busy.val()
            | self.turn.held.val()
            | self.offered.q.val();

        // RSP-7: a request waits until its writes have left.
        // Signed: the write engine may have retired more than was issued at the mark, or not yet as much.
        self.since.number.next = self.all_retired.val();
        self.since.from.next = self.requests.source.data.val().mark;
        self.requests.source.ready.next = self.left.q.val() & self.flush.sink.ready.val();
        self.left.d.next = self.requests.source.valid.val()
            & !self.since.behind.val()
            & !(self.left.q.val() & self.flush.sink.ready.val());
        self.flush.sink.valid.next = self.left.q.val();
        self.flush.sink.data.next.vi = self.requests.source.data.val().vi;
        self.flush.sink.data.next.psn = self.requests.source.data.val().psn;
        self.flush.sink.data.next.msn = self.requests.source.data.val().msn;
        self.flush.sink.data.next.syndrome = self.requests.source.data.val().syndrome;
        self.flush.sink.data.next.kind = self.requests.source.data.val().kind;
        self.flush.sink.data.next.reception = self.requests.source.data.val().reception;
        self.flush.source.ready.next = false;
        FlowSink::<Commit>::link(&mut self.commit, &mut self.flush.commit);
        Source::<Access>::link(&mut self.access, &mut self.flush.access);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.flush.beat);
        self.request_now.next = self.flush.source.data.val();

        drive!(self, false => turn.push.valid, turn.pop.ready, free.ready, rows.write_enable;
            request_now.val().vi => turn.push.data, rows.read_address, rows.write_address;
            turn.pop.data => held.index);
        // RSP-7: a NAK that waits stands for a duplicate's acknowledgement.
        // The row stays as it is if the request is an ACK of a PSN before that of a NAK that waits.
        self.psns.number.next = self.request_now.val().psn;
        self.psns.from.next = self.rows.read_data.val().psn;
        self.row_syndrome.from.next = self.rows.read_data.val().syndrome;
        self.request_syndrome.from.next = self.request_now.val().syndrome;
        self.keeps.next = self.rows.read_data.val().waiting
            & (self.row_syndrome.to.val().class != self.positive.val())
            & (self.request_syndrome.to.val().class == self.positive.val())
            & self.psns.behind.val();
        // RSP-7: a newer answer stands for those that wait.
        self.row.next.psn = self.request_now.val().psn;
        self.row.next.msn = self.request_now.val().msn;
        self.row.next.syndrome = self.request_now.val().syndrome;
        self.row.next.waiting = true;
        self.row.next.last = self.request_now.val().kind == self.last_word.val();
        self.offer_syndrome.from.next = self.offer.q.val().syndrome;
        self.count_rnr.next = self.offered.q.val()
            & self.ack.ready.val()
            & (self.offer.q.val().kind == self.say.val())
            & (self.offer_syndrome.to.val().class == self.not_ready.val());

        match self.step.q.val() {
            AckStep::Clear => {
                self.row.next.waiting = false;
                self.row.next.last = false;
                self.rows.write_enable.next = true;
                self.rows.write_address.next = self.clear.q.val();
                self.clear.d.next = self.clear.q.val() + 1;
                if self.clear.q.val().all() {
                    self.step.d.next = AckStep::Idle;
                }
            }
            AckStep::Idle => {
                if self.free.valid.val() & !self.turn.busy.val() {
                    self.turn.push.valid.next = true;
                    self.turn.push.data.next = self.free.data.val();
                    self.free.ready.next = true;
                } else if self.turn.pop.valid.val() & !self.offered.q.val() {
                    self.rows.read_address.next = self.turn.pop.data.val();
                    self.step.d.next = AckStep::Load;
                } else if self.flush.source.valid.val() & !self.turn.busy.val() {
                    self.step.d.next = AckStep::Judge;
                }
            }
            AckStep::Judge => {
                self.kept.d.next = self.keeps.val();
                self.closed.d.next = self.rows.read_data.val().last;
                self.step.d.next = AckStep::Merge;
            }
            AckStep::Merge => {
                self.flush.source.ready.next = true;
                if self.request_now.val().kind == self.forget.val() {
                    self.row.next.waiting = false;
                    self.rows.write_enable.next = true;
                    if self.offer.q.val().vi == self.request_now.val().vi {
                        self.offer.d.next.kind = self.forget.val();
                    }
                } else if self.closed.q.val() {
                    // RSP-8: a VI that broke says its last NAK and nothing else.
                    // Nothing follows the last word but itself.
                    self.row.next = self.rows.read_data.val();
                    self.row.next.waiting = true;
                    self.rows.write_enable.next = self.request_now.val().kind == self.say_again.val();
                    self.turn.push.valid.next = self.request_now.val().kind == self.say_again.val();
                } else if !self.kept.q.val() & (self.request_now.val().kind != self.say_again.val()) {
                    self.rows.write_enable.next = true;
                    self.turn.push.valid.next = true;
                }
                self.step.d.next = AckStep::Idle;
            }
            AckStep::Load => {
                self.turn.pop.ready.next = true;
                // RSP-7: an acknowledgement does not go ahead of the answer to a read before it.
                self.offered.d.next = self.rows.read_data.val().waiting & !self.held.row.val();
                self.offer.d.next.vi = self.turn.pop.data.val();
                self.offer.d.next.psn = self.rows.read_data.val().psn;
                self.offer.d.next.msn = self.rows.read_data.val().msn;
                self.offer.d.next.syndrome = self.rows.read_data.val().syndrome;
                self.offer.d.next.kind = self.say.val();
                self.offer.d.next.reception = false;
                self.row.next = self.rows.read_data.val();
                self.row.next.waiting = false;
                // A row that is held stays, and its VI is queued again when it is free.
                self.rows.write_enable.next = !self.held.row.val();
                self.rows.write_address.next = self.turn.pop.data.val();
                self.step.d.next = AckStep::Idle;
            }
            _ => {
                self.step.d.next = AckStep::Idle;
            }
        }
        self.rows.write_data.next = self.row.val();
        if self.reset.val() {
            self.step.d.next = AckStep::Clear;
            self.clear.d.next = bits::<VI_LOG2>(0);
            self.offered.d.next = false;
            self.left.d.next = false;
            self.laps.d.next = bits::<8>(0);
            self.upper.d.next = false;
        }
    }
}
