//! Fetching work: from a VI that has some to its descriptors on the NIC.
//!
//! ```text
//!   doorbell ──►┌───────────────┐   ring lines  ┌─────────┐──► head, word      (to gather)
//!               │     Fetch     │◄──────────────│ Landing │──► filled, ahead   (to receive/ahead)
//!    protect ◄──│  which, where │──────────────►│  words  │◄── ReadBeat
//!               └───────────────┘ what to expect└─────────┘
//! ```

mod landing;
mod plan;
mod queues;
mod scheduler;

pub use landing::{Expected, Landing, Piece};
pub use plan::Plan;
pub use queues::{Queues, WorkQueue, QUEUE_LOG2};
pub use scheduler::Fetch;
