//! The way in: a frame is joined, checked, stored, matched to a receive descriptor, and scattered.
//!
//! ```text
//!  MAC ──►┌─────────┐  ┌───────┐  ┌───────┐ show ┌────────┐ order ┌──────────┐ close ┌─────────┐──► Completion
//!         │ Ingress ├─►│ Parse ├─►│ Store ├─────►│ Lookup ├──────►│ Delivery ├──────►│ Closing │──► Fault
//!  loop ─►└────┬────┘  └───────┘  └─▲──┬──┘      └────▲───┘       └─┬──────┬─┘       └─────────┘
//!              │ words  ┌────────────┐│ │             │             │ job  │ answer
//!              └───────►│ FrameDelay ├┘ │ payload     │             ▼      ▼
//!                       └────────────┘  │             │      ┌─────────┐ ┌───────┐
//!  fetch ───►┌───────┐                  └─────────────│─────►│ Scatter │ │ Reads │──► Acknowledged
//!            │ Ahead ├─────────── descriptors ────────┤      └─────────┘ └───────┘    (through Delivery)
//!            └───────┘                                │           └──► Access, WriteBeat
//!  state ───►┌───────┐   ┌──────────┐                 │
//!            │ Flush ├───┤ Contexts ├──── VIs ────────┘
//!            └───────┘   └──────────┘◄── rows, from Commits
//! ```
//! [`Receive`] joins them. [`EthReceive`] stands between the MAC and `Ingress`, and says how many bytes a beat has.

mod ahead;
mod closing;
mod commits;
mod contexts;
mod delay;
mod delivery;
mod eth_receive;
mod flush;
mod icrc;
mod ingress;
mod job;
mod judge;
mod lookup;
mod order;
mod packet_kind;
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
    Delivery, DeliveryCounts, DeliveryEvents, Dispatch, Opening, Outcome, Placement, Report, Standing,
};
pub use eth_receive::EthReceive;
pub use flush::Flush;
pub use icrc::Icrc;
pub use ingress::Ingress;
pub use job::{ReadPlaced, ReadTarget, Told};
pub use judge::Judge;
pub use lookup::Lookup;
pub use packet_kind::{Kind, Operation, PacketKind};
pub use parse::{beats, Parse, ParseEvents};
pub use path::Receive;
pub use reads::{AnswerCheck, AnswerWord, ReadTable, Reads};
pub use roster::Roster;
pub use scatter::{FarSegments, PayloadMover, Scatter};
pub use show::Fate;
pub use station::{StationSink, StationSource};
pub use store::Store;
pub use untag::Untag;
