//! The agent's side of the NIC and the VI states, on their exported Verilog.

#[path = "../common/bundle.rs"]
mod bundle;

mod broadcast;
mod command;
mod counters;
mod loads;
mod quiet;
mod registers;
mod settle;
mod state;
