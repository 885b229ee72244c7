//! Looks at the segments in a descriptor's first 64 bytes: where an RDMA goes to, and how long the data segments are.
//!
//! ```text
//!  step, word, late ──►┌───────────────┐──► remote
//!        held, rdma ──►│ FirstSegments │──► length
//!                      └───────────────┘──► wrong
//! ```
//! Contract: of an RDMA the first segment is an address segment: `remote` has its address and handle from step SecondLength on. `length`
//! gives the length of each segment whose second word was on show in the steps FirstLength and SecondLength, a cycle later; an address
//! segment has 0 in that place, or it is wrong. `wrong` is high in each cycle in which the words on show break a rule of form, or do not
//! lie in the descriptor's region; check remembers that.
//!
//! Latency: 1 cycle from a word on show to `remote` and `length`.
//!
//! Example: an RDMA write has words 4 and 5 {0x1000; handle 7} and 6 and 7 {0x2000; handle 5, 600 bytes}. In step FirstLength word 5 is
//! on show and word 4 in `late`; from the next on `remote` has address 0x1000 and handle 7. `length` gives 0 in step SecondLength and 600
//! in the step behind.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::check_steps::CheckStep;
use crate::prims::Cast;
use crate::rows::descriptor::{AddressSegment, DataSegment};

/// Where an RDMA goes to.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RemoteBuffer {
    /// Virtual address at the peer.
    pub address: Bits<64>,
    /// Memory handle at the peer.
    pub rkey: Bits<32>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FirstSegments {
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
    /// The first segment is an address segment.
    pub rdma: Signal<In, bool>,
    /// Where an RDMA goes to.
    pub remote: Signal<Out, RemoteBuffer>,
    /// Bytes of a segment, for the length check.
    pub length: FlowSource<Bits<32>>,
    /// The word on show may not be in a segment, or the segment is cut off.
    pub wrong: Signal<Out, bool>,
    address: DFF<Bits<64>>,
    rkey: DFF<Bits<32>>,
    /// A segment's second word is in `late`.
    counts: DFF<bool>,
    /// It is an address segment's.
    reserves: DFF<bool>,
    shown: Cast<Bits<128>, AddressSegment>,
    late_address: Cast<Bits<128>, AddressSegment>,
    late_data: Cast<Bits<128>, DataSegment>,
}

impl Logic for FirstSegments {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, address, rkey, counts, reserves);
        // A segment's second word.
        self.shown.from.next = bit_cast::<128, 64>(self.word.val()) << 64;
        self.late_address.from.next = bit_cast::<128, 64>(self.late.val()) << 64;
        self.late_data.from.next = bit_cast::<128, 64>(self.late.val()) << 64;

        self.counts.d.next =
            (self.step.val() == CheckStep::FirstLength) | (self.step.val() == CheckStep::SecondLength);
        drive!(self, counts.q => length.valid; late_data.to.val().length => length.data);
        // WQ-2: in an address segment the length is reserved.
        self.reserves.d.next = (self.step.val() == CheckStep::FirstLength) & self.rdma.val();
        self.wrong.next = self.reserves.q.val() & self.late_address.to.val().reserved.any();
        match self.step.val() {
            CheckStep::FirstLength => {
                self.rkey.d.next = self.shown.to.val().handle;
                if self.rdma.val() {
                    self.address.d.next = self.late.val();
                }
                if self.held.val() < bits::<4>(6) {
                    self.wrong.next = true;
                }
            }
            CheckStep::SecondLength => {
                if self.held.val() < bits::<4>(8) {
                    self.wrong.next = true;
                }
            }
            _ => {}
        }
        self.remote.next.address = self.address.q.val();
        self.remote.next.rkey = self.rkey.q.val();
    }
}
