//! Keeps the words of a descriptor that become its packets' extension headers: immediate data, and where an RDMA goes.
//!
//! ```text
//!  step ──►┌────────────┐──► immediate
//!  late ──►│ Extensions │──► remote
//!          └────────────┘
//! ```
//! Contract: word 2 is in `late` in step Immediate, word 4 in step Remote, and word 5 in step Key. What they say is kept from the next cycle on;
//! of a descriptor that has no such step, the outputs mean nothing.
//!
//! Latency: 1 cycle.
//!
//! Example: an RDMA write has words 4 and 5 {0x1000; handle 7}. Behind step Key `remote` has address 0x1000 and handle 7.
//!
//! Tests: with `Check`, `tests/send/gather/latency.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::check_steps::CheckStep;
use crate::prims::Cast;
use crate::rows::descriptor::{AddressSegment, ControlSegment};

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
pub struct Extensions {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of check, which drives this and `late`.
    pub step: Signal<In, CheckStep>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// Immediate data as in the descriptor.
    pub immediate: Signal<Out, Bits<32>>,
    /// Where an RDMA goes to.
    pub remote: Signal<Out, RemoteBuffer>,
    data: DFF<Bits<32>>,
    address: DFF<Bits<64>>,
    rkey: DFF<Bits<32>>,
    control: Cast<Bits<256>, ControlSegment>,
    segment: Cast<Bits<128>, AddressSegment>,
}

impl Logic for Extensions {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, data, address, rkey);
        self.control.from.next = bit_cast::<256, 64>(self.late.val()) << 128;
        self.segment.from.next = bit_cast::<128, 64>(self.late.val()) << 64;
        if self.step.val() == CheckStep::Immediate {
            self.data.d.next = self.control.to.val().immediate;
        }
        if self.step.val() == CheckStep::Remote {
            self.address.d.next = self.late.val();
        }
        if self.step.val() == CheckStep::Key {
            self.rkey.d.next = self.segment.to.val().handle;
        }
        drive!(self, data.q => immediate);
        fill!(self, remote, address.q => address; rkey.q => rkey);
    }
}
