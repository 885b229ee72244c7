//! Tells of an answer to a peer's read that cannot be sent: first the fault that breaks the VI, then the NAK.
//!
//! ```text
//!   fails, unread ──►┌───────────────┐──► faults
//!       connected ──►│ AnswerFailure │──► offers, refuses
//!  changes, taken ──►└───────────────┘──► done
//! ```
//! Contract: while `fails` is high the block asks for the fault until the VI is not `connected`, and then offers the NAK (`offers`) until
//! it is `taken`: whoever sees the NAK finds the VI in Error. In the cycle before it offers, `refuses` says that the VI has refused an
//! answer, and no VI changes its state in that cycle, because both are written into one memory. If the answer was not `unread`, the block
//! is `done` at once and tells nobody.
//!
//! Latency: the NAK is offered 1 cycle after a cycle in which its VI is not connected and no VI changes its state.
//!
//! Example: the bytes of an answer could not be read, and its VI is connected. `faults` is high until the VI is in Error. The NAK is
//! offered, and `done` comes with its `taken`.
//!
//! Tests: `tests/send/transmit/answer_failure.rs`; with the whole of transmit `answers.rs` there.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AnswerFailure {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block offers nothing.
    pub reset: Signal<In, bool>,
    /// An answer cannot be sent; transmit drives this and the other inputs.
    pub fails: Signal<In, bool>,
    /// The bytes of the answer could not be read; otherwise nobody is told.
    pub unread: Signal<In, bool>,
    /// The VI of the answer is connected, in this cycle.
    pub connected: Signal<In, bool>,
    /// A VI changes its state.
    pub changes: Signal<In, bool>,
    /// The NAK is taken, if it is offered.
    pub taken: Signal<In, bool>,
    /// The fault is offered to `vi/state`.
    pub faults: Signal<Out, bool>,
    /// The NAK is offered to reply/requests.
    pub offers: Signal<Out, bool>,
    /// The VI has refused an answer.
    pub refuses: Signal<Out, bool>,
    /// The fault and the NAK are taken, or there is nothing to tell.
    pub done: Signal<Out, bool>,
    offering: DFF<bool>,
    /// The NAK is offered from the next cycle on.
    begins: Signal<Local, bool>,
    ended: Signal<Local, bool>,
}

impl Logic for AnswerFailure {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, offering);
        self.faults.next = self.fails.val() & self.unread.val() & self.connected.val();
        self.offers.next = self.offering.q.val();
        self.begins.next = self.fails.val()
            & self.unread.val()
            & !self.connected.val()
            & !self.changes.val()
            & !self.offering.q.val();
        self.refuses.next = self.begins.val();
        self.ended.next =
            self.fails.val() & (!self.unread.val() | (self.offering.q.val() & self.taken.val()));
        self.done.next = self.ended.val();
        self.offering.d.next = self.begins.val() | (self.offering.q.val() & !self.ended.val());
        if self.reset.val() {
            self.offering.d.next = false;
        }
    }
}
