//! The send side: from a fetched descriptor to a frame.

mod gather;
mod transmit;

pub use gather::Gather;
pub use transmit::Transmit;
