//! The send side: from a fetched descriptor to a frame.

mod gather;

pub use gather::Gather;
