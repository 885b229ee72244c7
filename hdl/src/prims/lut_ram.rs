//! Distributed RAM: one write port, one combinational read port.
//!
//! ```text
//!   write_enable ──►┌────────┐
//!  write_address ──►│ LutRam │
//!     write_data ──►│  2^N×T │──► read_data
//!   read_address ──►└────────┘
//! ```
//! Contract: with `write_enable` the row of `write_address` becomes `write_data` at the rising edge.
//!
//! Latency: 0 cycles; the row of `read_address` in the same cycle. A row that is being written reads as its old contents
//! until the clock edge.
//!
//! Several read ports are several copies with the same write port. Costs about two LUT4 per bit and 16 rows.
//! Contents survive reset and are random at power-up in simulation.
//!
//! Example: row 3 is written in cycle 0 and read in cycles 0 and 1: cycle 0 shows the old contents, cycle 1 the new ones.
//!
//! Tests: `tests/prims/ram.rs`.

use rust_hdl::prelude::*;

/// See the module's description. `T` is the row, `2^N` the number of rows.
#[derive(LogicBlock, Default)]
pub struct LutRam<T: Synth, const N: usize> {
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
    /// The contents of the row at `read_address`, in the same cycle.
    pub read_data: Signal<Out, T>,
}

impl<T: Synth, const N: usize> Logic for LutRam<T, N> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
(* ram_style = \"distributed\" *)
reg [{high}:0] memory [{last}:0];

always @(posedge clock) if (write_enable) memory[write_address] <= write_data;
assign read_data = memory[read_address];
",
            high = T::BITS - 1,
            last = (1u64 << N) - 1,
        ))
    }
}
