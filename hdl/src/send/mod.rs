//! The send side: from a fetched descriptor to a frame.

mod ack;
mod egress;
mod flush_read;
mod gather;
mod transmit;

pub use ack::Ack;
pub use egress::Egress;
pub use flush_read::FlushRead;
pub use gather::Gather;
pub use transmit::Transmit;
