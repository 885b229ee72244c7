//! Keeps the position of each VI's oldest message, for fetch, which asks how much room the window has.
//!
//! ```text
//!  vi, position, write ──►┌───────────┐
//!                         │ Positions │◄─► completed: VI, its position
//!                         └───────────┘
//! ```
//! Contract: `write` keeps `position` for `vi`. The row of `completed` is that of its index in the cycle before. It is looked up in any
//! cycle, so the memory is distributed RAM.
//!
//! Latency: 1 cycle.
//!
//! Example: `write` keeps position 5 for VI 3 in cycle 0; VI 3 is looked up in cycle 1, and the row is 5 in cycle 2.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

use crate::bus::{Position, Vi};
use crate::prims::LutRam;
use crate::stream::Table;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Positions {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The VI at hand; [`Sends`](super::Sends) drives this and the next two.
    pub vi: Signal<In, Vi>,
    /// Position of the VI's oldest message that is not complete.
    pub position: Signal<In, Position>,
    /// Pulse: `position` is kept.
    pub write: Signal<In, bool>,
    /// For a VI: the position of its oldest message that is not complete; fetch asks.
    pub completed: Table<Vi, Position>,
    rows: LutRam<Position, VI_LOG2>,
    found: DFF<Position>,
}

impl Logic for Positions {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, found);
        clock!(self, clock, rows);
        drive!(self, write => rows.write_enable; vi => rows.write_address; position => rows.write_data;
            completed.index => rows.read_address; found.q => completed.row);
        self.found.d.next = self.rows.read_data.val();
    }
}
