//! Compares two serial numbers: numbers of W bits that count on and wrap around.
//!
//! ```text
//!  number ──►┌──────────┐──► distance
//!    from ──►│ Distance │──► same, ahead, behind
//!            └──────────┘
//! ```
//! Contract: `distance` is `number - from`, modulo 2^W. Exactly one of the three others is high: `same` if the two are equal, `behind` if
//! `number` lies 1 to 2^(W-1) before `from`, and `ahead` otherwise. So two numbers compare rightly as long as they were never more than
//! 2^(W-1) apart, whether or not one of them has wrapped around since.
//!
//! The NIC compares PSNs (24 bits), ring positions (14), marks of writes (8) and times (32) so.
//!
//! Example: a VI expects PSN 0x000002, and a packet has PSN 0xffffff. `distance` is 0xfffffd, which is -3: `behind` is high.
//!
//! Latency: none, no state. Tests: `tests/arithmetic/serial.rs`; proof: `formal/distance.sv`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Distance<const W: usize> {
    /// The number that is asked about.
    pub number: Signal<In, Bits<W>>,
    /// The number that it is compared with.
    pub from: Signal<In, Bits<W>>,
    /// How far `number` lies ahead of `from`, modulo 2^W.
    pub distance: Signal<Out, Bits<W>>,
    /// The two are equal.
    pub same: Signal<Out, bool>,
    /// `number` comes later than `from`.
    pub ahead: Signal<Out, bool>,
    /// `number` comes before `from`.
    pub behind: Signal<Out, bool>,
    difference: Signal<Local, Bits<W>>,
    equal: Signal<Local, bool>,
    negative: Signal<Local, bool>,
    /// The highest bit of a distance: from 2^(W-1) on, it is a way back.
    half: Constant<Bits<W>>,
}

impl<const W: usize> Default for Distance<W> {
    fn default() -> Self {
        Self {
            number: Default::default(),
            from: Default::default(),
            distance: Default::default(),
            same: Default::default(),
            ahead: Default::default(),
            behind: Default::default(),
            difference: Default::default(),
            equal: Default::default(),
            negative: Default::default(),
            half: Constant::new((1u64 << (W - 1)).to_bits()),
        }
    }
}

impl<const W: usize> Logic for Distance<W> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.difference.next = self.number.val() - self.from.val();
        self.equal.next = self.number.val() == self.from.val();
        self.negative.next = (self.difference.val() & self.half.val()).any();
        drive!(self, difference => distance; equal => same; negative => behind);
        self.ahead.next = !self.equal.val() & !self.negative.val();
    }
}
