//! The states of the virtual interfaces.

mod events;
mod settle;
mod state;
mod verdict;

pub use events::EventQueue;
pub use settle::Settle;
pub use state::ViState;
pub use verdict::FaultVerdict;

/// Number of the blocks that offer faults.
pub const FAULT_SOURCES: usize = viaduct_spec::inside::fault_source::CODES.codes.len();
