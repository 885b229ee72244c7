//! Where descriptors land: for gather, or for receive/ahead.
//!
//! ```text
//!    beat ──►┌─────────┐──► word, ahead_*    (8 words of a descriptor)
//!   entry ──►│ Landing │──► head or filled   (then: where it lies, and how much of it is there)
//!            └─────────┘──► lost_*           (it could not be read) ◄── lost_ready
//! ```
//! Contract: answers come in the order of the accesses; bit 0 of `user` says ring line, which is not landed here. For
//! each descriptor read `entry` has been accepted before its answer comes; at most 8 are in flight, so the pieces
//! always find room. A descriptor's words come in 8 cycles, not always in a row, those that are not there as 0;
//! `head` or `filled` comes after the last. `words` counts whole words that are there. `lost`: the read was refused
//! or failed, or there is no whole control segment; then `lost_valid` has been accepted before.
//!
//! Latency: 2 cycles from a beat to its word. Tests: with the scheduler, `tests/queues/fetch/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, FlowSource, Sink, Source};
use rust_hdl::prelude::*;

use crate::bus::{client, QueueId, ReadBeat, Rewind, SendHead, Vi};
use crate::prims::Number;
use crate::prims::{Fifo, RamFifo};

/// What a descriptor read is for.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Expected {
    /// The VI.
    pub vi: Vi,
    /// Receive queue.
    pub receive: bool,
    /// Region that holds the descriptor.
    pub region: Bits<16>,
    /// Its offset in the region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Its position in the ring.
    pub position: Bits<14>,
    /// See [`SendHead`].
    pub epoch: bool,
    /// See [`SendHead`].
    pub restart: bool,
}

/// A beat, as far as it matters here.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Piece {
    /// Eight bytes.
    pub data: Bits<64>,
    /// All eight are there.
    pub whole: bool,
    /// Last of its access.
    pub last: bool,
    /// Refused or failed.
    pub bad: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Landing {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets everything in flight.
    pub reset: Signal<In, bool>,
    /// A beat of some client's.
    pub beat: FlowSink<ReadBeat>,
    /// A descriptor read is about to be asked for. What it is for.
    pub entry: Sink<Expected>,
    /// A word, for `word` or `ahead` by what is expected.
    pub word: FlowSource<Bits<64>>,
    /// A word for receive/ahead.
    pub ahead_valid: Signal<Out, bool>,
    /// Its number in the descriptor.
    pub number: Signal<Out, Bits<3>>,
    /// What it is a word of.
    pub whose: Signal<Out, Expected>,
    /// Pulse: a send descriptor is there. Where it lies.
    pub head: FlowSource<SendHead>,
    /// The rewind under way.
    pub rewind: Signal<In, Rewind>,
    /// Pulse: its first head is there.
    pub restarted: Signal<Out, bool>,
    /// Pulse: a receive descriptor is there; `whose`, and `head` but its VI, say which.
    pub filled_valid: Signal<Out, bool>,
    /// A descriptor is lost: a fault for this VI.
    pub lost: Source<QueueId>,
    /// No descriptor is expected and nothing is on its way out.
    pub empty: Signal<Out, bool>,

    pieces: RamFifo<Piece, 7, 8>,
    expected: Fifo<Expected, 3, 4>,
    shown_valid: DFF<bool>,
    shown: DFF<Piece>,
    /// Words passed on, 0 to 8.
    at: DFF<Bits<4>>,
    /// Whole words among them.
    whole: DFF<Bits<4>>,
    /// The last piece is in.
    ended: DFF<bool>,
    bad: DFF<bool>,
    word_out: DFF<Bits<64>>,
    number_out: DFF<Bits<3>>,
    to_gather: DFF<bool>,
    to_ahead: DFF<bool>,
    whose_out: DFF<Expected>,
    words_out: DFF<Bits<4>>,
    lost_out: DFF<bool>,
    head_out: DFF<bool>,
    filled_out: DFF<bool>,

    here: Signal<Local, bool>,
    piece_in: Signal<Local, Piece>,
    piece: Signal<Local, Piece>,
    on_show: Signal<Local, bool>,
    refill: Signal<Local, bool>,
    past: Signal<Local, bool>,
    full: Signal<Local, bool>,
    step: Signal<Local, bool>,
    is_lost: Signal<Local, bool>,
    complete: Signal<Local, bool>,
    finish: Signal<Local, bool>,
    own: Number<2, { client::FETCH }>,
}

