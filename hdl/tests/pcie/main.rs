//! The layers of the PCI Express endpoint, as exported Verilog in Verilator.

mod core_edge;
mod crossing;
mod endpoint;
mod lights;
mod link;
mod mac;
mod packet;
mod phy;
mod seam;
mod trace;
mod transaction;

#[path = "../common/bundle.rs"]
mod bundle;
#[path = "../common/clock.rs"]
mod clock;
