//! The data link control and management state machine: how the link becomes active.
//!
//! ```text
//!     heard ──►┌──────────┐──► init1, init2, active
//!       tlp ──►│ Activity │──► hears
//!  complete ──►│          │──► sort
//! init_said ──►└──────────┘
//! ```
//! Contract: when `reset` falls, InitFC1 are sent in sets of three, posted, non-posted, completions, until the limits are `complete`; then
//! InitFC2, until InitFC2, UpdateFC or a TLP has come. The set is finished and eight more follow: some partners want a whole one behind
//! theirs. Then the link is `active`, until `reset`. `sort` is the class of the next InitFC. TLPs are heard from Init2 on.
//!
//! Latency: 1 cycle.
//!
//! Example: the last `init_said` of a set comes with `complete`: `init1` falls and `init2` rises.
//!
//! Tests: `tests/pcie/link/initialisation.rs`.

use super::packet::Heard;
use crate::prims::Number;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Inactive,
    Init1,
    Init2,
    Active,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Activity {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// DL_Inactive: the link is down.
    pub reset: Signal<In, bool>,
    /// A DLLP; from `Dllps`.
    pub heard: FlowSink<Heard>,
    /// A good TLP has come; from `TlpJudge`.
    pub tlp: Signal<In, bool>,
    /// The limits of all classes are known; from `Credits`.
    pub complete: Signal<In, bool>,
    /// An InitFC is made; from `DllpSender`.
    pub init_said: Signal<In, bool>,
    /// DL_Init, FC_INIT1.
    pub init1: Signal<Out, bool>,
    /// DL_Init, FC_INIT2.
    pub init2: Signal<Out, bool>,
    /// DL_Active.
    pub active: Signal<Out, bool>,
    /// TLPs may come.
    pub hears: Signal<Out, bool>,
    /// The class of the next InitFC.
    pub sort: Signal<Out, Bits<2>>,
    state: DFF<State>,
    step: DFF<Bits<2>>,
    /// FI2: InitFC2, UpdateFC or a TLP has come.
    ready: DFF<bool>,
    /// Sets that are still sent.
    left: DFF<Bits<4>>,
    set_ends: Signal<Local, bool>,
    sets: Number<4, 8>,
}

impl Logic for Activity {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, step, ready, left);
        drive!(self, step.q => sort);
        self.init1.next = self.state.q.val() == State::Init1;
        self.init2.next = self.state.q.val() == State::Init2;
        self.active.next = self.state.q.val() == State::Active;
        self.hears.next = (self.state.q.val() == State::Init2) | (self.state.q.val() == State::Active);
        self.set_ends.next = self.init_said.val() & (self.step.q.val() == bits::<2>(2));
        if self.init_said.val() {
            self.step.d.next = self.step.q.val() + 1;
            if self.set_ends.val() {
                self.step.d.next = bits::<2>(0);
            }
        }
        match self.state.q.val() {
            State::Inactive => {
                self.state.d.next = State::Init1;
            }
            State::Init1 => {
                self.ready.d.next = false;
                self.left.d.next = self.sets.val();
                if self.set_ends.val() & self.complete.val() {
                    self.state.d.next = State::Init2;
                }
            }
            State::Init2 => {
                if self.tlp.val()
                    | (self.heard.valid.val() & (self.heard.data.val().init2 | self.heard.data.val().update))
                {
                    self.ready.d.next = true;
                }
                if self.set_ends.val() & self.ready.q.val() {
                    self.left.d.next = self.left.q.val() - 1;
                    if self.left.q.val() == bits::<4>(0) {
                        self.state.d.next = State::Active;
                    }
                }
            }
            State::Active => {}
        }
        if self.reset.val() {
            self.state.d.next = State::Inactive;
            self.step.d.next = bits::<2>(0);
        }
    }
}
