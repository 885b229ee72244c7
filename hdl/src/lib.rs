//! The Viaduct NIC datapath in RustHDL, and its export to Verilog.
//!
//! The exported Verilog is the design: every test runs it in Verilator, never RustHDL's own simulator.
//!
//! A port's comment says what it carries, and which block is at its other end. A port that names none has the block that contains it there.

#![allow(clippy::collapsible_match, reason = "RustHDL does not translate match guards")]

pub mod admin;
pub mod arithmetic;
pub mod blocks;
pub mod board;
pub mod bus;
pub mod clocks;
pub mod complete;
pub mod dma;
pub mod doorbell;
pub mod echo;
pub mod edge;
pub mod export;
pub mod fetch;
pub mod interrupt;
pub mod mac;
pub mod nic;
pub mod pcie;
pub mod prims;
pub mod proofs;
pub mod protect;
pub mod quiet;
pub mod receive;
pub mod reply;
pub mod reset;
pub mod rows;
pub mod send;
pub mod stream;
pub mod vi;
