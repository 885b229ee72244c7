//! The protection checker on its exported Verilog, against a model written from its contract.

#[path = "../common/bundle.rs"]
mod bundle;

mod checks;
mod harness;
mod model;
mod shared_port;
mod traffic;
