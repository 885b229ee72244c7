//! The end of a descriptor: its status is written into it, and its entry into a completion queue.
//!
//! | block | what for |
//! |---|---|
//! | [`Sends`] | which sends are complete |
//! | [`Writer`] | writes status and entry |
//! | [`CompletionQueues`] | what the entry is, and where it goes |
//! | [`Indices`] | how far each completion queue is written and taken |

mod indices;
mod queues;
mod sends;
mod writer;

pub use indices::{CqRow, Indices};
pub use queues::{CompletionQueues, ErrorRing, NextEntry};
pub use sends::{
    Effect, Effects, Facts, Finding, LeftPacket, SendCounts, Sends, TimerCommand, TimerEnd, Timers,
};
pub use writer::Writer;
