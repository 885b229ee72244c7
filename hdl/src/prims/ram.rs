//! Block RAM: one write port, one registered read port.
//!
//! ```text
//!   write_enable ──►┌───────┐
//!  write_address ──►│  Ram  │
//!     write_data ──►│ 2^N×T │──► read_data
//!   read_address ──►└───────┘
//! ```
//! Latency: `read_data` is the row of `read_address` one cycle later, every cycle.
//!
//! Contract: reading the row that is being written in the same cycle gives an unspecified word. In return the
//! memory has no collision logic (`no_rw_check`), which costs more than the memory on ECP5. To keep users honest,
//! that word is wrong on purpose in Verilator and arbitrary in the formal proofs. Contents survive reset and are
//! random at power-up in simulation.
//!
//! Example: row 3 is written in cycle 0; `read_address` is 3 in cycle 1, and `read_data` is the new row in cycle 2.
//!
//! Tests: `tests/prims/ram.rs`; proof: `formal/ram.sv`.

use rust_hdl::prelude::*;

/// See the module's description. `T` is the row, `2^N` the number of rows.
#[derive(LogicBlock, Default)]
pub struct Ram<T: Synth, const N: usize> {
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
}

impl<T: Synth, const N: usize> Logic for Ram<T, N> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.read_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
(* no_rw_check, ram_style = \"block\" *)
reg [{high}:0] memory [{last}:0];

always @(posedge clock) begin
   if (write_enable) memory[write_address] <= write_data;
   read_data <= memory[read_address];
`ifdef VERILATOR
   if (write_enable && write_address == read_address) read_data <= ~memory[read_address];
`endif
`ifdef FORMAL
   if (write_enable && write_address == read_address) read_data <= $anyseq;
`endif
end
",
            high = T::BITS - 1,
            last = (1u64 << N) - 1,
        ))
    }
}
