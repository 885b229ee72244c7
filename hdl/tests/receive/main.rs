//! The receive path's blocks, each as exported Verilog in Verilator.

mod bundle;
mod frames;
mod ingress;
mod parse;
mod path;
mod random;
mod store;
mod world;
mod write;
