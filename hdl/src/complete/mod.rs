//! Completion: when a message is done, and how its descriptor says so.

mod sends;
mod writer;

pub use sends::Sends;
pub use writer::Writer;
