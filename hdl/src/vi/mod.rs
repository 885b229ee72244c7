//! The states of the virtual interfaces, and the events that tell the agent of faults.
//!
//! | block | what for |
//! |---|---|
//! | [`ViState`] | decides the state of every VI and tells the other blocks |
//! | [`FaultVerdict`] | says whether a fault breaks its VI and makes an event |
//! | [`EventQueue`] | keeps events that wait for the error ring |
//! | [`Settle`] | waits until the faults and events that are there have come to their end |

mod event_queue;
mod settle;
mod state;
mod verdict;

pub use event_queue::EventQueue;
pub use settle::Settle;
pub use state::ViState;
pub use verdict::FaultVerdict;

/// Number of the blocks that offer faults.
pub const FAULT_SOURCES: usize = viaduct_spec::inside::fault_source::CODES.codes.len();
