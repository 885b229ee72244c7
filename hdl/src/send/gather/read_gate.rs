//! Says what the RDMA reads of a VI mean for its next message: whether that may be a read, and whether it has to wait for reads.
//!
//! ```text
//!  step, now, head ──►┌──────────┐──► may_read
//!          request ──►│ ReadGate │──► waits
//!            reads ──►│          │──► complete
//!          allowed ──►└──────────┘
//! ```
//! Contract: a message may be a read if the row allows it (`allowed`), if the VI may have reads outstanding, and if it carries no
//! immediate data. It waits if it has a fence and any read is outstanding, or if it is a read and as many are outstanding as may be. If
//! the head says that the VI's sends come again, none is outstanding.
//! `may_read` and `complete`, the number of reads that were complete, are of step Limits; `waits` is of the cycle before.
//!
//! Latency: 1 cycle.
//!
//! Example: of 5 reads sent 4 are complete, and 4 may be outstanding. A read does not wait; a send with a fence does.
//!
//! Tests: with the whole of gather, `tests/send/gather/reads.rs`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::check_steps::CheckStep;
use super::head_check::DescriptorRequest;
use super::owner::OwnerNow;
use crate::bus::SendHead;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadGate {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of check, which drives this and the other inputs.
    pub step: Signal<In, CheckStep>,
    /// The RDMA reads of the VI, from the owner.
    pub now: Signal<In, OwnerNow>,
    /// The head at hand.
    pub head: Signal<In, SendHead>,
    /// What the descriptor asks for.
    pub request: Signal<In, DescriptorRequest>,
    /// The message is an RDMA read.
    pub reads: Signal<In, bool>,
    /// In step Limits: the VI's row allows RDMA reads.
    pub allowed: Signal<In, bool>,
    /// The message may be a read.
    pub may_read: Signal<Out, bool>,
    /// The message has to wait for reads.
    pub waits: Signal<Out, bool>,
    /// Reads of the VI that were complete, modulo 8.
    pub complete: Signal<Out, Bits<3>>,
    can_read: DFF<bool>,
    must_wait: DFF<bool>,
    were_complete: DFF<Bits<3>>,
    outstanding: Signal<Local, Bits<3>>,
}

impl Logic for ReadGate {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, can_read, must_wait, were_complete);
        self.outstanding.next = self.now.val().sent - self.now.val().complete;
        if self.head.val().restart & !self.head.val().resume {
            self.outstanding.next = bits::<3>(0);
        }
        // WQ-5: a fence waits for every read before it. REQ-9: at most READ_DEPTH reads are outstanding.
        self.must_wait.d.next = (self.request.val().fence & self.outstanding.val().any())
            | (self.reads.val() & (self.outstanding.val() >= self.now.val().depth));
        if self.step.val() == CheckStep::Limits {
            self.can_read.d.next =
                self.allowed.val() & self.now.val().depth.any() & !self.request.val().has_immediate;
            self.were_complete.d.next = self.now.val().complete;
        }
        drive!(self, can_read.q => may_read; must_wait.q => waits; were_complete.q => complete);
    }
}
