//! The end of a descriptor: its status, in place.

mod sends;
mod writer;

pub use sends::Sends;
pub use writer::Writer;
