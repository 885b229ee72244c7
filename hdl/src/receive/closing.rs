//! What is left of an order when its VI's context is saved: completion, fault, and the receive queue's next turn.
//!
//! ```text
//!  close_* ──►┌─────────┐──► completion
//!             │ Closing │──► fault
//!             └─────────┘──► again_receive
//! ```
//! Contract: one order at a time, in the order in which they come. The fault goes out when the completion is taken; the
//! queue is called again any time.
//!
//! Latency: 1 cycle. Tests: `tests/receive/path/`.

use crate::bus::{Completion, Fault, Vi};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Closing {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is left.
    pub reset: Signal<In, bool>,
    /// An order ends.
    pub close_valid: Signal<In, bool>,
    /// It is taken.
    pub close_ready: Signal<Out, bool>,
    /// With a completion.
    pub close_completes: Signal<In, bool>,
    /// The completion; its VI in any case.
    pub close_completion: Signal<In, Completion>,
    /// With a fault.
    pub close_faulty: Signal<In, bool>,
    /// Its code.
    pub close_code: Signal<In, Bits<8>>,
    /// It breaks the VI.
    pub close_breaks: Signal<In, bool>,
    /// Nothing is left.
    pub idle: Signal<Out, bool>,
    /// A completion, an acknowledgement, or both.
    pub completion_valid: Signal<Out, bool>,
    /// It is taken.
    pub completion_ready: Signal<In, bool>,
    /// The completion.
    pub completion: Signal<Out, Completion>,
    /// Something went wrong.
    pub fault_valid: Signal<Out, bool>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// What.
    pub fault: Signal<Out, Fault>,
    /// There is room for another descriptor of a receive queue.
    pub again_receive_valid: Signal<Out, bool>,
    /// It is taken.
    pub again_receive_ready: Signal<In, bool>,
    /// Whose.
    pub again_receive_vi: Signal<Out, Vi>,
    completes: DFF<bool>,
    kept: DFF<Completion>,
    faulty: DFF<bool>,
    code: DFF<Bits<8>>,
    breaks: DFF<bool>,
    calls: DFF<bool>,
    empty: Signal<Local, bool>,
}

impl Logic for Closing {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, completes, kept, faulty, code, breaks, calls);
        self.completion_valid.next = self.completes.q.val();
        self.completion.next = self.kept.q.val();
        self.fault_valid.next = self.faulty.q.val() & !self.completes.q.val();
        self.fault.next.vi = self.kept.q.val().vi;
        self.fault.next.code = self.code.q.val();
        self.fault.next.receive = true;
        self.fault.next.breaks = self.breaks.q.val();
        self.again_receive_valid.next = self.calls.q.val();
        self.again_receive_vi.next = self.kept.q.val().vi;
        if self.completion_ready.val() {
            self.completes.d.next = false;
        }
        if self.fault_ready.val() & !self.completes.q.val() {
            self.faulty.d.next = false;
        }
        if self.again_receive_ready.val() {
            self.calls.d.next = false;
        }
        self.empty.next = !self.completes.q.val() & !self.faulty.q.val() & !self.calls.q.val();
        self.close_ready.next = self.empty.val();
        self.idle.next = self.empty.val();
        if self.close_valid.val() & self.empty.val() {
            self.completes.d.next = self.close_completes.val();
            self.kept.d.next = self.close_completion.val();
            self.faulty.d.next = self.close_faulty.val();
            self.code.d.next = self.close_code.val();
            self.breaks.d.next = self.close_breaks.val();
            self.calls.d.next = self.close_completion.val().ends;
        }
        if self.reset.val() {
            self.completes.d.next = false;
            self.faulty.d.next = false;
            self.calls.d.next = false;
        }
    }
}