impl Logic for Landing {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            shown_valid,
            shown,
            at,
            whole,
            ended,
            bad,
            word_out,
            number_out,
            to_gather,
            to_ahead,
            whose_out,
            words_out,
            lost_out,
            head_out,
            filled_out
        );
        clock!(self, clock, pieces, expected);
        self.pieces.reset.next = self.reset.val();
        self.expected.reset.next = self.reset.val();

        self.here.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.own.val())
            & !(self.beat.data.val().user & bits::<8>(1)).any();
        self.piece_in.next.data = self.beat.data.val().data;
        self.piece_in.next.whole = self.beat.data.val().count == bits::<4>(8);
        self.piece_in.next.last = self.beat.data.val().last;
        self.piece_in.next.bad = self.beat.data.val().refused | self.beat.data.val().failed;
        self.on_show.next = self.shown_valid.q.val() & !self.ended.q.val();
        self.refill.next = !self.shown_valid.q.val() | self.on_show.val();
        // Past the queue, if it is empty.
        self.past.next = !self.pieces.level.val().any() & self.refill.val();
        self.pieces.sink.valid.next = self.here.val() & !self.past.val();
        self.pieces.sink.data.next = self.piece_in.val();
        Sink::<Expected>::link(&mut self.entry, &mut self.expected.sink);

        // One word a cycle: a piece on show, or nothing once the last piece is in. The piece on show is in a register
        // of its own: what a block RAM gives comes late in the cycle.
        self.piece.next = self.shown.q.val();
        self.full.next = self.at.q.val().get_bit(3);
        self.step.next = (self.on_show.val() | self.ended.q.val()) & !self.full.val();
        self.word_out.d.next = bits::<64>(0);
        if self.on_show.val() & self.piece.val().whole & !self.piece.val().bad {
            self.word_out.d.next = self.piece.val().data;
        }
        self.number_out.d.next = bit_cast::<3, 4>(self.at.q.val());
        self.whose_out.d.next = self.expected.source.data.val();
        self.to_gather.d.next = self.step.val() & !self.expected.source.data.val().receive;
        self.to_ahead.d.next = self.step.val() & self.expected.source.data.val().receive;
        if self.step.val() {
            self.at.d.next = self.at.q.val() + 1;
        }
        if self.on_show.val() {
            self.ended.d.next = self.piece.val().last;
            self.bad.d.next = self.bad.q.val() | self.piece.val().bad;
            if self.piece.val().whole & !self.piece.val().bad & !self.full.val() {
                self.whole.d.next = self.whole.q.val() + 1;
            }
        }

        // All words are out: the fault first, if there is one, then the head.
        // WQ-6: the control segment is outside live memory. WQ-8: or the host has not given the first 64 bytes.
        self.is_lost.next = self.bad.q.val() | (self.whole.q.val() < bits::<4>(4));
        self.complete.next = self.full.val() & self.ended.q.val();
        self.lost.valid.next = self.complete.val() & self.is_lost.val();
        self.lost.data.next.vi = self.expected.source.data.val().vi;
        self.lost.data.next.receive = self.expected.source.data.val().receive;
        self.finish.next = self.complete.val() & (!self.is_lost.val() | self.lost.ready.val());
        self.words_out.d.next = self.whole.q.val();
        self.lost_out.d.next = self.is_lost.val();
        self.head_out.d.next = self.finish.val() & !self.expected.source.data.val().receive;
        self.filled_out.d.next = self.finish.val() & self.expected.source.data.val().receive;
        self.expected.source.ready.next = self.finish.val();
        if self.finish.val() {
            self.at.d.next = bits::<4>(0);
            self.whole.d.next = bits::<4>(0);
            self.ended.d.next = false;
            self.bad.d.next = false;
        }

        self.pieces.source.ready.next = self.refill.val();
        if self.refill.val() {
            self.shown_valid.d.next = self.pieces.source.valid.val();
            self.shown.d.next = self.pieces.source.data.val();
            if self.past.val() {
                self.shown_valid.d.next = self.here.val();
                self.shown.d.next = self.piece_in.val();
            }
        }

        self.word.valid.next = self.to_gather.q.val();
        self.ahead_valid.next = self.to_ahead.q.val();
        self.word.data.next = self.word_out.q.val();
        self.number.next = self.number_out.q.val();
        self.whose.next = self.whose_out.q.val();
        self.head.valid.next = self.head_out.q.val();
        self.filled_valid.next = self.filled_out.q.val();
        self.head.data.next.vi = self.whose_out.q.val().vi;
        self.head.data.next.region = self.whose_out.q.val().region;
        self.head.data.next.offset = self.whose_out.q.val().offset;
        self.head.data.next.words = self.words_out.q.val();
        self.head.data.next.lost = self.lost_out.q.val();
        self.head.data.next.epoch = self.whose_out.q.val().epoch;
        self.head.data.next.restart = self.whose_out.q.val().restart;
        // The rewind stays on the bus until its head has come.
        self.head.data.next.psn = self.rewind.val().psn;
        self.head.data.next.skip = self.rewind.val().skip;
        self.head.data.next.resume = self.rewind.val().resume;
        self.restarted.next = self.head_out.q.val() & self.whose_out.q.val().restart;
        self.empty.next =
            !self.expected.source.valid.val() & !self.head_out.q.val() & !self.filled_out.q.val();

        if self.reset.val() {
            self.at.d.next = bits::<4>(0);
            self.whole.d.next = bits::<4>(0);
            self.ended.d.next = false;
            self.bad.d.next = false;
            self.shown_valid.d.next = false;
            self.to_gather.d.next = false;
            self.to_ahead.d.next = false;
            self.head_out.d.next = false;
            self.filled_out.d.next = false;
        }
    }
}
