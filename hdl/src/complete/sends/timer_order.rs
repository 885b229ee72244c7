//! Holds what is to be done to a VI's timer until the timers take it.
//!
//! ```text
//!    vi, effect, answer ──►┌────────────┐──► command
//!                          │ TimerOrder │──► waits
//!                          └────────────┘
//! ```
//! Contract: with `times` in `effect`, `command` is for `vi` as the effect says; it is on show until it is taken, and meanwhile it
//! `waits` and no other one comes. With `begins` it has the timers keep the settings of the TRANSMIT row.
//!
//! Latency: 1 cycle.
//!
//! Example: `effect` has `times`, `runs` and `clears` in cycle 0: from cycle 1 on `command` starts the timer of `vi` anew and clears its
//! counts.
//!
//! Tests: with the whole, `tests/complete/again.rs`.

use super::effect::Effect;
use super::timers::TimerCommand;
use crate::bus::{Acknowledged, Vi};
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TimerOrder {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what waits.
    pub reset: Signal<In, bool>,
    /// The VI at hand; [`Sends`](super::Sends) drives this and the next two.
    pub vi: Signal<In, Vi>,
    /// The effect; it has a command for the timer with `times`.
    pub effect: Signal<In, Effect>,
    /// The answer that has come; a receiver that is not ready says in the low bits of its syndrome for how long.
    pub answer: Signal<In, Acknowledged>,
    /// The command for the VI's timer.
    pub command: Source<TimerCommand>,
    /// The command is not taken yet.
    pub waits: Signal<Out, bool>,
    shown: DFF<bool>,
    held: DFF<TimerCommand>,
}

impl Logic for TimerOrder {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown, held);
        drive!(self, shown.q => waits, command.valid; held.q => command.data);
        if self.command.ready.val() {
            self.shown.d.next = false;
        }
        if self.effect.val().times {
            self.shown.d.next = true;
        }
        // `held` follows until it is shown: what the effect is comes late in the cycle.
        if !self.shown.q.val() {
            self.held.d.next.vi = self.vi.val();
            self.held.d.next.set = self.effect.val().begins;
            self.held.d.next.run = self.effect.val().runs;
            self.held.d.next.rest = self.effect.val().rests;
            self.held.d.next.clear = self.effect.val().clears;
            self.held.d.next.code = bit_cast::<5, 8>(self.answer.val().syndrome);
        }
        if self.reset.val() {
            self.shown.d.next = false;
        }
    }
}
