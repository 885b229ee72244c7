//! Says when the packets that a VI had announced before its life ended have left.
//!
//! ```text
//!              closed ──►┌─────────────┐──► passed
//!  level, held, taken ──►│ LastPackets │
//!                        └─────────────┘
//! ```
//! Contract: `closed` rises when the VI announces nothing more, and stays high until its row is taken. The block notes how many packets
//! wait then, counts those that are taken, and raises `passed` when all of them are, or when none waits at all.
//!
//! Latency: `passed` rises 2 cycles after `closed` if nothing waits.
//!
//! Example: three packets wait when `closed` rises, and more come behind them. When the third has been taken `passed` is high.
//!
//! Tests: with the whole of gather, `tests/send/gather/lives.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct LastPackets {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, nothing is counted.
    pub reset: Signal<In, bool>,
    /// A VI's life is over, and it announces no packet any more; gather drives it.
    pub closed: Signal<In, bool>,
    /// Packets that wait behind the one on show; gather drives this and the next two.
    pub level: Signal<In, Bits<5>>,
    /// A packet waits.
    pub held: Signal<In, bool>,
    /// The packet on show is taken, if there is one.
    pub taken: Signal<In, bool>,
    /// All packets that had been announced when `closed` rose have been taken.
    pub passed: Signal<Out, bool>,
    /// Packets that are to be taken still, less one: so the top bit says that there is none.
    behind: DFF<Bits<6>>,
    was_closed: DFF<bool>,
    none: Signal<Local, bool>,
}

impl Logic for LastPackets {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, behind, was_closed);
        self.none.next = self.behind.q.val().get_bit(5);
        self.was_closed.d.next = self.closed.val();
        if !self.was_closed.q.val() {
            self.behind.d.next = bit_cast::<6, 5>(self.level.val());
        } else if self.taken.val() & !self.none.val() {
            self.behind.d.next = self.behind.q.val() - 1;
        }
        self.passed.next = self.was_closed.q.val() & (self.none.val() | !self.held.val());
        if self.reset.val() {
            self.was_closed.d.next = false;
        }
    }
}
