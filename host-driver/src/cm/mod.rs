//! Connections over the wire: InfiniBand's communication management on queue pair 1, with VIA's addresses, and ARP for the hosts'.
//!
//! All of it is a state machine without input or output ([`Manager`]): frames and the time go in, frames and events come out.
//! The layouts are `viaduct_spec::cm`'s; docs/connections.md says what is sent when.

pub mod arp;
pub mod config;
mod connection;
pub mod datagram;
pub mod discriminator;
pub mod end;
pub mod error;
pub mod ethernet;
pub mod event;
pub mod event_queue;
pub mod id;
pub mod mad;
pub mod manager;
pub mod message;
mod neighbours;
mod outbox;
pub mod progress;
pub mod rdma_cm;
pub mod request;
mod state;
pub mod via;
pub mod wrong;

pub use config::Config;
pub use datagram::Host;
pub use discriminator::Discriminator;
pub use end::{End, NotReady};
pub use error::CmError;
pub use event::{Event, Refusal};
pub use event_queue::EventQueue;
pub use id::{ConnectionId, ListenerId};
pub use manager::Manager;
pub use request::{Party, Request, Target};
