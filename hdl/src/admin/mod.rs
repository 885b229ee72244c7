//! What the agent sees: registers, commands, counters.

mod broadcast;
mod command;
mod counters;
mod listener;
mod registers;

pub use broadcast::Broadcast;
pub use command::Command;
pub use counters::Counters;
pub use listener::Listener;
pub use registers::Registers;
