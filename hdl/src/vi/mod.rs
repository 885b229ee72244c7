//! The states of the virtual interfaces.

mod state;

pub use state::ViState;
