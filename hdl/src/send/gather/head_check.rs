//! Checks the form of a send descriptor's first 64 bytes as they come in, and keeps what it found until the descriptor's turn.
//!
//! ```text
//!       word, head ──►┌───────────┐──► found
//!  number, written ──►│ HeadCheck │
//!          at_hand ──►└───────────┘
//! ```
//! Contract: the words of a descriptor come in order, each with its `number`, and its head behind the last of them or with it. `written` is
//! the descriptor's slot until its head has come. From the second cycle behind the head on, `found` has what was found, if `at_hand` is its slot.
//!
//! Example: eight words come for slot 3, and then their head. Word 1 says that a send has one segment, word 3 says 600 bytes, and so does
//! the segment in word 5. Two cycles later `found` of slot 3 has `length` and `sum` 600, and is not `malformed`.
//!
//! Latency: 2 cycles from a head to `found`. Tests: alone `tests/send/gather/head_check.rs`; with the whole of gather the others there.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::prims::{Cast, LutRam, Number};
use crate::rows::descriptor::{AddressSegment, ControlSegment, DataSegment};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::{control, MAX_SEGMENTS};

use crate::bus::SendHead;

/// What a descriptor asks for, as its control segment's first two words say.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DescriptorRequest {
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// The message starts when all reads before it are complete.
    pub fence: bool,
    /// Segments of the descriptor, the address segment included.
    pub segments: Bits<8>,
    /// The message carries immediate data.
    pub has_immediate: bool,
}

/// What was found in a descriptor's first 64 bytes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct HeadFindings {
    /// What the descriptor asks for.
    pub request: DescriptorRequest,
    /// Bytes of the message, as the control segment says.
    pub length: Bits<32>,
    /// Bytes of the data segments in the first 64 bytes, modulo 2^33.
    pub sum: Bits<33>,
    /// A rule of form is broken, or the descriptor's region ends before its segments do.
    pub malformed: bool,
}

/// What is known only when all words have come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct LateFindings {
    /// See [`HeadFindings`].
    sum: Bits<33>,
    /// See [`HeadFindings`].
    malformed: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct HeadCheck {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A word of the descriptor whose head comes next, from fetch.
    pub word: FlowSink<Bits<64>>,
    /// The head, from fetch.
    pub head: FlowSink<SendHead>,
    /// Number of the word that comes, 0 to 7; the inbox drives this and the two below.
    pub number: Signal<In, Bits<3>>,
    /// Slot of the descriptor whose words come.
    pub written: Signal<In, Bits<3>>,
    /// Slot of the descriptor at hand.
    pub at_hand: Signal<In, Bits<3>>,
    /// What was found in the descriptor at hand, for check.
    pub found: Signal<Out, HeadFindings>,
    requests: LutRam<DescriptorRequest, 3>,
    lengths: LutRam<Bits<32>, 3>,
    verdicts: LutRam<LateFindings, 3>,
    rdma: DFF<bool>,
    /// The descriptor has a segment; likewise a second one.
    some: DFF<bool>,
    two: DFF<bool>,
    sum: DFF<Bits<33>>,
    wrong: DFF<bool>,
    /// The region ends before the segments do.
    short: DFF<bool>,
    /// The head has come in the cycle before, for this slot.
    ended: DFF<bool>,
    slot: DFF<Bits<3>>,
    data: Signal<Local, Bits<64>>,
    /// The control segment or a segment, if the word that is here is the one in question.
    word_1: Cast<Bits<256>, ControlSegment>,
    word_2: Cast<Bits<256>, ControlSegment>,
    word_3: Cast<Bits<256>, ControlSegment>,
    address: Cast<Bits<128>, AddressSegment>,
    buffer: Cast<Bits<128>, DataSegment>,
    count: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<16>>,
    operation: Signal<Local, Bits<16>>,
    sends: Signal<Local, bool>,
    /// The word breaks a rule of form.
    breaks: Signal<Local, bool>,
    /// The word has the length of a data segment.
    adds: Signal<Local, bool>,
    length: Signal<Local, Bits<33>>,
    total: Signal<Local, Bits<33>>,
    words: Signal<Local, Bits<4>>,
    op_mask: Number<16, { control::OP_MASK as u64 }>,
    op_send: Number<16, { control::OP_SENDRECV as u64 }>,
    op_write: Number<16, { control::OP_RDMAWRITE as u64 }>,
    op_read: Number<16, { control::OP_RDMAREAD as u64 }>,
    fence_flag: Number<16, { control::QFENCE as u64 }>,
    reserved: Number<16, { control::RESERVED as u64 }>,
    immediate_flag: Number<16, { control::IMMEDIATE as u64 }>,
    max_segments: Number<16, { MAX_SEGMENTS as u64 }>,
}

