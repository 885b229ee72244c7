//! Fetching work: from a VI that has some to its descriptors on the NIC.
//!
//! ```text
//!             ┌────────┐   ┌─────────────┐         ┌─────────┐
//!  doorbell ─►│ Choice │──►│    Fetch    │────────►│ Request │──► protect
//!             └────────┘   │ Turn, Plan, │         └─────────┘
//!                 ▲        │   Queues    │
//!                 │        └─────────────┘
//!                 │ found    ▲ tokens   │ entry
//!              ┌───────┐─────┘          ▼         ──► head, word      (to gather)
//!  ReadBeat ──►│ Lines │          ┌─────────┐     ──► filled, ahead   (to receive/ahead)
//!         │    └───────┘          │ Landing │
//!         └──────────────────────►└─────────┘
//! ```

mod choice;
mod landing;
mod lines;
mod plan;
mod queues;
mod request;
mod scheduler;
mod turn;

pub use choice::Choice;
pub use landing::{Expected, Landing, Piece};
pub use lines::{Asked, Found, Lines};
pub use plan::Plan;
pub use queues::{Queues, WorkQueue};
pub use request::Request;
pub use scheduler::Fetch;
pub use turn::Turn;
