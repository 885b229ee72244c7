//! Passes the words of descriptors on as they come, to gather or to receive/ahead.
//!
//! ```text
//!    beat ──►┌─────────┐──► word, or ahead_valid     (8 words of a descriptor, with number and whose)
//!   entry ──►│ Landing │──► head, or filled_valid    (then: where it lies, and how much of it is there)
//!  rewind ──►│         │──► restarted                (the rewind's first head is there)
//!            └─────────┘──► lost                     (it could not be read)
//! ```
//! Contract: answers come in the order of the accesses; an answer with bit 0 of `user` is a ring line, which
//! `Lines` takes. For each descriptor read `entry` has been accepted before its answer comes; at most 8 are in
//! flight, so the pieces always find room. A descriptor's words come in 8 cycles, or 6 if it is `short`, not always in a row; a word that is
//! not there comes as 0. `head` or `filled_valid` comes with the last word if all of them are there, and otherwise later. Its `words` counts
//! the whole words that are there. Its `lost` says that the read was refused or failed, or that there is no whole control segment; then
//! `lost` (the stream) has been accepted before.
//!
//! Example: a send descriptor lies 32 bytes before the end of its region. The read brings 4 beats. `word` gives 8 words, of which the
//! last four are 0; then `head` comes with `words` 4.
//!
//! Latency: 2 cycles from a beat to its word. Tests: with `Fetch`, `tests/queues/fetch/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use crate::bus::{client, QueueId, ReadBeat, Rewind, SendHead, Vi};
use crate::prims::Number;
use crate::prims::{Fifo, RamFifo};

/// The descriptor that a read is for.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DescriptorRead {
    /// The VI whose descriptor it is.
    pub vi: Vi,
    /// The descriptor is of the VI's receive queue; otherwise it is of its send queue.
    pub receive: bool,
    /// Region that holds the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor in that region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// The descriptor has one segment at most: 48 bytes are read, not 64.
    pub short: bool,
    /// Position of the descriptor in the ring.
    pub position: Bits<14>,
    /// See [`SendHead`].
    pub epoch: bool,
    /// See [`SendHead`].
    pub restart: bool,
}

/// A beat of a descriptor read, as far as it matters here.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DescriptorBeat {
    /// Eight bytes.
    pub data: Bits<64>,
    /// All eight bytes are there.
    pub whole: bool,
    /// The beat is the last of its access.
    pub last: bool,
    /// The access was refused or has failed.
    pub bad: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Landing {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets every read in flight.
    pub reset: Signal<In, bool>,
    /// Up to eight bytes that a read of any client brought, from dma/read; the block picks those of fetch.
    pub beat: FlowSink<ReadBeat>,
    /// The descriptor that the next read is for. `Fetch` gives it before it asks for the read.
    pub entry: Sink<DescriptorRead>,
    /// A word of a send descriptor, for gather.
    pub word: FlowSource<Bits<64>>,
    /// The word in `word.data` is one of a receive descriptor, for receive/ahead; `number` and `whose` belong to it.
    pub ahead_valid: Signal<Out, bool>,
    /// Number of the word in its descriptor, 0 to 7.
    pub number: Signal<Out, Bits<3>>,
    /// The descriptor that the word on show belongs to: its VI, its queue and its place.
    pub whose: Signal<Out, DescriptorRead>,
    /// A whole send descriptor, for gather: where it lies, and how many of its words are there.
    pub head: FlowSource<SendHead>,
    /// The rewind under way, from complete/sends; the first head behind it takes its skip count and PSN.
    pub rewind: Signal<In, Rewind>,
    /// Pulses when the first head of the rewind under way is there.
    pub restarted: Signal<Out, bool>,
    /// Pulses when a receive descriptor is whole. `whose` says which one it is, and `head.data` (all but its VI) where it lies.
    pub filled_valid: Signal<Out, bool>,
    /// The queue of a descriptor that could not be read; `Fetch` raises a fault for it.
    pub lost: Source<QueueId>,
    /// No descriptor is expected, and no word is on its way out.
    pub empty: Signal<Out, bool>,

    pieces: RamFifo<DescriptorBeat, 7, 8>,
    expected: Fifo<DescriptorRead, 3, 4>,
    /// `shown` holds a piece that is not passed on yet.
    shown_valid: DFF<bool>,
    /// The piece that is being passed on: out of the FIFO, or past it.
    shown: DFF<DescriptorBeat>,
    /// Words passed on, 0 to 8.
    at: DFF<Bits<4>>,
    /// Whole words among them.
    whole: DFF<Bits<4>>,
    /// The last piece of the descriptor is in.
    ended: DFF<bool>,
    /// A piece of the descriptor was refused or failed.
    bad: DFF<bool>,
    word_out: DFF<Bits<64>>,
    number_out: DFF<Bits<3>>,
    to_gather: DFF<bool>,
    to_ahead: DFF<bool>,
    whose_out: DFF<DescriptorRead>,
    words_out: DFF<Bits<4>>,
    lost_out: DFF<bool>,
    head_out: DFF<bool>,
    filled_out: DFF<bool>,

    /// A beat of a descriptor read of fetch comes in.
    here: Signal<Local, bool>,
    piece_in: Signal<Local, DescriptorBeat>,
    piece: Signal<Local, DescriptorBeat>,
    /// There is a piece to pass on.
    on_show: Signal<Local, bool>,
    refill: Signal<Local, bool>,
    /// The piece goes past the FIFO, which is empty, straight into `shown`.
    past: Signal<Local, bool>,
    full: Signal<Local, bool>,
    step: Signal<Local, bool>,
    is_lost: Signal<Local, bool>,
    complete: Signal<Local, bool>,
    /// The word that is passed on is the last of its descriptor.
    last_word: Signal<Local, bool>,
    /// Words that are passed on with this one.
    following: Signal<Local, Bits<4>>,
    /// All words of the descriptor are there, the last one now.
    intact: Signal<Local, bool>,
    finish: Signal<Local, bool>,
    own: Number<2, { client::FETCH }>,
}

