//! Makes the memory write of one interrupt, and sends it; or withdraws it, as long as its first beat is not taken.
//!
//! ```text
//! due, candidate ──►┌──────────────────┐──► idle, served
//!          stays ──►│ InterruptMessage │──► reading, data_row   (of the vector's table rows)
//!            row ──►│                  │──► begins
//!   requester_id ──►└──────────────────┘──► tx
//! ```
//! Contract: while `idle`, a `candidate` that is `due` is taken, and is `served` from the next cycle on. Then the block reads the vector's
//! two rows of the MSI-X table, one at a time: while `reading`, `row` is the row of its data with `data_row`, and that of its address
//! otherwise. The message is a packet of two beats, or of three if the address is above 4 GiB, with two cycles between beats. Until its
//! first beat is taken, the packet is offered only after a cycle with `stays`: without `stays` the block withdraws it and is `idle` again.
//! `begins` is high in the cycle in which the first beat is taken.
//!
//! Latency: 7 cycles from `due` to the first beat.
//!
//! How: the double words move through a chain by one place a cycle. A choice between one and two places would cost a LUT for each bit.
//!
//! Example: vector 1 has address 0xFEE0_1000 and data 0x41. The first beat has the header's two double words, the second the address and
//! the data.
//!
//! Tests: with `Vectors`, `tests/interrupt/vectors.rs`.

use crate::bus::{TlpBeat, Vector};
use crate::prims::{Cast, Number};
use crate::rows::tlp::RequestWord;
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::{dw0, kind};

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// No message is made.
    Look,
    /// Is the address long?
    Length,
    /// The double words go into the chain.
    Fill,
    /// A beat is on show.
    Offer,
    /// The chain moves on to the next beat.
    Shift,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct InterruptMessage {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the message, even in its middle.
    pub reset: Signal<In, bool>,
    /// The interrupt of `candidate` may leave; `Vectors` drives this and the other inputs.
    pub due: Signal<In, bool>,
    /// The vector that is asked about in this cycle; `Vectors` goes round.
    pub candidate: Signal<In, Vector>,
    /// The interrupt of the vector in `served` may still leave.
    pub stays: Signal<In, bool>,
    /// No message is under way: a vector that is `due` is taken. `Vectors` listens to all outputs but `tx`.
    pub idle: Signal<Out, bool>,
    /// The vector whose message is made.
    pub served: Signal<Out, Vector>,
    /// The message needs a row of the table.
    pub reading: Signal<Out, bool>,
    /// The row is that of the vector's data; otherwise that of its address.
    pub data_row: Signal<Out, bool>,
    /// The row of the table that the message needs.
    pub row: Signal<In, Bits<64>>,
    /// The function's own bus, device and function number.
    pub requester_id: Signal<In, Bits<16>>,
    /// The first beat is taken in this cycle.
    pub begins: Signal<Out, bool>,
    /// The memory write, to `edge/transmit`.
    pub tx: Source<TlpBeat>,

    step: DFF<Step>,
    vector_now: DFF<Vector>,
    /// The address needs more than 32 bits.
    long: DFF<bool>,
    /// Which double word goes into the chain: header 0 and 1, address high and low, data.
    part: DFF<Bits<3>>,
    /// The chain.
    word0: DFF<Bits<32>>,
    word1: DFF<Bits<32>>,
    word2: DFF<Bits<32>>,
    word3: DFF<Bits<32>>,
    word4: DFF<Bits<32>>,
    /// Double words to go, those on show included.
    left: DFF<Bits<3>>,
    /// The first beat is taken.
    begun: DFF<bool>,
    /// The words have moved one place since a beat was taken; they move two.
    half: DFF<bool>,
    /// A beat is on show at `tx`.
    offered: DFF<bool>,
    /// A register, because the table's words are behind it.
    reads: DFF<bool>,

    taken: Signal<Local, bool>,
    upper: Signal<Local, Bits<32>>,
    word: Signal<Local, Bits<32>>,
    request: Cast<RequestWord, Bits<32>>,
    shift: Signal<Local, bool>,
    ending: Signal<Local, bool>,
    less: Signal<Local, Bits<3>>,
    following: Signal<Local, Bits<3>>,
    data_part: Number<3, 4>,
    /// A memory write of one double word.
    short_header: Number<32, { (kind::WRITE_3DW as u64) << dw0::KIND.lo | 1 << dw0::LENGTH.lo }>,
    long_header: Number<32, { (kind::WRITE_4DW as u64) << dw0::KIND.lo | 1 << dw0::LENGTH.lo }>,
}

