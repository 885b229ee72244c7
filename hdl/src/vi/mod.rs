//! The states of the virtual interfaces.

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
