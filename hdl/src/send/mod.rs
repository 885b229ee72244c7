//! The send side: from a fetched descriptor to a frame.

mod ack;
mod egress;
mod gather;
mod transmit;

pub use ack::Ack;
pub use egress::Egress;
pub use gather::Gather;
pub use transmit::Transmit;
