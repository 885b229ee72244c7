//! Tells whether a serial number of W bits lies among those that are in flight.
//!
//! ```text
//!                   load ──►┌──────────┐──► in_flight
//!  number, oldest, fresh ──►│ InFlight │──► size
//!                           └──────────┘
//! ```
//! Contract: in flight are the numbers from `oldest` on, up to the one before `fresh`; if the two are equal, none is. In a cycle with
//! `load` the block reads all three. From the next cycle on, until the next `load`, `in_flight` says whether `number` was in flight, and
//! `size` how many were. All are modulo 2^W.
//!
//! Example: PSNs 0xfffffe, 0xffffff and 0 are in flight, so `oldest` is 0xfffffe and `fresh` is 1. `number` 0 is in flight, 1 is not, and
//! `size` is 3.
//!
//! Latency: 1 cycle. Tests: `tests/arithmetic/serial.rs`; proof: `formal/in_flight.sv`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct InFlight<const W: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The three numbers are to be read in this cycle.
    pub load: Signal<In, bool>,
    /// The number that is asked about.
    pub number: Signal<In, Bits<W>>,
    /// The oldest number in flight.
    pub oldest: Signal<In, Bits<W>>,
    /// The number behind the newest in flight: the next one to be given.
    pub fresh: Signal<In, Bits<W>>,
    /// `number` was in flight.
    pub in_flight: Signal<Out, bool>,
    /// How many numbers were in flight.
    pub size: Signal<Out, Bits<W>>,
    /// How far `number` lay ahead of `oldest`.
    distance: DFF<Bits<W>>,
    /// How far `fresh` lay ahead of `oldest`.
    span: DFF<Bits<W>>,
}

impl<const W: usize> Logic for InFlight<W> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, distance, span);
        if self.load.val() {
            self.distance.d.next = self.number.val() - self.oldest.val();
            self.span.d.next = self.fresh.val() - self.oldest.val();
        }
        self.in_flight.next = self.distance.q.val() < self.span.q.val();
        self.size.next = self.span.q.val();
    }
}
