//! Who of four comes next in a circle.
//!
//! ```text
//!      turn ──►┌───────────┐──► grant   (one-hot)
//!   request ──►│ Successor │──► valid
//!              └───────────┘
//! ```
//! Contract: `grant` is the first requester behind `turn`, which is one-hot; the one whose turn it is is none of them. An
//! owner that keeps the turn in a register, and gives it to nobody but `grant`, serves each of its requesters within four
//! turns.
//!
//! Latency: 0, no state. Beside an [`Arbiter`](super::Arbiter), which keeps the turn itself and is a carry chain, each bit
//! of this one is a gate of six inputs.
//!
//! Tests: `tests/prims/successor.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Successor {
    /// Whose turn it is, one-hot.
    pub turn: Signal<In, Bits<4>>,
    /// Who asks.
    pub request: Signal<In, Bits<4>>,
    /// Who comes next, one-hot; 0 if nobody else asks.
    pub grant: Signal<Out, Bits<4>>,
    /// Somebody else asks.
    pub valid: Signal<Out, bool>,
    /// The places one, two and three behind the turn.
    first: Signal<Local, Bits<4>>,
    second: Signal<Local, Bits<4>>,
    third: Signal<Local, Bits<4>>,
    /// The requester one before each place; two before it.
    one_before: Signal<Local, Bits<4>>,
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
