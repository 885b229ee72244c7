//! Holds the completion of a send until the writer takes it.
//!
//! ```text
//!          vi, message ──►┌──────────┐──► completion
//! length, status, show ──►│ Emission │──► waits
//!                         └──────────┘
//! ```
//! Contract: `show` comes only while nothing `waits`, in the cycle after `vi`, `message`, `length` and `status` began to stand. The
//! completion is on show until it is taken. A message whose descriptor could not be read is completed too, though nothing is written.
//!
//! Latency: 1 cycle. The completion waits in a register, because the writer decides late in its cycle whether it takes one.
//!
//! Example: `show` comes in cycle 0. In cycle 1 `completion` is valid; it is taken at once, and nothing `waits` in cycle 2.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

use super::window::{kind, SentMessage};
use crate::bus::{Completion, Vi};
use crate::prims::Number;
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::REGION_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Emission {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what waits.
    pub reset: Signal<In, bool>,
    /// The VI at hand; [`Sends`](super::Sends) drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// The VI's oldest message, which is complete.
    pub message: Signal<In, SentMessage>,
    /// Length to write, in bytes.
    pub length: Signal<In, Bits<32>>,
    /// Low 20 bits of the status to write.
    pub status: Signal<In, Bits<20>>,
    /// Pulse: the message is completed.
    pub show: Signal<In, bool>,
    /// A completion is not taken yet.
    pub waits: Signal<Out, bool>,
    /// A send descriptor to complete.
    pub completion: Source<Completion>,
    /// `held` is on show.
    shown: DFF<bool>,
    held: DFF<Completion>,
    lost_kind: Number<3, { kind::LOST }>,
}

impl Logic for Emission {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown, held);
        drive!(self, shown.q => waits, completion.valid; held.q => completion.data);
        if self.completion.ready.val() {
            self.shown.d.next = false;
        }
        if self.show.val() {
            self.shown.d.next = true;
        }
        if !self.shown.q.val() {
            self.held.d.next.vi = self.vi.val();
            self.held.d.next.receive = false;
            self.held.d.next.write = self.message.val().kind != self.lost_kind.val();
            self.held.d.next.region = bit_cast::<16, REGION_LOG2>(self.message.val().region);
            self.held.d.next.offset = self.message.val().offset;
            self.held.d.next.length = self.length.val();
            self.held.d.next.status = self.status.val();
            // The fields by which a completion acknowledges a message are for receives.
            self.held.d.next.has_immediate = false;
            self.held.d.next.immediate = bits::<32>(0);
            self.held.d.next.acknowledge = false;
            self.held.d.next.psn = bits::<24>(0);
            self.held.d.next.msn = bits::<24>(0);
            self.held.d.next.syndrome = bits::<8>(0);
            self.held.d.next.kind = bits::<2>(0);
            self.held.d.next.ends = true;
            self.held.d.next.reception = false;
        }
        if self.reset.val() {
            self.shown.d.next = false;
        }
    }
}
