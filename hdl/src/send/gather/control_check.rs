//! Takes in a descriptor's control segment: what its message is, and whether the segment has the form that it must have.
//!
//! ```text
//!  step, word, late ──►┌──────────────┐──► fields
//!        held, lost ──►│ ControlCheck │──► reads
//!                      └──────────────┘──► wrong
//! ```
//! Contract: the block takes the fields out of words 1 to 3 as the steps Immediate and Length show them, and keeps them until step Idle.
//! Of a descriptor that is lost it takes no operation. `wrong` is high in each cycle in which the words on show break a rule of form;
//! check remembers that.
//!
//! Latency: 1 cycle from a word on show to its fields. What must be true of a word is looked at when it is in `late`, because memories take
//! most of a cycle.
//!
//! Example: word 1 says one segment and no flags, word 3 says 8 bytes. From step FirstLength on `fields` has `segments` 1 and `length` 8,
//! and `wrong` has never been high. If the status in word 3 is not 0, `wrong` is high in the step behind Length.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::{control, MAX_SEGMENTS};

use super::check_steps::CheckStep;
use crate::prims::{Cast, Number};
use crate::rows::descriptor::ControlSegment;

/// The fields of a control segment.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ControlFields {
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// The first segment is an address segment.
    pub rdma: bool,
    /// The message starts when all reads before it are complete.
    pub fence: bool,
    /// Segments of the descriptor, the address segment included.
    pub segments: Bits<8>,
    /// The message carries immediate data.
    pub has_immediate: bool,
    /// The immediate data.
    pub immediate: Bits<32>,
    /// Bytes of the message.
    pub length: Bits<32>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ControlCheck {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of check, which drives this and the other inputs.
    pub step: Signal<In, CheckStep>,
    /// The word on show, from the word reader.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// Words of the descriptor's first 64 bytes that its region holds.
    pub held: Signal<In, Bits<4>>,
    /// The descriptor could not be read.
    pub lost: Signal<In, bool>,
    /// The fields of the control segment, for check.
    pub fields: Signal<Out, ControlFields>,
    /// The message is an RDMA read.
    pub reads: Signal<Out, bool>,
    /// The words on show may not be in a control segment, or the segment is cut off.
    pub wrong: Signal<Out, bool>,
    kept: DFF<ControlFields>,
    /// Word 3 is in `late`.
    ends: DFF<bool>,
    /// The segment, as far as it is known in step Immediate.
    first: Cast<Bits<256>, ControlSegment>,
    /// The segment, as far as it is known in step Length.
    middle: Cast<Bits<256>, ControlSegment>,
    /// The segment, as far as it is known in the step behind.
    last: Cast<Bits<256>, ControlSegment>,
    count: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<16>>,
    operation: Signal<Local, Bits<16>>,
    op_mask: Number<16, { control::OP_MASK as u64 }>,
    op_send: Number<16, { control::OP_SENDRECV as u64 }>,
    op_write: Number<16, { control::OP_RDMAWRITE as u64 }>,
    op_read: Number<16, { control::OP_RDMAREAD as u64 }>,
    read_code: Number<2, { control::OP_RDMAREAD as u64 }>,
    fence_flag: Number<16, { control::QFENCE as u64 }>,
    reserved: Number<16, { control::RESERVED as u64 }>,
    immediate_flag: Number<16, { control::IMMEDIATE as u64 }>,
    max_segments: Number<16, { MAX_SEGMENTS as u64 }>,
}

impl Logic for ControlCheck {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, kept, ends);
        self.first.from.next =
            (bit_cast::<256, 64>(self.late.val()) << 64) | (bit_cast::<256, 64>(self.word.val()) << 128);
        self.middle.from.next =
            (bit_cast::<256, 64>(self.late.val()) << 128) | (bit_cast::<256, 64>(self.word.val()) << 192);
        self.last.from.next = bit_cast::<256, 64>(self.late.val()) << 192;
        drive!(self, first.to.val().seg_count => count; first.to.val().control => flags; kept.q => fields);
        self.operation.next = self.flags.val() & self.op_mask.val();
        self.reads.next = self.kept.q.val().operation == self.read_code.val();

        self.ends.d.next = self.step.val() == CheckStep::Length;
        self.wrong.next = self.ends.q.val() & self.last.to.val().status.any();
        match self.step.val() {
            CheckStep::Idle => {
                self.kept.d.next.operation = bits::<2>(0);
                self.kept.d.next.rdma = false;
            }
            CheckStep::Immediate => {
                self.kept.d.next.immediate = self.first.to.val().immediate;
                self.kept.d.next.segments = bit_cast::<8, 16>(self.count.val());
                self.kept.d.next.has_immediate = (self.flags.val() & self.immediate_flag.val()).any();
                self.kept.d.next.fence = (self.flags.val() & self.fence_flag.val()).any();
                if !self.lost.val() {
                    self.kept.d.next.operation = bit_cast::<2, 16>(self.operation.val());
                    self.kept.d.next.rdma = self.operation.val() != self.op_send.val();
                }
                // WQ-2: the form of the control segment.
                if (self.count.val() > self.max_segments.val())
                    | (self.flags.val() & self.reserved.val()).any()
                    | ((self.operation.val() != self.op_send.val())
                        & (self.operation.val() != self.op_write.val())
                        & (self.operation.val() != self.op_read.val()))
                    | ((self.operation.val() != self.op_send.val()) & !self.count.val().any())
                    | (self.held.val() < bits::<4>(4))
                {
                    self.wrong.next = true;
                }
            }
            CheckStep::Length => {
                self.kept.d.next.length = self.middle.to.val().length;
                if self.middle.to.val().reserved.any() {
                    self.wrong.next = true;
                }
            }
            _ => {}
        }
    }
}
