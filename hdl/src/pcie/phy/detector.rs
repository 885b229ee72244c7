//! Looks for a receiver at the other end of the lane, by the DCU's means.
//!
//! ```text
//!                    request ──►┌──────────┐──► done, present
//! cell_done, cell_present ──►│ Detector │──► enable, start
//!                               └──────────┘
//! ```
//! Contract: `request` comes when the lane has been idle; it holds until `done`, and `present` counts then. Lattice's steps (TN1261): idle for
//! 120 ns, `enable` for 120 ns, `start` for four bytes; `cell_done` falls, and rises when `cell_present` is right. A cell that never
//! does so is left when `request` falls.
//!
//! Latency: 36 cycles and what the cell takes.
//!
//! Example: the LTSSM is in Detect.Active: `request` rises, `start` is high in cycles 33 and 34, and `done` rises behind `cell_done`.
//!
//! Tests: `tests/pcie/phy/detector.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Detector {
    /// Rising edge; `pclk`.
    pub clock: Signal<In, Clock>,
    /// Look for a receiver, from the LTSSM.
    pub request: Signal<In, bool>,
    /// The look has ended.
    pub done: Signal<Out, bool>,
    /// There is a receiver.
    pub present: Signal<Out, bool>,
    /// PCIE_DET_EN, to the DCU.
    pub enable: Signal<Out, bool>,
    /// PCIE_CT, to the DCU.
    pub start: Signal<Out, bool>,
    /// PCIE_DONE, from the DCU.
    pub cell_done: Signal<In, bool>,
    /// PCIE_CON, from the DCU.
    pub cell_present: Signal<In, bool>,
    /// Cycles of the steps that are counted.
    count: DFF<Bits<6>>,
    /// `cell_done` has been low since `start`.
    fell: DFF<bool>,
    ended: DFF<bool>,
    found: DFF<bool>,
    enabled: DFF<bool>,
    started: DFF<bool>,
    idle: Number<6, 16>,
    stable: Number<6, 32>,
    last: Number<6, 34>,
}

impl Logic for Detector {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count, fell, ended, found, enabled, started);
        self.started.d.next = false;
        if self.count.q.val() != self.last.val() {
            self.count.d.next = self.count.q.val() + 1;
            self.started.d.next = self.count.q.val() >= self.stable.val();
        } else if !self.ended.q.val() & !self.started.q.val() {
            if !self.cell_done.val() {
                self.fell.d.next = true;
            } else if self.fell.q.val() {
                self.ended.d.next = true;
                self.found.d.next = self.cell_present.val();
            }
        }
        self.enabled.d.next = (self.count.q.val() >= self.idle.val()) & !self.ended.q.val();
        if !self.request.val() {
            self.count.d.next = bits::<6>(0);
            self.fell.d.next = false;
            self.ended.d.next = false;
            self.enabled.d.next = false;
            self.started.d.next = false;
        }
        drive!(self, ended.q => done; found.q => present; enabled.q => enable; started.q => start);
    }
}
