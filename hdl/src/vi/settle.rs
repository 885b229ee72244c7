//! Waits until the faults and events that were there when it was asked have come to their end.
//!
//! ```text
//!          settle ──►┌────────┐
//!  fault_(v, r) (6) ─►│ Settle │──► settling
//!    event_(v, r) ──►│        │
//!         writing ──►└────────┘
//! ```
//! Contract: after a `settle` pulse, `settling` is high from the next cycle until every fault that was offered then is taken, and
//! every event that waited then, or came of those faults, is in the error ring or lost. What comes later is waited for
//! at most so far as it goes before: a source's first fault only, and 17 events. `writing`: an event has left the queue and is not
//! in the ring. A fault's event is in the queue one cycle after the fault is taken.
//!
//! Latency: 2 cycles if there is nothing. Tests: with `ViState`, `tests/admin/settle.rs`.

use rust_hdl::prelude::*;

use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Settle {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Waits no longer.
    pub reset: Signal<In, bool>,
    /// Begin to wait.
    pub settle: Signal<In, bool>,
    /// Sources that offer a fault.
    pub fault_valid: Signal<In, Bits<6>>,
    /// Whose fault is taken.
    pub fault_ready: Signal<In, Bits<6>>,
    /// An event waits.
    pub event_valid: Signal<In, bool>,
    /// It is taken.
    pub event_ready: Signal<In, bool>,
    /// One that was taken is not in the ring yet.
    pub writing: Signal<In, bool>,
    /// Something of before has not ended.
    pub settling: Signal<Out, bool>,
    /// Sources whose fault of before is not taken.
    owing: DFF<Bits<6>>,
    /// Events are waited for, and their faults before them.
    waits: DFF<bool>,
    /// Events taken since.
    taken: DFF<Bits<5>>,
    enough: Number<5, 17>,
}

impl Logic for Settle {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, owing, waits, taken);
        // LIFE-3: a drain waits for the faults and events of before, and for none that comes later.
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
            self.owing.d.next = bits::<6>(0x3f);
            self.waits.d.next = true;
        }
        if self.reset.val() {
            self.waits.d.next = false;
        }
    }
}
