//! What the queues and waits promise about threads, in every order that the threads can take: loom runs the code itself, with atomics, fences and
//! locks of its own (`crate::sync`). Each model must find what is wrong with the code when an order is weakened or a step left out.
//!
//! `cargo xtask test --only threads` runs them.

mod doorbells;
mod lock;
mod sleepers;
mod two_locks;
mod waits;
