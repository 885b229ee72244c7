//! Stands where the PCIe endpoint will be: two pins in place of the transaction layer, so that the NIC can be placed and timed without one.
//!
//! ```text
//!  probe_in ──►┌──────────┐──► to_core 149
//! probe_out ◄──│ Boundary │◄── from_core 72
//!              └──────────┘
//! ```
//! Contract: **this is no endpoint.** `to_core` is a shift register of `probe_in`, and `probe_out` the end of a signature of `from_core`.
//! So no signal of the NIC's edge is constant, none is unread, and every one ends in a flip-flop at either side, as it would in an
//! endpoint. What only a simulator reads (`idle` and the deadlines) is left out. A board with this inside shows fit and timing; it does not
//! answer on PCIe.
//!
//! Latency: one cycle for each bit.
//!
//! Example: after 149 cycles all inputs of the core are bits of `probe_in`.
//!
//! Tests: none: it holds a place.

use super::endpoint_edge::{GIVEN, TAKEN};
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Boundary {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The bit that is shifted in, from a pin.
    pub probe_in: Signal<In, bool>,
    /// The end of the signature, to a pin.
    pub probe_out: Signal<Out, bool>,
    /// The inputs of the core's PCIe edge.
    pub to_core: Signal<Out, Bits<GIVEN>>,
    /// The outputs of the core's PCIe edge.
    pub from_core: Signal<In, Bits<TAKEN>>,
    /// `probe_in` in a flip-flop.
    sample: DFF<bool>,
    /// The shift register.
    chain: DFF<Bits<GIVEN>>,
    /// The core's outputs in flip-flops.
    taken: DFF<Bits<TAKEN>>,
    /// The signature of the core's outputs so far.
    signature: DFF<Bits<TAKEN>>,
    one: Number<GIVEN, 1>,
}

impl Logic for Boundary {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, sample, chain, taken, signature);
        self.sample.d.next = self.probe_in.val();
        self.chain.d.next = self.chain.q.val() << 1;
        if self.sample.q.val() {
            self.chain.d.next = (self.chain.q.val() << 1) | self.one.val();
        }
        self.to_core.next = self.chain.q.val();
        self.taken.d.next = self.from_core.val();
        self.signature.d.next = (self.signature.q.val() << 1) ^ self.taken.q.val();
        self.probe_out.next = self.signature.q.val().get_bit(71);
    }
}