impl Logic for HeadCheck {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, rdma, some, two, sum, wrong, short, ended, slot);
        clock!(self, clock, requests, lengths, verdicts);
        drive!(self, word.data => data; word_1.to.val().seg_count => count; word_1.to.val().control => flags);
        self.word_1.from.next = bit_cast::<256, 64>(self.data.val()) << 64;
        self.word_2.from.next = bit_cast::<256, 64>(self.data.val()) << 128;
        self.word_3.from.next = bit_cast::<256, 64>(self.data.val()) << 192;
        self.address.from.next = bit_cast::<128, 64>(self.data.val()) << 64;
        self.buffer.from.next = bit_cast::<128, 64>(self.data.val()) << 64;
        self.operation.next = self.flags.val() & self.op_mask.val();
        self.sends.next = self.operation.val() == self.op_send.val();
        self.length.next = bit_cast::<33, 32>(self.buffer.to.val().length);
        self.total.next = self.sum.q.val() + self.length.val();

        // What goes into the memories as it comes.
        drive!(self, written => requests.write_address, lengths.write_address;
            word_3.to.val().length => lengths.write_data);
        self.requests.write_enable.next = self.word.valid.val() & (self.number.val() == bits::<3>(1));
        self.lengths.write_enable.next = self.word.valid.val() & (self.number.val() == bits::<3>(3));
        self.requests.write_data.next.operation = bit_cast::<2, 16>(self.operation.val());
        self.requests.write_data.next.fence = (self.flags.val() & self.fence_flag.val()).any();
        self.requests.write_data.next.segments = bit_cast::<8, 16>(self.count.val());
        self.requests.write_data.next.has_immediate = (self.flags.val() & self.immediate_flag.val()).any();

        // WQ-2: the form of the control segment and of the first two segments.
        self.breaks.next = false;
        if self.number.val() == bits::<3>(1) {
            self.breaks.next = (self.count.val() > self.max_segments.val())
                | (self.flags.val() & self.reserved.val()).any()
                | (!self.sends.val()
                    & (self.operation.val() != self.op_write.val())
                    & (self.operation.val() != self.op_read.val()))
                | (!self.sends.val() & !self.count.val().any());
        }
        if self.number.val() == bits::<3>(2) {
            self.breaks.next = self.word_2.to.val().reserved.any();
        }
        if self.number.val() == bits::<3>(3) {
            self.breaks.next = self.word_3.to.val().status.any();
        }
        // In an address segment the length is reserved.
        if self.number.val() == bits::<3>(5) {
            self.breaks.next = self.rdma.q.val() & self.address.to.val().reserved.any();
        }
        self.adds.next = ((self.number.val() == bits::<3>(5)) & self.some.q.val() & !self.rdma.q.val())
            | ((self.number.val() == bits::<3>(7)) & self.two.q.val());
        if self.word.valid.val() {
            self.wrong.d.next = self.wrong.q.val() | self.breaks.val();
            if self.adds.val() {
                self.sum.d.next = self.total.val();
            }
            if self.number.val() == bits::<3>(1) {
                self.rdma.d.next = !self.sends.val();
                self.some.d.next = self.count.val().any();
                self.two.d.next = self.count.val().get_bits::<15>(1).any();
                self.sum.d.next = bits::<33>(0);
                self.wrong.d.next = self.breaks.val();
            }
        }

        // The head: as many words as the segments need must lie in the region.
        drive!(self, head.data.val().words => words; head.valid => ended.d; written => slot.d);
        self.short.d.next = (self.words.val() < bits::<4>(4))
            | (self.some.q.val() & (self.words.val() < bits::<4>(6)))
            | (self.two.q.val() & (self.words.val() < bits::<4>(8)));
        drive!(self, ended.q => verdicts.write_enable; slot.q => verdicts.write_address);
        fill!(self, verdicts.write_data, sum.q => sum);
        self.verdicts.write_data.next.malformed = self.wrong.q.val() | self.short.q.val();

        drive!(self, at_hand => requests.read_address, lengths.read_address, verdicts.read_address);
        fill!(self, found, requests.read_data => request; lengths.read_data => length;
            verdicts.read_data.val().sum => sum; verdicts.read_data.val().malformed => malformed);
    }
}
