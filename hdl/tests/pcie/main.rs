//! The layers of the PCI Express endpoint, as exported Verilog in Verilator.

mod crossing;
mod link;
mod mac;
mod transaction;

#[path = "../common/bundle.rs"]
mod bundle;
#[path = "../common/clock.rs"]
mod clock;
