//! The sockets of a live network: the `vfio_user` crate's client, hostile clients, control, and Ethernet ports.
//!
//! The functions behind them are dead ones: they answer no load, so that what is tested here is
//! all the simulator's own. `waits.rs` has the NIC.

mod client;
mod control;
mod dead;
mod hostile;
mod ports;
mod raw;
