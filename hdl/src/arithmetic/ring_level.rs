//! Compares the entries that wait in a ring with its size.
//!
//! ```text
//!  level ──►┌───────────┐──► full
//!   log2 ──►│ RingLevel │──► over
//!           └───────────┘
//! ```
//! Contract: the ring has 2^`log2` slots, fewer than 2^W, and `level` entries wait in it: the position behind the newest, less that of the
//! oldest. `full` says that no slot is free, `over` that there are more entries than slots.
//!
//! Example: a ring of 16 slots has `log2` 4. With a `level` of 16 it is full, and with 17 it is full and over.
//!
//! Latency: none, no state. W is the width of a position, L that of `log2`. Tests: `tests/arithmetic/rings.rs`; proof:
//! `formal/ring_level.sv`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock)]
pub struct RingLevel<const W: usize, const L: usize> {
    /// Entries that wait.
    pub level: Signal<In, Bits<W>>,
    /// log2 of the slots of the ring.
    pub log2: Signal<In, Bits<L>>,
    /// Each slot has an entry.
    pub full: Signal<Out, bool>,
    /// There are more entries than slots.
    pub over: Signal<Out, bool>,
    /// The slots of the ring: one bit.
    size: Signal<Local, Bits<W>>,
    /// The bits of a level that say that it is the ring's size or more.
    laps: Signal<Local, Bits<W>>,
    holds_all: Signal<Local, bool>,
    one: Constant<Bits<W>>,
    ones: Constant<Bits<W>>,
}

impl<const W: usize, const L: usize> Default for RingLevel<W, L> {
    fn default() -> Self {
        Self {
            level: Default::default(),
            log2: Default::default(),
            full: Default::default(),
            over: Default::default(),
            size: Default::default(),
            laps: Default::default(),
            holds_all: Default::default(),
            one: Constant::new(1u64.to_bits()),
            ones: Constant::new(((1u64 << W) - 1).to_bits()),
        }
    }
}

impl<const W: usize, const L: usize> Logic for RingLevel<W, L> {
    #[hdl_gen]
    fn update(&mut self) {
        self.size.next = self.one.val() << self.log2.val();
        self.laps.next = self.ones.val() << self.log2.val();
        self.holds_all.next = (self.level.val() & self.laps.val()).any();
        self.full.next = self.holds_all.val();
        self.over.next = self.holds_all.val() & (self.level.val() != self.size.val());
    }
}
