//! The way in: a frame is joined, checked, stored, matched to a receive descriptor, and scattered.
//!
//! ```text
//!  MAC ──►┌─────────┐   ┌───────┐   ┌───────┐ info   ┌─────────┐ job  ┌─────────┐──► Access
//!         │ Ingress ├──►│ Parse ├──►│ Store ├───────►│ Matcher ├─────►│ Scatter │
//!  loop ─►└─────────┘   └───────┘   └───┬───┘        └────┬────┘      └────┬────┘──► WriteBeat
//!  back  │ words  ┌───────┐             │└─── payload ────│────────────────┘
//!        └───────►│ Delay ├─────────────┘                 │
//!                 └───────┘                               │
//!  fetch ──►┌───────┐ descriptors fetched ahead           │      Completion, Acknowledged, Fault
//!           │ Ahead ├────────────────────────────────────►┴──►
//!           └───────┘
//! ```

mod ahead;
mod closing;
mod contexts;
mod delay;
mod delivery;
mod flush;
mod icrc;
mod ingress;
mod job;
mod judge;
mod lookup;
mod matcher;
mod order;
mod outcome;
mod parse;
mod path;
mod reads;
mod report;
mod roster;
mod scatter;
mod standing;
mod station;
mod store;
mod tally;
mod untag;

pub use ahead::{Ahead, AheadMeta};
pub use closing::{Close, Closing};
pub use contexts::{Contexts, Message, Peer, Saved};
pub use delay::Delay;
pub use delivery::Delivery;
pub use flush::Flush;
pub use icrc::Icrc;
pub use ingress::Ingress;
pub use job::{Done, Job, ReadPlaced};
pub use judge::{Judge, Verdict};
pub use lookup::Lookup;
pub use matcher::Matcher;
pub use order::Order;
pub use outcome::{Ending, Outcome, Situation};
pub use parse::Parse;
pub use path::Receive;
pub use reads::Reads;
pub use report::Report;
pub use roster::Roster;
pub use scatter::{result, Scatter};
pub use standing::Standing;
pub use station::{StationSink, StationSource};
pub use store::Store;
pub use tally::Tally;
pub use untag::Untag;
