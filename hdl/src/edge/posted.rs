//! One stream of posted packets out of memory writes and interrupts.
//!
//! ```text
//!     write ─►┌───────────┐
//!             │ TlpPosted │──► tx ◄── tx_ready
//!   message ─►└───────────┘
//! ```
//! Contract: packets leave whole. An interrupt takes its turn between two packets of the write engine, and behind it there
//! is always at least one cycle for the next of these. It may be withdrawn (`message_valid` falls) until its first beat
//! is taken.
//!
//! Latency: 0 for writes; 1 for interrupts, whose turn is decided a cycle ahead, so that only a registered choice
//! stands in the stream's way.
//!
//! Tests: `tests/tlp/posted.rs`.

use crate::bus::TlpBeat;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpPosted {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is under way.
    pub reset: Signal<In, bool>,
    /// A beat of a memory write.
    pub write_valid: Signal<In, bool>,
    /// The beat.
    pub write: Signal<In, TlpBeat>,
    /// It is taken.
    pub write_ready: Signal<Out, bool>,
    /// A beat of an interrupt.
    pub message_valid: Signal<In, bool>,
    /// The beat.
    pub message: Signal<In, TlpBeat>,
    /// It is taken.
    pub message_ready: Signal<Out, bool>,
    /// A beat goes out.
    pub tx_valid: Signal<Out, bool>,
    /// The beat.
    pub tx: Signal<Out, TlpBeat>,
    /// It is taken.
    pub tx_ready: Signal<In, bool>,
    /// A write's packet has begun.
    middle: DFF<bool>,
    /// It is the interrupt's turn.
    turn: DFF<bool>,
    moved: Signal<Local, bool>,
    free: Signal<Local, bool>,
}

impl Logic for TlpPosted {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, middle, turn);
        self.tx_valid.next = self.write_valid.val();
        self.tx.next = self.write.val();
        self.write_ready.next = self.tx_ready.val();
        self.message_ready.next = false;
        if self.turn.q.val() {
            self.tx_valid.next = self.message_valid.val();
            self.tx.next = self.message.val();
            self.write_ready.next = false;
            self.message_ready.next = self.tx_ready.val();
        }

        self.moved.next = self.write_valid.val() & self.tx_ready.val() & !self.turn.q.val();
        if self.moved.val() {
            self.middle.d.next = !self.write.val().last;
        }
        self.free.next =
            (self.moved.val() & self.write.val().last) | (!self.write_valid.val() & !self.middle.q.val());
        if !self.turn.q.val() {
            self.turn.d.next = self.message_valid.val() & self.free.val();
        } else if !self.message_valid.val() | (self.tx_ready.val() & self.message.val().last) {
            self.turn.d.next = false;
        }
        if self.reset.val() {
            self.middle.d.next = false;
            self.turn.d.next = false;
        }
    }
}
