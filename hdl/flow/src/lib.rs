//! What is done with the exported Verilog outside simulation: checks, sizes and proofs, with Verilator and yosys; and the
//! program `viaduct-export`, which does it.

pub mod budget;
pub mod equal;
pub mod gate;
pub mod pool;
pub mod prove;
mod tool;
