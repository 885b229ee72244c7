//! The physical layer's logic against a root port, with a data link layer in Rust above it and a monitor that trusts neither side.

mod damage;
mod edges;
mod power;
mod recovery;
mod reset;
mod skp;
mod times;
mod training;
mod world;
