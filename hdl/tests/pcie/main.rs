//! The layers of the PCI Express endpoint, as exported Verilog in Verilator.

#[path = "../common/bundle.rs"]
mod bundle;
mod transaction;
