//! Compares a message's length with the sum of its segments, and with the greatest length that its VI may send.
//!
//! ```text
//!    head_sum ──►┌─────────────┐──► faults
//! tail_length ──►│ LengthCheck │
//! length, limit ►└─────────────┘
//! ```
//! Contract: `head_sum` begins with the bytes of the first two segments. `tail_length` adds the length of another one; it does not come in
//! the same cycle. The first and last of the faults compare the values of the cycle before: the sum with `length`, and `length` with the
//! length that a frame may have. `too_long` is of the cycle in which `limit` came last.
//!
//! Latency: 1 cycle from the sum and the limit to the faults, 2 from `head_sum` and `tail_length`.
//!
//! Example: `length` says 600. `head_sum` is 500, and `tail_length` adds 100: `unequal` is high until that is added.
//!
//! Tests: `tests/send/gather/length_check.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::prims::Number;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// The faults that a message's length may have.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct LengthFaults {
    /// The length is not the sum of the segments.
    pub unequal: bool,
    /// The message is longer than its VI's may be.
    pub too_long: bool,
    /// No raw frame has this length.
    pub no_frame: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct LengthCheck {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The next message begins: bytes of the segments in its first 64 bytes, modulo 2^33; check drives this.
    pub head_sum: FlowSink<Bits<33>>,
    /// Length in bytes of a segment of the tail, from the tail.
    pub tail_length: FlowSink<Bits<32>>,
    /// Bytes of the message, as its control segment says; check drives it.
    pub length: Signal<In, Bits<32>>,
    /// Bytes that a message of its VI may have, in the cycle in which the GATHER row is there; from check.
    pub limit: FlowSink<Bits<32>>,
    /// The faults of the length, for the message judge.
    pub faults: Signal<Out, LengthFaults>,
    /// Sum of the segments' lengths, in bytes.
    sum: DFF<Bits<32>>,
    /// The sum has more than 32 bits.
    over: DFF<bool>,
    differs: DFF<bool>,
    beyond: DFF<bool>,
    frameless: DFF<bool>,
    begun: Signal<Local, Bits<33>>,
    total: Signal<Local, Bits<33>>,
    length_now: Signal<Local, Bits<32>>,
    length_low: Signal<Local, Bits<13>>,
    least_frame: Number<13, 14>,
    largest_frame: Number<13, 4200>,
}

impl Logic for LengthCheck {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, sum, over, differs, beyond, frameless);
        self.total.next =
            bit_cast::<33, 32>(self.sum.q.val()) + bit_cast::<33, 32>(self.tail_length.data.val());
        if self.tail_length.valid.val() {
            self.sum.d.next = self.total.val().get_bits::<32>(0);
            self.over.d.next = self.over.q.val() | self.total.val().get_bit(32);
        }
        self.begun.next = self.head_sum.data.val();
        if self.head_sum.valid.val() {
            self.sum.d.next = self.begun.val().get_bits::<32>(0);
            self.over.d.next = self.begun.val().get_bit(32);
        }
        self.differs.d.next = (self.sum.q.val() != self.length.val()) | self.over.q.val();
        if self.limit.valid.val() {
            self.beyond.d.next = self.length.val() > self.limit.data.val();
        }
        // RAW-4: a raw frame has 14 to 4200 bytes.
        // 13 bits are compared, so the carry chain is shorter than one of all 32 bits of the length.
        self.length_now.next = self.length.val();
        self.length_low.next = self.length_now.val().get_bits::<13>(0);
        self.frameless.d.next = self.length_now.val().get_bits::<19>(13).any()
            | (self.length_low.val() < self.least_frame.val())
            | (self.length_low.val() > self.largest_frame.val());
        self.faults.next.unequal = self.differs.q.val();
        self.faults.next.too_long = self.beyond.q.val();
        self.faults.next.no_frame = self.frameless.q.val();
    }
}
