//! Doorbells: what the host's stores say about the work queues, and which queues have work.

mod block;

pub use block::{Doorbell, Row};
