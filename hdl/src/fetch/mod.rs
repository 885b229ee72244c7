//! Fetching work: from a VI that has some to its descriptors on the NIC.
//!
//! ```text
//!             ┌────────┐   ┌─────────────┐         ┌─────────┐
//!  doorbell ─►│ Choice │──►│    Fetch    │────────►│ Request │──► protect
//!             └────────┘   │ Turn,       │         └─────────┘
//!                 ▲        │ QueueRows   │
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
mod progress;
mod queue_rows;
mod request;
mod rewind_mark;
mod scheduler;
mod turn;

pub use choice::{Choice, ChosenQueue};
pub use landing::{DescriptorBeat, DescriptorRead, Landing};
pub use lines::{AskedLine, DescriptorPlace, FoundTokens, Lines};
pub use plan::Plan;
pub use queue_rows::{QueueRows, WorkQueue};
pub use request::Request;
pub use scheduler::Fetch;
pub use turn::Turn;
