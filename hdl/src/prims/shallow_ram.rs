//! Distributed RAM with the ports of a block RAM: for few or narrow rows, of which a block would hold little else.
//!
//! ```text
//!   write_enable ──►┌────────────┐
//!  write_address ──►│ ShallowRam │
//!     write_data ──►│    2^N×T   │──► read_data
//!   read_address ──►└────────────┘
//! ```
//! Latency: `read_data` is the row of `read_address` one cycle later, every cycle.
//!
//! Contract: that of [`Ram`](super::Ram), but a row that is being written reads as before. It costs about two LUT4 per bit and 16 rows where
//! `Ram` costs a DP16KD for each 36 bits.
//!
//! Example: row 3 is written in cycle 0; `read_address` is 3 in cycle 1, and `read_data` is the new row in cycle 2.
//!
//! Tests: `tests/prims/ram.rs`.

use super::LutRam;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `T` is the row, `2^N` the number of rows.
#[derive(LogicBlock, Default)]
pub struct ShallowRam<T: Synth, const N: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The owner writes a row in this cycle.
    pub write_enable: Signal<In, bool>,
    /// The row that is written.
    pub write_address: Signal<In, Bits<N>>,
    /// The new contents of that row.
    pub write_data: Signal<In, T>,
    /// The row that is read.
    pub read_address: Signal<In, Bits<N>>,
    /// The contents of the row at the `read_address` of the cycle before.
    pub read_data: Signal<Out, T>,
    rows: LutRam<T, N>,
    read: DFF<T>,
}

impl<T: Synth, const N: usize> Logic for ShallowRam<T, N> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, read);
        drive!(self, clock => rows.clock; write_enable => rows.write_enable; write_address => rows.write_address;
            write_data => rows.write_data; read_address => rows.read_address; rows.read_data => read.d;
            read.q => read_data);
    }
}
