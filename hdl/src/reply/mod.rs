//! What the NIC owes its peers: the answers to their RDMA reads.
//!
//! ```text
//!  receive/delivery ──► request ──►┌──────────┐──► reply ──► send/gather
//!                   ◄── answer  ◄──│ Requests │──► word, held, free ──► send/ack
//!                                  └──────────┘◄── gone, failed ◄── send/transmit
//! ```

mod behind;
mod count;
mod departures;
mod requests;
mod slots;

pub use behind::Behind;
pub use count::Count;
pub use departures::Departures;
pub use requests::Requests;
pub use slots::{Progress, Slots};
