//! The receive path's blocks, each as exported Verilog in Verilator.

#[path = "../common/bundle.rs"]
mod bundle;

mod answers;
mod eth_receive;
mod frames;
mod ingress;
mod outstanding;
mod overdue;
mod packet_kind;
mod parse;
mod path;
mod payload;
mod random;
mod raw;
mod reads;
mod roster;
mod shown;
mod store;
mod turns;
mod world;
mod write;
