//! Hands on what is left of an order when its VI's context is saved: completion, fault, and the receive queue's next turn.
//!
//! ```text
//!  close ──►┌─────────┐──► completion
//!           │ Closing │──► fault
//!           └─────────┘──► again_receive, idle
//! ```
//! Contract: the block works on one order at a time, in the order in which they come. The fault goes out when the completion is taken;
//! `again_receive` may be taken at any time.
//!
//! Example: an order ends a receive of VI 3 and breaks the VI: `close` brings a completion and a fault. `completion` is offered in the
//! next cycle, and `fault` only when it is taken.
//!
//! Latency: 1 cycle. Tests: `tests/receive/path/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Completion, Fault, Vi};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What ends with a frame: a descriptor, an acknowledgement, a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Close {
    /// There is something to complete or to acknowledge.
    pub completes: bool,
    /// The completion, the acknowledgement, or both.
    pub completion: Completion,
    /// There is a fault to report.
    pub faulty: bool,
    /// Code of the fault: `viaduct_spec::register::event_code`.
    pub code: Bits<8>,
    /// The VI breaks.
    pub breaks: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Closing {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets what is left of the order.
    pub reset: Signal<In, bool>,
    /// What is left of an order that ends: a completion, a fault, or both; from `Delivery`.
    pub close: Sink<Close>,
    /// Nothing is left of any order; `Receive` takes table rows only then.
    pub idle: Signal<Out, bool>,
    /// A completion, an acknowledgement, or both, for `complete/writer`.
    pub completion: Source<Completion>,
    /// What went wrong with a VI, and whether the VI breaks; for `vi/state`.
    pub fault: Source<Fault>,
    /// A VI whose receive queue has room for another descriptor; `doorbell` listens, and queues it for fetch.
    pub again_receive: Source<Vi>,
    /// `kept` waits to be given to `completion`.
    completes: DFF<bool>,
    kept: DFF<Completion>,
    faulty: DFF<bool>,
    code: DFF<Bits<8>>,
    breaks: DFF<bool>,
    /// The receive queue waits to be queued again.
    calls: DFF<bool>,
    empty: Signal<Local, bool>,
    closed: Signal<Local, Completion>,
}

impl Logic for Closing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, completes, kept, faulty, code, breaks, calls);
        drive!(self, close.data.val().completion => closed; completes.q => completion.valid;
            kept.q => completion.data; calls.q => again_receive.valid; kept.q.val().vi => again_receive.data);
        self.fault.valid.next = self.faulty.q.val() & !self.completes.q.val();
        fill!(self, fault.data, kept.q.val().vi => vi; code.q => code; true => receive; breaks.q => breaks);
        if self.completion.ready.val() {
            self.completes.d.next = false;
        }
        if self.fault.ready.val() & !self.completes.q.val() {
            self.faulty.d.next = false;
        }
        if self.again_receive.ready.val() {
            self.calls.d.next = false;
        }
        self.empty.next = !self.completes.q.val() & !self.faulty.q.val() & !self.calls.q.val();
        drive!(self, empty => close.ready, idle);
        if self.close.valid.val() & self.empty.val() {
            self.completes.d.next = self.close.data.val().completes;
            self.kept.d.next = self.close.data.val().completion;
            self.faulty.d.next = self.close.data.val().faulty;
            self.code.d.next = self.close.data.val().code;
            self.breaks.d.next = self.close.data.val().breaks;
            self.calls.d.next = self.closed.val().ends;
        }
        if self.reset.val() {
            self.completes.d.next = false;
            self.faulty.d.next = false;
            self.calls.d.next = false;
        }
    }
}
