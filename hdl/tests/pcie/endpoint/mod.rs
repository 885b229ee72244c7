//! The whole endpoint, from the symbol seam to the core's edge: a root port with its monitor on one side, a core on the other, each with
//! a clock of its own.

mod core;
mod enumeration;
mod host;
mod load;
mod power;
mod reset;
mod traffic;
mod training;
mod world;
