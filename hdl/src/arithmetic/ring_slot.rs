//! Finds the slot of a position in a ring.
//!
//! ```text
//!  position ──►┌──────────┐──► slot
//!      log2 ──►│ RingSlot │──► odd_lap
//!              └──────────┘
//! ```
//! Contract: the ring has 2^`log2` slots, fewer than 2^W. Positions count on through all laps of the ring, modulo 2^W. `slot` is the
//! position's place in the ring, and `odd_lap` is low in the first lap, high in the second, low in the third, and so on.
//!
//! Example: a ring of 16 slots has `log2` 4. Position 22 is in the second lap: `slot` is 6, and `odd_lap` is high.
//!
//! Latency: none, no state. W is the width of a position, L that of `log2`. Tests: `tests/arithmetic/rings.rs`; proof:
//! `formal/ring_slot.sv`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock)]
pub struct RingSlot<const W: usize, const L: usize> {
    /// How many entries came before this one.
    pub position: Signal<In, Bits<W>>,
    /// log2 of the slots of the ring.
    pub log2: Signal<In, Bits<L>>,
    /// The slot of the position, counted from 0.
    pub slot: Signal<Out, Bits<W>>,
    /// An odd number of laps came before this one.
    pub odd_lap: Signal<Out, bool>,
    /// The slots of the ring: one bit.
    size: Signal<Local, Bits<W>>,
    /// The bits of a position that count laps, and do not name the slot.
    laps: Signal<Local, Bits<W>>,
    one: Constant<Bits<W>>,
    ones: Constant<Bits<W>>,
}

impl<const W: usize, const L: usize> Default for RingSlot<W, L> {
    fn default() -> Self {
        Self {
            position: Default::default(),
            log2: Default::default(),
            slot: Default::default(),
            odd_lap: Default::default(),
            size: Default::default(),
            laps: Default::default(),
            one: Constant::new(1u64.to_bits()),
            ones: Constant::new(((1u64 << W) - 1).to_bits()),
        }
    }
}

impl<const W: usize, const L: usize> Logic for RingSlot<W, L> {
    #[hdl_gen]
    fn update(&mut self) {
        self.size.next = self.one.val() << self.log2.val();
        self.laps.next = self.ones.val() << self.log2.val();
        self.slot.next = self.position.val() & !self.laps.val();
        self.odd_lap.next = (self.position.val() & self.size.val()).any();
    }
}
