//! The layers of the PCI Express endpoint, as exported Verilog in Verilator.

mod link;

#[path = "../common/bundle.rs"]
mod fields;
