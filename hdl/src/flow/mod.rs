//! What is done with the exported Verilog outside simulation: checks, sizes and proofs, with Verilator and yosys.

pub mod budget;
pub mod gate;
pub mod pool;
pub mod prove;
mod tool;
