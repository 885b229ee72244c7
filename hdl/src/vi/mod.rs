//! The states of the virtual interfaces.

mod events;
mod settle;
mod sources;
mod state;
mod verdict;

pub use events::EventQueue;
pub use settle::Settle;
pub use sources::{FaultSources, FAULT_SOURCES};
pub use state::ViState;
pub use verdict::FaultVerdict;
