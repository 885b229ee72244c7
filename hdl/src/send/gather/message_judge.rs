//! Judges a message: whether it is sent, waits for a read, or ends, and with which error.
//!
//! ```text
//!   connected, unread ──►┌──────────────┐──► verdict
//!  malformed, request ──►│              │
//!  raw, reads, lengths ─►│ MessageJudge │
//!     may_read, waits ──►└──────────────┘
//! ```
//! Contract: the block has no state. The first line of the table that fits counts:
//!
//! | what is true | rule | verdict |
//! |---|---|---|
//! | the VI is not connected | WQ-4 | ends: DESC_FLUSHED_ERROR |
//! | the segments behind the first 64 bytes could not be read | WQ-8 | ends: TRANSPORT_ERROR |
//! | the descriptor is malformed; a read that may not be one; service RAW, and RDMA or immediate data | WQ-2, RAW-4 | ends: FORMAT_ERROR |
//! | the length is not the sum of the segments, or more than MaxTransferSize; service RAW, and no frame has it | WQ-2, RAW-4 | ends: LENGTH_ERROR |
//! | reads have to be complete first | WQ-5, REQ-9 | parks |
//! | anything else | | it is sent |
//!
//! Latency: none.
//!
//! Example: a send with a fence says 600 bytes and its segments have 500. It does not wait for the reads before it: it ends with
//! LENGTH_ERROR.
//!
//! Tests: `tests/send/gather/message_judge.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::status;

use super::head_check::DescriptorRequest;
use super::length_check::LengthFaults;
use crate::prims::Number;

/// Whether a message is sent, parks, or ends.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MessageVerdict {
    /// Nothing of it is sent.
    pub ends: bool,
    /// The message may not begin before a read is complete.
    pub parks: bool,
    /// With `ends`: error bits 8:1 of the status; none, if the descriptor is lost.
    pub errors: Bits<9>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct MessageJudge {
    /// The VI is connected; check drives this and the other inputs.
    pub connected: Signal<In, bool>,
    /// The segments behind the first 64 bytes could not be read.
    pub unread: Signal<In, bool>,
    /// Something is wrong with the descriptor's form.
    pub malformed: Signal<In, bool>,
    /// What the descriptor asks for.
    pub request: Signal<In, DescriptorRequest>,
    /// The message is an RDMA read.
    pub reads: Signal<In, bool>,
    /// The message may be a read.
    pub may_read: Signal<In, bool>,
    /// The VI's service is RAW.
    pub raw: Signal<In, bool>,
    /// The faults of the message's length.
    pub lengths: Signal<In, LengthFaults>,
    /// Reads have to be complete first.
    pub waits: Signal<In, bool>,
    /// Whether the message is sent, parks, or ends, and with which error.
    pub verdict: Signal<Out, MessageVerdict>,
    no_error: Number<9, 0>,
    format_error: Number<9, { status::FORMAT_ERROR as u64 }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for MessageJudge {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.verdict.next.ends = false;
        self.verdict.next.errors = self.no_error.val();
        // WQ-5: a message that is wrong in itself waits for no read: the lines below overrule this one.
        self.verdict.next.parks = self.waits.val();
        // WQ-2, RAW-4: a wrong length is a LENGTH_ERROR.
        if self.lengths.val().unequal
            | self.lengths.val().too_long
            | (self.raw.val() & self.lengths.val().no_frame)
        {
            fill!(self, verdict, false => parks; true => ends; length_error => errors);
        }
        // WQ-2, RAW-4: a wrong form is a FORMAT_ERROR, which goes before a LENGTH_ERROR.
        if self.malformed.val()
            | (self.reads.val() & !self.may_read.val())
            | (self.raw.val() & (self.request.val().operation.any() | self.request.val().has_immediate))
        {
            fill!(self, verdict, false => parks; true => ends; format_error => errors);
        }
        // WQ-8: the segments behind the first 64 bytes could not be read.
        if self.unread.val() {
            fill!(self, verdict, false => parks; true => ends; transport => errors);
        }
        // WQ-4: nothing is sent of a VI that is not connected.
        if !self.connected.val() {
            fill!(self, verdict, false => parks; true => ends; flushed => errors);
        }
    }
}
