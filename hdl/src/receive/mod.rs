//! The way in: a frame is joined, checked, stored, matched to a receive descriptor, and scattered.
//!
//! ```text
//!  MAC ──►┌─────────┐   ┌───────┐   ┌───────┐ info   ┌─────────┐ job  ┌─────────┐──► Access
//!         │ Ingress ├──►│ Parse ├──►│ Store ├───────►│ Matcher ├─────►│ Scatter │
//!  loop ─►└─────────┘   └───────┘   └───┬───┘        └────┬────┘      └────┬────┘──► WriteBeat
//!  back                                 └──── payload ────│────────────────┘
//!  fetch ──►┌───────┐ descriptors fetched ahead           │      Completion, Acknowledged, Fault
//!           │ Ahead ├────────────────────────────────────►┴──►
//!           └───────┘
//! ```

mod ahead;
mod icrc;
mod ingress;
//M mod matcher;
mod parse;
//M mod scatter;
mod store;
mod untag;

pub use ahead::Ahead;
pub use icrc::Icrc;
pub use ingress::Ingress;
//M pub use matcher::Matcher;
pub use parse::Parse;
//M pub use scatter::Scatter;
pub use store::Store;
pub use untag::Untag;
