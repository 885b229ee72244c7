//! Waits until the faults and events that are there when the agent asks have come to their end.
//!
//! ```text
//!                   settle ──►┌────────┐──► settling
//! fault_valid, fault_ready ──►│ Settle │
//! event_valid, event_ready ──►│        │
//!                  writing ──►└────────┘
//! ```
//! Contract: after a `settle` pulse, `settling` is high from the next cycle until every fault that was offered then is taken, and every
//! event that waited then, or came of those faults, is in the error ring or lost. The wait does not grow with later ones: it covers the
//! first fault of each source only, and 17 events. `writing` says that an event has left the queue and is not in the ring yet. A fault's
//! event is in the queue one cycle after the fault is taken.
//!
//! Latency: 2 cycles if there is nothing.
//!
//! Example: nothing is offered and nothing waits when `settle` comes: `settling` is high for 2 cycles. If source 2 offers a fault then,
//! it stays high until that fault is taken and the fault's event is in the error ring.
//!
//! Tests: with `ViState`, `tests/admin/settle.rs`.

use super::FAULT_SOURCES;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Settle {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Ends the waiting.
    pub reset: Signal<In, bool>,
    /// `admin/command` begins to wait in this cycle; [`ViState`](super::ViState) passes this and the other inputs on.
    pub settle: Signal<In, bool>,
    /// One bit for each source that offers a fault: [`FaultSources`](crate::rows::inside::FaultSources), packed.
    pub fault_valid: Signal<In, Bits<FAULT_SOURCES>>,
    /// One bit for the source whose fault is taken.
    pub fault_ready: Signal<In, Bits<FAULT_SOURCES>>,
    /// An event waits in the queue.
    pub event_valid: Signal<In, bool>,
    /// The event that waits is taken.
    pub event_ready: Signal<In, bool>,
    /// An event that was taken is neither in the error ring nor lost yet.
    pub writing: Signal<In, bool>,
    /// A fault or an event that was there at `settle` has not come to its end.
    pub settling: Signal<Out, bool>,
    /// The sources whose fault, offered at `settle`, is not taken.
    owing: DFF<Bits<FAULT_SOURCES>>,
    /// Events are waited for, behind the faults that they come of.
    waits: DFF<bool>,
    /// Number of events taken since the waiting began.
    taken: DFF<Bits<5>>,
    enough: Number<5, 17>,
    all_sources: Number<FAULT_SOURCES, { (1 << FAULT_SOURCES) - 1 }>,
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, owing, waits, taken);
        // LIFE-3: a drain waits for the faults and events that were there when it began, and for none that comes later.
        self.owing.d.next = self.owing.q.val() & self.fault_valid.val() & !self.fault_ready.val();
        if self.event_valid.val() & self.event_ready.val() {
            self.taken.d.next = self.taken.q.val() + 1;
        }
        if self.owing.q.val().any() {
            self.taken.d.next = bits::<5>(0);
        } else if (!self.event_valid.val() & !self.writing.val()) | (self.taken.q.val() == self.enough.val())
        {
            self.waits.d.next = false;
        }
        self.settling.next = self.waits.q.val();
        if self.settle.val() {
            self.owing.d.next = self.all_sources.val();
            self.waits.d.next = true;
        }
        if self.reset.val() {
            self.waits.d.next = false;
        }
    }
}
