//! Knows which VIs have receives to flush, and each VI's state for `Lookup`.
//!
//! ```text
//!      state ──►┌───────┐──► work
//!     filled ──►│ Flush │◄─► look   (what is known of a VI)
//!  set_aside ──►└───────┘──► resume, busy
//! ```
//! Contract: a VI has work when it goes into Error, and when a descriptor is fetched ahead for it while it is there.
//! Each VI is queued at most once; a reason that comes while it is being worked on queues it again. `filled` does
//! not come in two cycles running: fetch needs eight for a descriptor.
//!
//! `set_aside` makes a VI `aside`, and if it carries `late` also `late`, until a receive of the VI is filled or its state changes. `resume`
//! is high in the cycle in which that ends, and with each change of a state. `settled` says that no receive and no change has come in this
//! cycle and the two before, so what was read in them still holds. `set_aside` comes with `settled` only, and for the VI that `look` asks
//! for.
//!
//! Example: `state` says that VI 3 goes into Error. Four cycles later `work` offers VI 3. When a descriptor of it is `filled` after
//! that, `work` offers it again.
//!
//! Latency: work 4 cycles after its reason; `look` answers in the same cycle.
//!
//! Tests: `tests/receive/path/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Filled, StateWrite, Vi};
use crate::prims::{LutRam, Number, RunQueue};
use crate::stream::{FlowSink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

/// One more than [`VI_LOG2`].
const VI_LOG2_1: usize = VI_LOG2 + 1;

/// What is known of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ViStatus {
    /// The VI is connected.
    pub connected: bool,
    /// The VI is in Error.
    pub error: bool,
    /// The VI's frames are set aside: they wait for a receive that is posted and not there.
    pub aside: bool,
    /// The VI's frames are dropped until the receive is there.
    pub late: bool,
    /// Of all VIs: no state has changed and no receive has come in this cycle and the two before.
    pub settled: bool,
}

/// The frames of a VI are set aside from now on.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SetAside {
    /// The VI.
    pub vi: Vi,
    /// Its frames are dropped from now on.
    pub late: bool,
}

/// A VI's row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct FlushRow {
    /// `viaduct_spec::tables::vi_states`.
    state: Bits<2>,
    aside: bool,
    late: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Flush {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the queue of VIs with work is empty.
    pub reset: Signal<In, bool>,
    /// A VI changes its state: its number, and the new state; from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// A receive descriptor of a VI is there; from fetch.
    pub filled: FlowSink<Filled>,
    /// A VI that has receives to flush, for `Lookup`.
    pub work: Source<Vi>,
    /// A VI has work, or may have; `Receive` is busy then.
    pub busy: Signal<Out, bool>,
    /// Answers `Lookup`: what is known of a VI.
    pub look: Table<Vi, ViStatus>,
    /// The frames of a VI are set aside, or dropped, from now on; from `Lookup`.
    pub set_aside: FlowSink<SetAside>,
    /// Pulses when a VI that was `aside` may be so no longer, so its frames may be looked at again; the store listens.
    pub resume: Signal<Out, bool>,
    queue: RunQueue<VI_LOG2, VI_LOG2_1>,
    /// For each VI: its state, `aside` and `late`.
    marks: LutRam<FlushRow, VI_LOG2>,
    /// A copy of `marks`, read for the VI whose descriptor is there.
    filled_marks: LutRam<FlushRow, VI_LOG2>,
    changed: DFF<bool>,
    changed_before: DFF<bool>,
    change: Signal<Local, bool>,
    state_now: Signal<Local, Bits<2>>,
    filled_state: Signal<Local, Bits<2>>,
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
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fills, filled_by, failed, failed_vi, changed, changed_before);
        clock!(self, clock, queue, marks, filled_marks);
        drive!(self, reset => queue.reset; look.index => marks.read_address;
            marks.read_data.val().state => state_now; filled_by.q => filled_marks.read_address;
            filled_marks.read_data.val().state => filled_state);
        self.look.row.next.connected = self.state_now.val() == self.connected_state.val();
        self.look.row.next.error = self.state_now.val() == self.error_state.val();
        self.look.row.next.aside = self.marks.read_data.val().aside;
        self.look.row.next.late = self.marks.read_data.val().late;
        self.change.next = self.state.valid.val() | self.filled.valid.val();
        self.changed.d.next = self.change.val();
        self.changed_before.d.next = self.changed.q.val();
        self.look.row.next.settled =
            !self.change.val() & !self.changed.q.val() & !self.changed_before.q.val();

        // A change to Error goes first; a descriptor waits for it, one cycle at a time.
        // For a descriptor in the cycle of the change the old state is read; but the change itself queues the VI in the next cycle.
        self.failed.d.next = self.state.valid.val() & (self.state.data.val().state == self.error_state.val());
        self.failed_vi.d.next = self.state.data.val().vi;
        // `set_aside` does not come meanwhile: while a descriptor waits here, there was a change two cycles ago or later.
        self.pushed.next = self.fills.q.val() & !self.failed.q.val() & !self.state.valid.val();
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

        // Marks are written by a change of state, when a receive has come, and by `Lookup` (`set_aside`), which comes with neither of these
        // two. So only the write waits for `Lookup`, which is late in its cycle.
        self.marks.write_enable.next =
            self.state.valid.val() | self.set_aside.valid.val() | self.pushed.val();
        self.marks.write_address.next = self.set_aside.data.val().vi;
        fill!(self, marks.write_data, state_now => state; true => aside; set_aside.data.val().late => late);
        if self.pushed.val() {
            self.marks.write_address.next = self.filled_by.q.val();
            fill!(self, marks.write_data, filled_state => state; false => aside, late);
        }
        if self.state.valid.val() {
            self.marks.write_address.next = self.state.data.val().vi;
            fill!(self, marks.write_data, state.data.val().state => state; false => aside, late);
        }
        drive!(self, marks.write_enable => filled_marks.write_enable;
            marks.write_address => filled_marks.write_address; marks.write_data => filled_marks.write_data);
        self.resume.next =
            self.state.valid.val() | (self.pushed.val() & self.filled_marks.read_data.val().aside);
        Source::<Vi>::link(&mut self.work, &mut self.queue.pop);
        self.busy.next = self.queue.held.val() | self.fills.q.val() | self.failed.q.val();
        if self.reset.val() {
            self.fills.d.next = false;
            self.failed.d.next = false;
        }
    }
}
