//! Checks, measures and proves the exported Verilog outside simulation, with Verilator, Icarus Verilog and yosys; and the
//! program `viaduct-export`, which does all of it.

pub mod budget;
pub mod equal;
pub mod gate;
pub mod pool;
pub mod prove;
pub mod sizes;
mod tool;
