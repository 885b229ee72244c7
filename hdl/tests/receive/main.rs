//! The receive path's blocks, each as exported Verilog in Verilator.

mod bundle;
mod frames;
mod parse;
mod path;
mod world;
