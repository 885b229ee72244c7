//! Remembers that the VI at hand is to break, and breaks it when its turn comes.
//!
//! ```text
//!               vi, effect ──►┌──────────┐──► fault
//!  connected, forgets, now ──►│ Breaking │──► breaks, broken
//!                             └──────────┘
//! ```
//! Contract: from an effect with `breaks` on, `breaks` is high, until `forgets` or until the VI has broken. `now` gives the fault;
//! `broken` says that it is taken, or that the VI is not connected, so nothing is left to break.
//!
//! Latency: 1 from `effect` to `breaks`, 0 from `now` to `fault`.
//!
//! Example: a NAK that refuses comes: `effect` has `breaks` and CONN_LOST. Two messages before it are completed; then `now` comes, and
//! `fault` has CONN_LOST of the VI until it is taken.
//!
//! Tests: with the whole, `tests/complete/refusals.rs`.

use super::effect::Effect;
use crate::bus::{Fault, Vi};
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Breaking {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The VI at hand; [`Sends`](super::Sends) drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// The VI is connected.
    pub connected: Signal<In, bool>,
    /// The effect; it breaks the VI with `breaks`.
    pub effect: Signal<In, Effect>,
    /// Another VI is taken up, so what is remembered of this one is forgotten.
    pub forgets: Signal<In, bool>,
    /// The VI is to break now: what is acknowledged has been completed.
    pub now: Signal<In, bool>,
    /// The VI is to break.
    pub breaks: Signal<Out, bool>,
    /// Nothing is left to break.
    pub broken: Signal<Out, bool>,
    /// A VI that breaks, and why.
    pub fault: Source<Fault>,
    wanted: DFF<bool>,
    code: DFF<Bits<8>>,
    over: Signal<Local, bool>,
}

impl Logic for Breaking {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, wanted, code);
        self.breaks.next = self.wanted.q.val();
        self.over.next = self.fault.ready.val() | !self.connected.val();
        self.broken.next = self.over.val();
        self.fault.valid.next = self.now.val() & self.connected.val();
        fill!(self, fault.data, vi => vi; code.q => code; false => receive; true => breaks);
        if self.forgets.val() | (self.now.val() & self.over.val()) {
            self.wanted.d.next = false;
        }
        if self.effect.val().breaks {
            self.wanted.d.next = true;
            self.code.d.next = self.effect.val().code;
        }
    }
}
