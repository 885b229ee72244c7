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
mod closing;
mod contexts;
mod delivery;
mod flush;
mod icrc;
mod ingress;
mod judge;
mod lookup;
mod matcher;
mod outcome;
mod parse;
mod path;
mod scatter;
mod store;
mod untag;

pub use ahead::{Ahead, AheadMeta};
pub use closing::Closing;
pub use contexts::{Contexts, Message, Peer};
pub use delivery::Delivery;
pub use flush::Flush;
pub use icrc::Icrc;
pub use ingress::Ingress;
pub use judge::{Judge, Verdict};
pub use lookup::Lookup;
pub use matcher::Matcher;
pub use outcome::{Ending, Outcome, Situation};
pub use parse::Parse;
pub use path::Receive;
pub use scatter::{result, Scatter};
pub use store::Store;
pub use untag::Untag;
