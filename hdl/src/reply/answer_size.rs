//! Counts the packets that the answer to a request has, and those that are left of the answer in a slot.
//!
//! ```text
//!    step, mtu ──►┌─────────────────┐──► counted
//!        bytes ──►│   AnswerSize    │──► packets
//!     progress ──►│ (PacketDivider) │──► left
//!                 └─────────────────┘
//! ```
//! Contract: `packets` is that of the request from the end of Count on, until the next request's Count. `left` is that of the slot in
//! Measure, when `counted` is high there. An answer has one packet at least (WIRE-4).
//!
//! Latency: `counted` is high 1 + `mtu` cycles behind Wait, and 2 + `mtu` behind Fetch.
//!
//! Example: a request for 2049 bytes with a path MTU of 1024 bytes: in Count, 3 cycles behind Wait, `counted` is high, and then `packets`
//! is 3.
//!
//! Tests: with the whole, `tests/reply/requests/`.

use super::packet_divider::PacketDivider;
use super::slots::AnswerProgress;
use super::steps::ReplyStep;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AnswerSize {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of [`Requests`](super::Requests), which drives this and the other inputs.
    pub step: Signal<In, ReplyStep>,
    /// Path MTU of the VI at hand: 256 << `mtu` bytes.
    pub mtu: Signal<In, Bits<3>>,
    /// Bytes that the request asks for.
    pub bytes: Signal<In, Bits<32>>,
    /// How far the answer in the slot at hand is.
    pub progress: Signal<In, AnswerProgress>,
    /// In Count and Measure: the packets are counted.
    pub counted: Signal<Out, bool>,
    /// Packets of the request's answer.
    pub packets: Signal<Out, Bits<24>>,
    /// Packets left of the answer in the slot.
    pub left: Signal<Out, Bits<24>>,
    divider: PacketDivider,
    of_request: DFF<Bits<24>>,
    /// The progress has just come from memory.
    fresh: DFF<bool>,
    rest: Signal<Local, Bits<32>>,
}

impl Logic for AnswerSize {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, of_request, fresh);
        clock!(self, clock, divider);
        self.fresh.d.next = self.step.val() == ReplyStep::Fetch;
        drive!(self, progress.val().left => rest; mtu => divider.mtu; divider.packets => left;
            of_request.q => packets);
        self.divider.load.next = (self.step.val() == ReplyStep::Wait) | self.fresh.q.val();
        self.divider.bytes.next = self.bytes.val();
        self.divider.some.next = false;
        if self.fresh.q.val() {
            self.divider.bytes.next = self.rest.val();
            // An answer of no bytes has one packet. While that is still to come it is left, even of an answer that was forgotten.
            self.divider.some.next = self.progress.val().first & !self.rest.val().any();
        }
        self.counted.next = self.divider.done.val() & !self.fresh.q.val();
        if self.step.val() == ReplyStep::Count {
            self.of_request.d.next = self.divider.packets.val();
            // WIRE-4: a read of no bytes has one PSN.
            if !self.divider.packets.val().any() {
                self.of_request.d.next = bits::<24>(1);
            }
        }
    }
}
