//! The layers of the PCI Express endpoint, as exported Verilog in Verilator.

mod crossing;
mod lights;
mod link;
mod mac;
mod phy;
mod trace;
mod transaction;

#[path = "../common/bundle.rs"]
mod bundle;
#[path = "../common/clock.rs"]
mod clock;