impl Logic for Landing {
    #[wires]
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
        drive!(self, reset => pieces.reset, expected.reset);

        self.here.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.own.val())
            & !(self.beat.data.val().user & bits::<8>(1)).any();
        self.piece_in.next.data = self.beat.data.val().data;
        self.piece_in.next.whole = self.beat.data.val().count == bits::<4>(8);
        self.piece_in.next.last = self.beat.data.val().last;
        self.piece_in.next.bad = self.beat.data.val().refused | self.beat.data.val().failed;
        self.on_show.next = self.shown_valid.q.val() & !self.ended.q.val();
        self.refill.next = !self.shown_valid.q.val() | self.on_show.val();
        // A piece goes past the queue if that is empty.
        self.past.next = !self.pieces.level.val().any() & self.refill.val();
        self.pieces.sink.valid.next = self.here.val() & !self.past.val();
        self.pieces.sink.data.next = self.piece_in.val();
        Sink::<DescriptorRead>::link(&mut self.entry, &mut self.expected.sink);

        // One word a cycle: a piece on show, or nothing once the last piece is in. The piece on show is in a register
        // of its own: what a block RAM gives comes late in the cycle.
        self.piece.next = self.shown.q.val();
        self.full.next = self.at.q.val().get_bit(3)
            | (self.expected.source.data.val().short & (self.at.q.val() == bits::<4>(6)));
        self.last_word.next = (self.at.q.val() == bits::<4>(7))
            | (self.expected.source.data.val().short & (self.at.q.val() == bits::<4>(5)));
        self.following.next = self.at.q.val() + 1;
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

        // When all words are out the fault comes first, if there is one, then the head.
        // WQ-6: the control segment is outside live memory. WQ-8: or the host has not given the first 64 bytes.
        self.is_lost.next = self.bad.q.val() | (self.whole.q.val() < bits::<4>(4));
        self.complete.next = self.full.val() & self.ended.q.val();
        self.lost.valid.next = self.complete.val() & self.is_lost.val();
        self.lost.data.next.vi = self.expected.source.data.val().vi;
        self.lost.data.next.receive = self.expected.source.data.val().receive;
        // A descriptor that is there as it should be ends with its last word.
        self.intact.next = self.on_show.val()
            & self.last_word.val()
            & self.piece.val().last
            & self.piece.val().whole
            & !self.piece.val().bad
            & (self.whole.q.val() == self.at.q.val());
        self.finish.next =
            self.intact.val() | (self.complete.val() & (!self.is_lost.val() | self.lost.ready.val()));
        self.words_out.d.next = self.whole.q.val();
        self.lost_out.d.next = self.is_lost.val();
        if self.intact.val() {
            self.words_out.d.next = self.following.val();
            self.lost_out.d.next = false;
        }
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

        drive!(self, to_gather.q => word.valid; to_ahead.q => ahead_valid; word_out.q => word.data;
            number_out.q => number; whose_out.q => whose; head_out.q => head.valid;
            filled_out.q => filled_valid);
        fill!(self, head.data, whose_out.q.val().vi => vi; whose_out.q.val().region => region;
            whose_out.q.val().offset => offset; words_out.q => words; lost_out.q => lost;
            whose_out.q.val().epoch => epoch; whose_out.q.val().restart => restart);
        // The rewind stays on the bus until its head has come.
        fill!(self, head.data, rewind.val().psn => psn; rewind.val().skip => skip;
            rewind.val().resume => resume);
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
