//! Keeps one register that the agent writes.
//!
//! ```text
//!   store ──►┌────────────────┐──► value
//!            │ StoredRegister │──► stored
//!            └────────────────┘
//! ```
//! Contract: the register lies at `OFFSET` in BAR 0 and has `W` bits. `value` is what the last store to it wrote, or `RESET` since a reset.
//!
//! Latency: `value` 1 cycle, `stored` none.
//!
//! Example: the register of the IP address, `StoredRegister<32, { registers::IP }, 0>`: a store of 4 bytes to offset 0x30 is its `value`
//! in the next cycle, and one to offset 0x34 is not.
//!
//! Tests: with `Registers`, `tests/admin/registers.rs`.

use super::RegisterStore;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct StoredRegister<const W: usize, const OFFSET: u64, const RESET: u64> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Sets the register to `RESET`.
    pub reset: Signal<In, bool>,
    /// A store, from [`RegisterStores`](super::RegisterStores).
    pub store: Signal<In, RegisterStore>,
    /// What the register holds.
    pub value: Signal<Out, Bits<W>>,
    /// What is written to the register in this cycle.
    pub stored: FlowSource<Bits<W>>,
    held: DFF<Bits<W>>,
    /// The store writes this register.
    hit: Signal<Local, bool>,
    written: Signal<Local, Bits<W>>,
    place: Constant<Bits<17>>,
    /// The register lies in the high half of 8 bytes.
    in_high: Constant<bool>,
    at_reset: Constant<Bits<W>>,
}

impl<const W: usize, const OFFSET: u64, const RESET: u64> Default for StoredRegister<W, OFFSET, RESET> {
    fn default() -> Self {
        assert!(W <= 32 && OFFSET % 4 == 0, "StoredRegister: at most 32 bits, at a multiple of 4 bytes");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            store: Default::default(),
            value: Default::default(),
            stored: Default::default(),
            held: Default::default(),
            hit: Default::default(),
            written: Default::default(),
            place: Constant::new((OFFSET / 8).to_bits()),
            in_high: Constant::new(OFFSET % 8 == 4),
            at_reset: Constant::new(RESET.to_bits()),
        }
    }
}

impl<const W: usize, const OFFSET: u64, const RESET: u64> Logic for StoredRegister<W, OFFSET, RESET> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        self.hit.next = self.store.val().writes_low & (self.store.val().place == self.place.val());
        self.written.next = bit_cast::<W, 32>(self.store.val().low);
        if self.in_high.val() {
            self.hit.next = self.store.val().writes_high & (self.store.val().place == self.place.val());
            self.written.next = bit_cast::<W, 32>(self.store.val().high);
        }
        drive!(self, hit => stored.valid; written => stored.data; held.q => value);
        if self.hit.val() {
            self.held.d.next = self.written.val();
        }
        if self.reset.val() {
            self.held.d.next = self.at_reset.val();
        }
    }
}
