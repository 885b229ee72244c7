//! Throws the payload of a packet away.
//!
//! ```text
//!            drops ──►┌─────────────┐──► takes
//!          running ──►│ PayloadDrop │──► done
//!    offered, last ──►└─────────────┘
//! ```
//! Contract: while `drops` is high the block takes a word of the payload queue every other cycle, until it takes one that is the last of
//! its packet; with that `done` is high. It looks at no word while a frame is `running`: the payload of the frames before leaves first.
//!
//! Latency: 1 cycle from a word to `takes`: it comes from a memory, late, so the block looks at it in one cycle and takes it in the next.
//!
//! Example: a packet of 20 bytes is dropped while no frame runs. Its 3 words leave 1, 3 and 5 cycles after `drops` has risen, and `done`
//! comes with the third.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/errors.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PayloadDrop {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the word it has looked at.
    pub reset: Signal<In, bool>,
    /// The payload at hand is to be dropped; transmit drives this and the other inputs.
    pub drops: Signal<In, bool>,
    /// The framer takes payload.
    pub running: Signal<In, bool>,
    /// A word of payload is offered.
    pub offered: Signal<In, bool>,
    /// The word that is offered is the last of its packet.
    pub last: Signal<In, bool>,
    /// The block takes the word that is offered.
    pub takes: Signal<Out, bool>,
    /// With `takes`: all of the packet is.
    pub done: Signal<Out, bool>,
    /// The word on offer has been looked at.
    looked: DFF<bool>,
    /// With `looked`: that word is the packet's last.
    ends: DFF<bool>,
    dropping: Signal<Local, bool>,
}

impl Logic for PayloadDrop {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, looked, ends);
        self.looked.d.next =
            self.drops.val() & !self.running.val() & self.offered.val() & !self.looked.q.val();
        self.ends.d.next = self.last.val();
        self.dropping.next = self.drops.val() & self.looked.q.val();
        self.takes.next = self.dropping.val();
        self.done.next = self.dropping.val() & self.ends.q.val();
        if self.reset.val() {
            self.looked.d.next = false;
        }
    }
}
