//! Carries a function-level reset out at the core.
//!
//! ```text
//!   start ──►┌───────────────┐──► asks   (the core's function_reset)
//!    done ──►│ FunctionReset │──► busy
//!            └───────────────┘
//! ```
//! Contract: from `start` on `asks` is high until `done`; then `busy` stays until `done` has fallen, so that the next reset does not see
//! the end of this one. `reset` ends it, because the core is reset then by `core_reset`.
//!
//! Latency: one cycle.
//!
//! Example: `start` pulses, `done` rises 1000 cycles later: `asks` has been high for 1000 cycles.
//!
//! Tests: with the whole, `tests/pcie/transaction/enumeration.rs`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Asked,
    Done,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FunctionReset {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is asked for any more.
    pub reset: Signal<In, bool>,
    /// Software asks for the reset, and has its completion; from `Completer`.
    pub start: Signal<In, bool>,
    /// The core has carried out the reset; over the crossing.
    pub done: Signal<In, bool>,
    /// The core is to carry it out.
    pub asks: Signal<Out, bool>,
    /// The reset is not over: no request is answered.
    pub busy: Signal<Out, bool>,
    state: DFF<State>,
}

impl Logic for FunctionReset {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.asks.next = self.state.q.val() == State::Asked;
        self.busy.next = self.state.q.val() != State::Idle;
        match self.state.q.val() {
            State::Idle => {
                if self.start.val() {
                    self.state.d.next = State::Asked;
                }
            }
            State::Asked => {
                if self.done.val() {
                    self.state.d.next = State::Done;
                }
            }
            State::Done => {
                if !self.done.val() {
                    self.state.d.next = State::Idle;
                }
            }
        }
        if self.reset.val() {
            self.state.d.next = State::Done;
        }
    }
}
