//! The Viaduct NIC datapath in RustHDL, and its export to Verilog.
//!
//! The exported Verilog is the design: every test runs it in Verilator, never RustHDL's own simulator.

pub mod bus;
pub mod complete;
pub mod export;
pub mod literal;
pub mod prims;
pub mod send;
