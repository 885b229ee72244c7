//! What the NIC owes its peers: the answers to their RDMA reads.
//!
//! ```text
//!  receive/delivery ──► request ──►┌──────────┐──► reply ──► send/gather
//!                   ◄── answer  ◄──│ Requests │──► word, held, free ──► send/ack
//!                                  └──────────┘◄── gone, failed ◄── send/transmit
//! ```

mod answer_size;
mod behind;
mod cursor;
mod cut;
mod departures;
mod packet_divider;
mod queues;
mod requests;
mod slot_match;
mod slots;
mod steps;

pub use behind::Behind;
pub use packet_divider::PacketDivider;
pub use requests::Requests;
pub use slot_match::SlotMatch;
