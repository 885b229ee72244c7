//! Distributed RAM for rows of one bit: one write port, one combinational read port.
//!
//! ```text
//!   write_enable ──►┌────────┐
//!  write_address ──►│ BitRam │
//!     write_data ──►│  2^N   │──► read_data
//!   read_address ──►└────────┘
//! ```
//! Contract: that of a [`LutRam`](super::LutRam) of `bool`. A write needs more of the cycle: it changes one bit of four that stand together.
//!
//! How: a distributed RAM is four bits wide. A `LutRam` of one bit leaves three of them empty and takes one for every 16 rows. Here each
//! holds 64 rows; a second copy is read where a bit is to be written, so that the other three stay as they are.
//!
//! Latency: 0 cycles; the bit of `read_address` in the same cycle. A bit that is being written reads as its old value until the clock edge.
//!
//! Contents survive reset and are random at power-up in simulation.
//!
//! Example: row 3 is written in cycle 0 and read in cycles 0 and 1: cycle 0 shows the old bit, cycle 1 the new one.
//!
//! Tests: `tests/prims/ram.rs`.

use rust_hdl::prelude::*;

/// See the module's description. `2^N` is the number of rows.
#[derive(LogicBlock, Default)]
pub struct BitRam<const N: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The owner writes a row in this cycle.
    pub write_enable: Signal<In, bool>,
    /// The row that is written.
    pub write_address: Signal<In, Bits<N>>,
    /// The new bit of that row.
    pub write_data: Signal<In, bool>,
    /// The row that is read.
    pub read_address: Signal<In, Bits<N>>,
    /// The bit of the row at `read_address`, in the same cycle.
    pub read_data: Signal<Out, bool>,
}

impl<const N: usize> Logic for BitRam<N> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        // log2 of the bits that stand together.
        let column = if N > 2 { 2 } else { 1 };
        assert!(N > column, "BitRam: at least four rows");
        Verilog::Custom(format!(
            "\
(* ram_style = \"distributed\" *)
reg [{high}:0] memory [{last}:0];
wire [{high}:0] together = memory[write_address[{top}:{column}]];
wire [{high}:0] at_hand = memory[read_address[{top}:{column}]];
wire [{high}:0] chosen = {bits}'d1 << write_address[{low}:0];

always @(posedge clock)
    if (write_enable) memory[write_address[{top}:{column}]] <= write_data ? together | chosen : together & ~chosen;
assign read_data = at_hand[read_address[{low}:0]];
",
            bits = 1 << column,
            high = (1 << column) - 1,
            last = (1u64 << (N - column)) - 1,
            top = N - 1,
            low = column - 1,
        ))
    }
}
