//! Finds which of four places comes next in a circle: round robin without state.
//!
//! ```text
//!      turn ──►┌───────────┐──► grant   (one-hot)
//!   request ──►│ Successor │──► valid
//!              └───────────┘
//! ```
//! Contract: `grant` is the first requester behind `turn`, which is one-hot; it is never the place in `turn` itself. An
//! owner that keeps the turn in a register, and passes it on to `grant` only, serves each of its requesters within four
//! turns.
//!
//! Latency: 0 cycles, no state. Beside an [`Arbiter`](super::Arbiter), which keeps the turn itself and is a carry chain, each bit
//! of this one is a gate of six inputs.
//!
//! Example: it is the turn of place 1, and places 0 and 3 ask: `grant` is place 3, which comes first behind 1.
//!
//! Tests: `tests/prims/successor.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Successor {
    /// The place whose turn it is now, one-hot.
    pub turn: Signal<In, Bits<4>>,
    /// One bit for each place that asks.
    pub request: Signal<In, Bits<4>>,
    /// The place whose turn is next, one-hot; 0 if no other place asks.
    pub grant: Signal<Out, Bits<4>>,
    /// A place other than the one in `turn` asks.
    pub valid: Signal<Out, bool>,
    /// The place directly behind the turn.
    first: Signal<Local, Bits<4>>,
    /// The place two behind the turn.
    second: Signal<Local, Bits<4>>,
    /// The place three behind the turn.
    third: Signal<Local, Bits<4>>,
    /// For each place: the place before it asks.
    one_before: Signal<Local, Bits<4>>,
    /// For each place: the place two before it asks.
    two_before: Signal<Local, Bits<4>>,
}

impl Logic for Successor {
    #[hdl_gen]
    fn update(&mut self) {
        self.first.next = (self.turn.val() << 1) | (self.turn.val() >> 3);
        self.second.next = (self.turn.val() << 2) | (self.turn.val() >> 2);
        self.third.next = (self.turn.val() << 3) | (self.turn.val() >> 1);
        self.one_before.next = (self.request.val() << 1) | (self.request.val() >> 3);
        self.two_before.next = (self.request.val() << 2) | (self.request.val() >> 2);
        self.grant.next = self.request.val()
            & (self.first.val()
                | (self.second.val() & !self.one_before.val())
                | (self.third.val() & !self.one_before.val() & !self.two_before.val()));
        self.valid.next = (self.request.val() & !self.turn.val()).any();
    }
}
