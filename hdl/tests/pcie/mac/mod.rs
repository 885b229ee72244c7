//! The physical layer's logic against a root port, with a data link layer in Rust above it and a monitor that trusts neither side.

mod align;
mod damage;
mod edges;
mod ports;
mod power;
mod recovery;
mod reset;
mod rules;
mod script;
mod skp;
mod steps;
mod times;
mod traffic;
pub mod training;
pub mod world;
