//! The row of the region table that a number of N bits names; 0, which is never used, for a number beyond the table.
//!
//! ```text
//!   number ──►┌───────────┐──► row
//!             └───────────┘
//! ```
//! Contract: `row` follows `number` in the same cycle; with 256 rows, 255 gives row 255, and 256 gives row 0, whose region is never live.
//!
//! Example: the table has 256 rows, and a token's 15 bits name region 300. `row` is 0, and not 44, the row that the lowest 8 bits would
//! name; the number 44 gives row 44.
//!
//! Latency: 0 cycles. Tests: with the blocks that keep regions, `tests/queues/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{REGIONS, REGION_LOG2};

use super::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RegionRowNumber<const N: usize> {
    /// Number of a region, as a token or a table row has it.
    pub number: Signal<In, Bits<N>>,
    /// The region's row.
    pub row: Signal<Out, Bits<REGION_LOG2>>,
    regions: Number<N, { REGIONS as u64 }>,
}

impl<const N: usize> Logic for RegionRowNumber<N> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.row.next = bit_cast::<REGION_LOG2, N>(self.number.val());
        if self.number.val() >= self.regions.val() {
            self.row.next = bits::<REGION_LOG2>(0);
        }
    }
}
