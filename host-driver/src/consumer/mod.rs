//! What a consumer has of an agent's: a VI and a completion queue, each with its queues, for the data path, and the agent, for control.
//!
//! ```text
//!   Vi, Cq --+-- control --> dyn KernelAgent
//!            +-- data -----> queues: rings in memory, doorbell pages
//! ```

mod cq;
mod vi;

pub use cq::Cq;
pub use vi::Vi;
