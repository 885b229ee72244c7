//! The states of the virtual interfaces.

mod settle;
mod state;

pub use settle::Settle;
pub use state::ViState;
