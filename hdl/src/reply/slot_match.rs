//! Tells whether a request's PSNs lie within those of the request in a slot.
//!
//! ```text
//!      psn, packets ──►┌───────────┐──► covered
//!  start, next_psn, ──►│ SlotMatch │
//!              left    └───────────┘
//! ```
//! Contract: the request's PSNs are the `packets` from `psn` on. The slot's are those from `start` on, up to the last of the `left`
//! packets from `next_psn` on. `covered` is high if all of the former are among the latter. Neither has more than 2^23 of them.
//!
//! Latency: 1 from `psn`, `packets`, `next_psn` and `left`; none from `start`. How: both ends wait in registers, because sums of three
//! are large. The owner keeps all inputs for two cycles.
//!
//! Example: a slot has PSNs 100 to 103, of which 102 and 103 are left: `start` is 100, `next_psn` 102, `left` 2. A request of 3 packets
//! from 101 on lies within, one of 4 does not.
//!
//! Tests: `tests/reply/slot_match.rs`.

use crate::arithmetic::Distance;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SlotMatch {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// PSN of the request's first packet; [`Requests`](super::Requests) drives this and the other inputs.
    pub psn: Signal<In, Bits<24>>,
    /// Packets of the request's answer.
    pub packets: Signal<In, Bits<24>>,
    /// PSN of the first packet of the answer in the slot.
    pub start: Signal<In, Bits<24>>,
    /// PSN of the slot's next packet.
    pub next_psn: Signal<In, Bits<24>>,
    /// Packets left in the slot.
    pub left: Signal<In, Bits<24>>,
    /// All of the request's PSNs are the slot's.
    pub covered: Signal<Out, bool>,
    /// PSN behind the request's last one.
    request_end: DFF<Bits<24>>,
    /// PSN behind the slot's last one.
    slot_end: DFF<Bits<24>>,
    /// Where the request begins, from the slot's first PSN on.
    first: Distance<24>,
    /// Where the request ends, from the slot's first PSN on.
    reach: Distance<24>,
    /// Where the slot ends, from the request's end on.
    room: Distance<24>,
}

impl Logic for SlotMatch {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, request_end, slot_end);
        self.request_end.d.next = self.psn.val() + self.packets.val();
        self.slot_end.d.next = self.next_psn.val() + self.left.val();
        drive!(self, psn => first.number; start => first.from, reach.from;
            request_end.q => reach.number, room.from; slot_end.q => room.number);
        self.covered.next = !self.first.behind.val() & !self.reach.behind.val() & !self.room.behind.val();
    }
}
