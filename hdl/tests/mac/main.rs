//! The Ethernet MAC and what stands on it, as exported Verilog in Verilator, with every clock at its own pace.

mod board;
mod clocks;
mod echo;
mod frames;
mod mdio;
mod pause;
mod receive;
mod reset;
mod start;
mod ticks;
mod transmit;
mod world;

#[path = "../common/bundle.rs"]
mod fields;
