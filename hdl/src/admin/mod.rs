//! What the agent sees: registers, commands, counters.

mod broadcast;
mod command;
mod counters;
mod registers;

pub use broadcast::{listener, Broadcast};
pub use command::Command;
pub use counters::Counters;
pub use registers::Registers;
