//! Knows which VIs have receives to flush, and each VI's state for the matcher.
//!
//! ```text
//!    state ──►┌───────┐──► work
//!   filled ──►│ Flush │
//!  look_vi ──►│       │──► connected, error, aside, late   (of look_vi)
//!    set_* ──►└───────┘──► resume, settled, busy
//! ```
//! Contract: a VI has work when it goes into Error, and when a descriptor is fetched ahead for it while it is there.
//! Each VI is queued at most once; a reason that comes while it is being worked on queues it again. `filled` does
//! not come in two cycles running: fetch needs eight for a descriptor.
//!
//! A VI is `aside` from `set_aside` on, with its frames, and with `set_late` also `late`, until a receive of it is filled or its state
//! changes. `resume` is high in the cycle in which that ends, and with each change of a state. `settled` says that nothing of that kind
//! has come in this cycle and the two before, so what was looked at in them holds. `set_*` come with `settled` only.
//!
//! Example: `state` says that VI 3 goes into Error. Four cycles later `work` offers VI 3. When a descriptor of it is `filled` after
//! that, `work` offers it again.
//!
//! Latency: work 4 cycles after its reason; `connected` and `error` in the same cycle as `look_vi`.
//!
//! Tests: `tests/receive/path/`.

use crate::bus::{Filled, StateWrite, Vi};
use crate::prims::{LutRam, Number, RunQueue};
use crate::stream::{FlowSink, Source};
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
    /// While high, the queue of VIs with work is empty.
    pub reset: Signal<In, bool>,
    /// A VI changes its state: its number, and the new state.
    pub state: FlowSink<StateWrite>,
    /// A receive descriptor of a VI is there; from fetch.
    pub filled: FlowSink<Filled>,
    /// A VI that has receives to flush.
    pub work: Source<Vi>,
    /// A VI has work, or may have.
    pub busy: Signal<Out, bool>,
    /// VI whose state `Lookup` looks at.
    pub look_vi: Signal<In, Vi>,
    /// `look_vi` is connected.
    pub connected: Signal<Out, bool>,
    /// `look_vi` is in Error.
    pub error: Signal<Out, bool>,
    /// The frames of `look_vi` are set aside: they wait for a receive that is posted and not there.
    pub aside: Signal<Out, bool>,
    /// The frames of `look_vi` are dropped until the receive is there.
    pub late: Signal<Out, bool>,
    /// Pulses when `Lookup` sets the frames of `look_vi` aside from now on.
    pub set_aside: Signal<In, bool>,
    /// With `set_aside`: the frames of `look_vi` are `late` as well.
    pub set_late: Signal<In, bool>,
    /// No state has changed and no receive has come in this cycle and the two before.
    pub settled: Signal<Out, bool>,
    /// Pulses when a VI that was `aside` may be so no longer, so its frames may be looked at again.
    pub resume: Signal<Out, bool>,
    queue: RunQueue<VI_LOG2, VI_LOG2_1>,
    /// For each VI: its state, `aside` and `late`.
    states: LutRam<Bits<4>, VI_LOG2>,
    /// A copy of `states`, read for the VI whose descriptor is there.
    filled_states: LutRam<Bits<4>, VI_LOG2>,
    changed: DFF<bool>,
    changed_before: DFF<bool>,
    change: Signal<Local, bool>,
    state_now: Signal<Local, Bits<2>>,
    filled_state: Signal<Local, Bits<2>>,
    /// The states are not being written for another reason.
    free: Signal<Local, bool>,
    aside_bit: Number<4, 4>,
    late_bits: Number<4, 12>,
    /// A descriptor of `filled_by` came in the cycle before.
    fills: DFF<bool>,
    filled_by: DFF<Vi>,
    /// `failed_vi` has gone into Error, in the cycle before.
    failed: DFF<bool>,
    failed_vi: DFF<Vi>,
    pushed: Signal<Local, bool>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
    error_state: Number<2, { vi_states::ERROR as u64 }>,
}

impl Logic for Flush {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fills, filled_by, failed, failed_vi, changed, changed_before);
        clock!(self, clock, queue, states, filled_states);
        self.queue.reset.next = self.reset.val();
        self.states.read_address.next = self.look_vi.val();
        self.state_now.next = self.states.read_data.val().get_bits::<2>(0);
        self.connected.next = self.state_now.val() == self.connected_state.val();
        self.error.next = self.state_now.val() == self.error_state.val();
        self.aside.next = self.states.read_data.val().get_bit(2);
        self.late.next = self.states.read_data.val().get_bit(3);
        self.filled_states.read_address.next = self.filled_by.q.val();
        self.filled_state.next = self.filled_states.read_data.val().get_bits::<2>(0);
        self.change.next = self.state.valid.val() | self.filled.valid.val();
        self.changed.d.next = self.change.val();
        self.changed_before.d.next = self.changed.q.val();
        self.settled.next = !self.change.val() & !self.changed.q.val() & !self.changed_before.q.val();

        // A change to Error goes first; a descriptor waits for it, one cycle at a time.
        // A descriptor that is looked at in the cycle of the change still sees the old state; its VI is queued in the next.
        self.failed.d.next = self.state.valid.val() & (self.state.data.val().state == self.error_state.val());
        self.failed_vi.d.next = self.state.data.val().vi;
        self.free.next = !self.state.valid.val() & !self.set_aside.val();
        self.pushed.next = self.fills.q.val() & !self.failed.q.val() & self.free.val();
        self.queue.push.valid.next =
            self.failed.q.val() | (self.fills.q.val() & (self.filled_state.val() == self.error_state.val()));
        self.queue.push.data.next = self.filled_by.q.val();
        if self.failed.q.val() {
            self.queue.push.data.next = self.failed_vi.q.val();
        }
        if self.pushed.val() {
            self.fills.d.next = false;
        }
        if self.filled.valid.val() {
            self.fills.d.next = true;
            self.filled_by.d.next = self.filled.data.val().vi;
        }

        // Written by a change of state, by the one who looks, and when a receive has come.
        self.states.write_enable.next = self.state.valid.val() | self.set_aside.val() | self.pushed.val();
        self.states.write_address.next = self.filled_by.q.val();
        self.states.write_data.next = bit_cast::<4, 2>(self.filled_state.val());
        if self.set_aside.val() {
            self.states.write_address.next = self.look_vi.val();
            self.states.write_data.next = bit_cast::<4, 2>(self.state_now.val()) | self.aside_bit.val();
            if self.set_late.val() {
                self.states.write_data.next = bit_cast::<4, 2>(self.state_now.val()) | self.late_bits.val();
            }
        }
        if self.state.valid.val() {
            self.states.write_address.next = self.state.data.val().vi;
            self.states.write_data.next = bit_cast::<4, 2>(self.state.data.val().state);
        }
        self.filled_states.write_enable.next = self.states.write_enable.val();
        self.filled_states.write_address.next = self.states.write_address.val();
        self.filled_states.write_data.next = self.states.write_data.val();
        self.resume.next =
            self.state.valid.val() | (self.pushed.val() & self.filled_states.read_data.val().get_bit(2));
        Source::<Vi>::link(&mut self.work, &mut self.queue.pop);
        self.busy.next = self.queue.held.val() | self.fills.q.val() | self.failed.q.val();
        if self.reset.val() {
            self.fills.d.next = false;
            self.failed.d.next = false;
        }
    }
}
