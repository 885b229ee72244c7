//! Doorbells: what the host's stores say about the work queues, and which queues have work.

mod block;
mod cq_pages;

pub use block::Doorbell;
pub use cq_pages::CqPages;
