//! Who has receives to flush, and each VI's state for the matcher.
//!
//! ```text
//!  state_*  ──►┌───────┐──► work_valid, work_vi
//!  filled_* ──►│ Flush │◄── work_ready
//!  look_vi  ──►└───────┘──► connected, error     (of look_vi); busy
//! ```
//! Contract: a VI has work when it goes into Error, and when a descriptor is fetched ahead for it while it is there.
//! Each VI is queued at most once; a reason that comes while it is being worked on queues it again. `filled` does
//! not come in two cycles running: fetch needs eight for a descriptor.
//!
//! Latency: work 4 cycles after its reason; `connected` and `error` in the same cycle as `look_vi`.
//!
//! Tests: `tests/receive/path.rs`.

use crate::bus::{StateWrite, Vi};
use crate::prims::{LutRam, Number, RunQueue};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

/// One more than [`VI_LOG2`].
const VI_LOG2_1: usize = VI_LOG2 + 1;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Flush {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the queue.
    pub reset: Signal<In, bool>,
    /// A VI has changed its state.
    pub state_valid: Signal<In, bool>,
    /// Which, and to what.
    pub state: Signal<In, StateWrite>,
    /// A descriptor is there.
    pub filled_valid: Signal<In, bool>,
    /// Its VI.
    pub filled_vi: Signal<In, Vi>,
    /// A VI has work.
    pub work_valid: Signal<Out, bool>,
    /// Which.
    pub work_vi: Signal<Out, Vi>,
    /// It is taken.
    pub work_ready: Signal<In, bool>,
    /// A VI has work, or may have.
    pub busy: Signal<Out, bool>,
    /// VI that the matcher looks at.
    pub look_vi: Signal<In, Vi>,
    /// It is connected.
    pub connected: Signal<Out, bool>,
    /// It is in Error.
    pub error: Signal<Out, bool>,
    queue: RunQueue<VI_LOG2, VI_LOG2_1>,
    states: LutRam<Bits<2>, VI_LOG2>,
    filled_states: LutRam<Bits<2>, VI_LOG2>,
    filled: DFF<bool>,
    filled_by: DFF<Vi>,
    /// A VI has gone into Error, in the cycle before.
    failed: DFF<bool>,
    failed_vi: DFF<Vi>,
    pushed: Signal<Local, bool>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
    error_state: Number<2, { vi_states::ERROR as u64 }>,
}

impl Logic for Flush {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, filled, filled_by, failed, failed_vi);
        clock!(self, clock, queue, states, filled_states);
        self.queue.reset.next = self.reset.val();
        self.states.write_enable.next = self.state_valid.val();
        self.states.write_address.next = self.state.val().vi;
        self.states.write_data.next = self.state.val().state;
        self.states.read_address.next = self.look_vi.val();
        self.connected.next = self.states.read_data.val() == self.connected_state.val();
        self.error.next = self.states.read_data.val() == self.error_state.val();
        self.filled_states.write_enable.next = self.state_valid.val();
        self.filled_states.write_address.next = self.state.val().vi;
        self.filled_states.write_data.next = self.state.val().state;
        self.filled_states.read_address.next = self.filled_by.q.val();

        // A change to Error goes first; a descriptor waits for it, one cycle at a time.
        // A descriptor that is looked at in the cycle of the change still sees the old state; its VI is queued in the next.
        self.failed.d.next = self.state_valid.val() & (self.state.val().state == self.error_state.val());
        self.failed_vi.d.next = self.state.val().vi;
        self.pushed.next = self.filled.q.val() & !self.failed.q.val();
        self.queue.push_valid.next = self.failed.q.val()
            | (self.filled.q.val() & (self.filled_states.read_data.val() == self.error_state.val()));
        self.queue.push_id.next = self.filled_by.q.val();
        if self.failed.q.val() {
            self.queue.push_id.next = self.failed_vi.q.val();
        }
        if self.pushed.val() {
            self.filled.d.next = false;
        }
        if self.filled_valid.val() {
            self.filled.d.next = true;
            self.filled_by.d.next = self.filled_vi.val();
        }
        self.work_valid.next = self.queue.pop_valid.val();
        self.work_vi.next = self.queue.pop_id.val();
        self.queue.pop_ready.next = self.work_ready.val();
        self.busy.next = self.queue.held.val() | self.filled.q.val() | self.failed.q.val();
        if self.reset.val() {
            self.filled.d.next = false;
            self.failed.d.next = false;
        }
    }
}