impl Logic for InterruptMessage {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vector_now, long, part, word0, word1, word2, word3, word4);
        dff_setup!(self, clock, left, begun, half, offered, reads);
        self.idle.next = self.step.q.val() == Step::Look;
        drive!(self, vector_now.q => served; reads.q => reading);
        self.data_row.next = self.part.q.val() == self.data_part.val();
        self.taken.next = self.tx.ready.val() & self.offered.q.val();
        self.begins.next = self.taken.val() & !self.begun.q.val();

        // The packet goes through the chain, one double word a cycle.
        self.request.from.next.first_be = bits::<4>(0xF);
        self.request.from.next.last_be = bits::<4>(0);
        self.request.from.next.tag = bits::<8>(0);
        self.request.from.next.requester = self.requester_id.val();
        self.upper.next = self.row.val().get_bits::<32>(32);
        self.word.next = self.row.val().get_bits::<32>(0);
        if self.part.q.val() == bits::<3>(0) {
            self.word.next = self.short_header.val();
            if self.long.q.val() {
                self.word.next = self.long_header.val();
            }
        } else if self.part.q.val() == bits::<3>(1) {
            self.word.next = self.request.to.val();
        } else if self.part.q.val() == bits::<3>(2) {
            self.word.next = self.upper.val();
        }
        self.shift.next = (self.step.q.val() == Step::Fill) | (self.step.q.val() == Step::Shift);
        if self.shift.val() {
            self.word0.d.next = self.word1.q.val();
            self.word1.d.next = self.word2.q.val();
            self.word2.d.next = self.word3.q.val();
            self.word3.d.next = self.word4.q.val();
            self.word4.d.next = self.word.val();
        }
        self.ending.next = !self.left.q.val().get_bit(2) & !self.left.q.val().get_bits::<2>(0).all();
        self.less.next = self.left.q.val() - 2;
        self.following.next = self.part.q.val() + 1;
        match self.step.q.val() {
            Step::Look => {
                self.vector_now.d.next = self.candidate.val();
                self.part.d.next = bits::<3>(0);
                self.begun.d.next = false;
                if self.due.val() {
                    self.reads.d.next = true;
                    self.step.d.next = Step::Length;
                }
            }
            Step::Length => {
                self.long.d.next = self.upper.val().any();
                self.left.d.next = bits::<3>(4);
                if self.upper.val().any() {
                    self.left.d.next = bits::<3>(5);
                }
                self.step.d.next = Step::Fill;
            }
            Step::Fill => {
                // A short packet has no part 2; instead one more double word, which does not count, fills the chain.
                self.part.d.next = self.following.val();
                if (self.part.q.val() == bits::<3>(1)) & !self.long.q.val() {
                    self.part.d.next = bits::<3>(3);
                }
                if self.part.q.val().get_bit(2) & (self.long.q.val() | self.part.q.val().get_bit(0)) {
                    self.offered.d.next = self.stays.val();
                    self.reads.d.next = false;
                    self.step.d.next = Step::Offer;
                }
            }
            Step::Offer => {
                if self.taken.val() {
                    self.begun.d.next = true;
                    self.left.d.next = self.less.val();
                    self.offered.d.next = false;
                    self.half.d.next = false;
                    self.step.d.next = Step::Shift;
                    if self.ending.val() {
                        self.step.d.next = Step::Look;
                    }
                } else if !self.begun.q.val() {
                    self.offered.d.next = self.stays.val();
                    if !self.stays.val() {
                        self.step.d.next = Step::Look;
                    }
                }
            }
            Step::Shift => {
                self.half.d.next = true;
                if self.half.q.val() {
                    self.offered.d.next = true;
                    self.step.d.next = Step::Offer;
                }
            }
            _ => {
                self.step.d.next = Step::Look;
            }
        }
        self.tx.data.next.data =
            (bit_cast::<64, 32>(self.word1.q.val()) << 32) | bit_cast::<64, 32>(self.word0.q.val());
        self.tx.data.next.keep = bits::<2>(3);
        if self.ending.val() & self.left.q.val().get_bit(0) {
            self.tx.data.next.keep = bits::<2>(1);
        }
        self.tx.data.next.last = self.ending.val();
        self.tx.valid.next = self.offered.q.val();

        if self.reset.val() {
            self.step.d.next = Step::Look;
            self.offered.d.next = false;
            self.reads.d.next = false;
        }
    }
}
