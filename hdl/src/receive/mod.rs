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
mod commits;
mod contexts;
mod delay;
mod delivery;
mod flush;
mod icrc;
mod ingress;
mod job;
mod judge;
pub mod layouts;
mod lookup;
mod order;
mod parse;
mod path;
mod reads;
mod roster;
mod scatter;
mod show;
mod station;
mod store;
mod untag;

pub use ahead::Ahead;
pub use closing::Closing;
pub use commits::Commits;
pub use contexts::Contexts;
pub use delay::FrameDelay;
pub use delivery::{
    Delivery, DeliveryCounts, DeliveryEvents, Handover, Opening, Outcome, Placement, Report, Standing,
};
pub use flush::Flush;
pub use icrc::Icrc;
pub use ingress::Ingress;
pub use job::{ReadPlaced, ReadTarget, Told};
pub use judge::Judge;
pub use lookup::Lookup;
pub use parse::{Parse, ParseEvents};
pub use path::Receive;
pub use reads::{AnswerCheck, AnswerWord, ReadTable, Reads};
pub use roster::Roster;
pub use scatter::{FarSegments, PayloadMover, Scatter};
pub use show::Fate;
pub use station::{StationSink, StationSource};
pub use store::Store;
pub use untag::Untag;
