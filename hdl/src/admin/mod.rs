//! The agent's side of the NIC: registers, commands and counters.
//!
//! | block | what for |
//! |---|---|
//! | [`Registers`] | BAR 0: what the agent's loads read and its stores write |
//! | [`Command`] | runs the agent's commands, and clears the tables after reset |
//! | [`Broadcast`] | gives a table row to every block that keeps a copy of its table |
//! | [`Counters`] | counts events and bytes |

mod broadcast;
mod command;
mod counters;
mod event_code;
mod event_number;
mod listener;
mod register_pair;
mod register_store;
mod register_values;
mod registers;
mod staged_row;
mod station_registers;
mod stored_register;

pub use broadcast::Broadcast;
pub use command::Command;
pub use counters::Counters;
pub use event_code::EventCode;
pub use event_number::EventNumber;
pub use listener::Listener;
pub use register_pair::{BarAddress, CounterAddress, RegisterPair};
pub use register_store::{RegisterStore, RegisterStores};
pub use register_values::RegisterValues;
pub use registers::Registers;
pub use staged_row::StagedRow;
pub use station_registers::StationRegisters;
pub use stored_register::StoredRegister;
