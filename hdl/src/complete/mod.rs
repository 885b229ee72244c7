//! The end of a descriptor: its status, in place.

mod sends;
mod writer;

pub use sends::{Command, Expired, Sends, Timers};
pub use writer::Writer;
