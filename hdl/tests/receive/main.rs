//! The receive path's blocks, each as exported Verilog in Verilator.

#[path = "../common/bundle.rs"]
mod bundle;

mod frames;
mod ingress;
mod parse;
mod path;
mod random;
mod raw;
mod reads;
mod shown;
mod store;
mod world;
mod write;
