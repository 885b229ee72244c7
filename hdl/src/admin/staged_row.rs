//! Keeps the row that the agent stages, in STAGE0 to STAGE2.
//!
//! ```text
//!   store ──►[ StagedRow ]──► stage0, stage1, stage2
//! ```
//! Contract: each half of the three registers holds what was stored to it last. No reset changes them.
//!
//! Latency: 1 cycle.
//!
//! Example: a store of 4 bytes to STAGE1 + 4 changes bits 127:96 of the row, and no others.
//!
//! Tests: with `Registers`, `tests/admin/registers.rs`.

use super::{RegisterPair, RegisterStore, StoredRegister};
use crate::prims::Cast;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::register::registers;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct StagedRow {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A store, from [`RegisterStores`](super::RegisterStores).
    pub store: Signal<In, RegisterStore>,
    /// Bits 63:0 of the row.
    pub stage0: Signal<Out, Bits<64>>,
    /// Bits 127:64 of the row.
    pub stage1: Signal<Out, Bits<64>>,
    /// Bits 191:128 of the row.
    pub stage2: Signal<Out, Bits<64>>,
    low0: StoredRegister<32, { registers::STAGE0 }, 0>,
    high0: StoredRegister<32, { registers::STAGE0 + 4 }, 0>,
    low1: StoredRegister<32, { registers::STAGE1 }, 0>,
    high1: StoredRegister<32, { registers::STAGE1 + 4 }, 0>,
    low2: StoredRegister<32, { registers::STAGE2 }, 0>,
    high2: StoredRegister<32, { registers::STAGE2 + 4 }, 0>,
    row0: Cast<RegisterPair, Bits<64>>,
    row1: Cast<RegisterPair, Bits<64>>,
    row2: Cast<RegisterPair, Bits<64>>,
    never: Signal<Local, bool>,
}

impl Logic for StagedRow {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, low0, high0, low1, high1, low2, high2);
        self.never.next = false;
        drive!(self, never => low0.reset, high0.reset, low1.reset, high1.reset, low2.reset, high2.reset);
        drive!(self, store => low0.store, high0.store, low1.store, high1.store, low2.store, high2.store);
        fill!(self, row0.from, low0.value => low; high0.value => high);
        fill!(self, row1.from, low1.value => low; high1.value => high);
        fill!(self, row2.from, low2.value => low; high2.value => high);
        drive!(self, row0.to => stage0; row1.to => stage1; row2.to => stage2);
    }
}
