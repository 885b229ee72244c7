//! The tail of a descriptor: its segments behind the first 64 bytes.
//!
//! ```text
//!         beat ──►┌──────┐──► length
//!        start ──►│ Tail │──► ended
//!        index ──►└──────┘──► word
//! ```
//! Contract: `start` is high while check asks for a tail. The block keeps the words that come behind that, from number 8 on, and tells the
//! length of each segment in `length`. `ended` comes behind the last beat, and behind the last `length` or with it.
//!
//! Latency: 1 cycle from a beat to `length` and `ended`; 1 cycle from `index` to `word`.
//!
//! Example: a descriptor has three segments. Two words come: the first gives no `length`, the second one gives that of the third segment,
//! and `ended` says `words` 10 in the same cycle.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::mark::AnswerMark;
use crate::bus::{client, ReadBeat};
use crate::prims::{Cast, Number, Ram};

/// How a tail has ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TailEnd {
    /// Not all of it could be read: it was refused, or the read failed.
    pub bad: bool,
    /// Some of it could not be read, though the access was granted.
    pub failed: bool,
    /// The number behind that of the last word that came.
    pub words: Bits<10>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Tail {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the beat before.
    pub reset: Signal<In, bool>,
    /// Up to eight bytes that a read of any client brought, from dma/read; the block picks those of tails.
    pub beat: FlowSink<ReadBeat>,
    /// Check asks for the tail of a descriptor, and drives this high until the read is taken.
    pub start: Signal<In, bool>,
    /// Word of the descriptor to read, from 8 on; the word reader drives it.
    pub index: Signal<In, Bits<9>>,
    /// The word at the `index` of the cycle before.
    pub word: Signal<Out, Bits<64>>,
    /// Length in bytes of a segment of the tail that has come in, for check.
    pub length: FlowSource<Bits<32>>,
    /// The whole tail has come in; check hears it.
    pub ended: FlowSource<TailEnd>,
    low: Ram<Bits<32>, 9>,
    high: Ram<Bits<32>, 9>,
    mark: Cast<Bits<8>, AnswerMark>,
    /// Number of the next word.
    row: DFF<Bits<10>>,
    over: DFF<bool>,
    fault: DFF<bool>,
    lost: DFF<bool>,
    length_comes: DFF<bool>,
    length_came: DFF<Bits<32>>,
    ours: Signal<Local, bool>,
    upper: Signal<Local, bool>,
    data: Signal<Local, Bits<64>>,
    start_lane: Signal<Local, Bits<3>>,
    end_lane: Signal<Local, Bits<4>>,
    client: Number<2, { client::GATHER }>,
}

impl Logic for Tail {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, row, over, fault, lost, length_comes, length_came);
        clock!(self, clock, low, high);
        drive!(self, beat.data.val().user => mark.from; beat.data.val().data => data;
            beat.data.val().start => start_lane);
        self.ours.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.client.val())
            & self.mark.to.val().tail;
        self.end_lane.next = bit_cast::<4, 3>(self.start_lane.val()) + self.beat.data.val().count;
        // A beat may hold half a word, so each half is written by itself.
        self.upper.next = self.ours.val() & self.end_lane.val().get_bit(3);
        self.low.write_enable.next = self.ours.val() & !self.start_lane.val().any();
        self.low.write_address.next = bit_cast::<9, 10>(self.row.q.val());
        self.low.write_data.next = self.data.val().get_bits::<32>(0);
        drive!(self, upper => high.write_enable; index => low.read_address, high.read_address);
        self.high.write_address.next = bit_cast::<9, 10>(self.row.q.val());
        self.high.write_data.next = self.data.val().get_bits::<32>(32);
        self.word.next = (bit_cast::<64, 32>(self.high.read_data.val()) << 32)
            | bit_cast::<64, 32>(self.low.read_data.val());

        // A segment's length is the upper half of its second word.
        self.length_comes.d.next = self.upper.val() & self.row.q.val().get_bit(0);
        self.length_came.d.next = self.data.val().get_bits::<32>(32);
        self.over.d.next = self.ours.val() & self.beat.data.val().last;
        if self.upper.val() {
            self.row.d.next = self.row.q.val() + 1;
        }
        if self.ours.val() & (self.beat.data.val().refused | self.beat.data.val().failed) {
            self.fault.d.next = true;
            self.lost.d.next = self.lost.q.val() | self.beat.data.val().failed;
        }
        if self.start.val() {
            self.row.d.next = bits::<10>(8);
            self.fault.d.next = false;
            self.lost.d.next = false;
        }
        drive!(self, length_comes.q => length.valid; length_came.q => length.data; over.q => ended.valid);
        fill!(self, ended.data, fault.q => bad; lost.q => failed; row.q => words);
        if self.reset.val() {
            self.over.d.next = false;
            self.length_comes.d.next = false;
        }
    }
}
