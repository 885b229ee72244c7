//! Says which registers a store of the host writes, and what.
//!
//! ```text
//!   mmio_write ──►[ RegisterStores ]──► store
//! ```
//! Contract: a store to BAR 0 writes those of its two halves of 4 bytes whose bytes are all enabled. A store to BAR 2 writes none.
//!
//! Latency: none.
//!
//! Example: a store of 8 bytes to offset 0x28 with the enables 0x0f: `place` is 5, and `writes_low` is high.
//!
//! Tests: with `Registers`, `tests/admin/registers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::{BarAddress, RegisterPair};
use crate::bus::{MmioWrite, STORE_LOG2};
use crate::prims::Cast;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// A store to two registers that share 8 bytes: what it writes of them.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RegisterStore {
    /// Which 8 bytes of BAR 0.
    pub place: Bits<17>,
    /// The register in the low 4 bytes is written.
    pub writes_low: bool,
    /// The register in the high 4 bytes is written.
    pub writes_high: bool,
    /// What is written to the low register.
    pub low: Bits<32>,
    /// What is written to the high register.
    pub high: Bits<32>,
}

/// Which bytes of 8 are stored to, by halves.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct HalfEnables {
    low: Bits<4>,
    high: Bits<4>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RegisterStores {
    /// A store of the host to BAR 0 or BAR 2, from `edge/receive`.
    pub mmio_write: FlowSink<MmioWrite>,
    /// The two registers that the store writes, and with what, in the same cycle.
    pub store: Signal<Out, RegisterStore>,
    address: Cast<Bits<20>, BarAddress>,
    enables: Cast<Bits<8>, HalfEnables>,
    data: Cast<Bits<64>, RegisterPair>,
    /// There is a store to BAR 0.
    to_registers: Signal<Local, bool>,
}

impl Logic for RegisterStores {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.address.from.next = bit_cast::<20, STORE_LOG2>(self.mmio_write.data.val().address);
        drive!(self, mmio_write.data.val().enables => enables.from; mmio_write.data.val().data => data.from);
        self.to_registers.next = self.mmio_write.valid.val() & !self.mmio_write.data.val().doorbell;
        self.store.next.place = self.address.to.val().place;
        self.store.next.writes_low = self.to_registers.val() & self.enables.to.val().low.all();
        self.store.next.writes_high = self.to_registers.val() & self.enables.to.val().high.all();
        self.store.next.low = self.data.to.val().low;
        self.store.next.high = self.data.to.val().high;
    }
}
