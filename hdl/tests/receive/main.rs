//! The receive path's blocks, each as exported Verilog in Verilator.

mod bundle;
mod frames;
mod ingress;
mod parse;
mod path;
mod random;
mod raw;
mod reads;
mod store;
mod world;
mod write;

#[path = "../common/bundle.rs"]
mod fields;
