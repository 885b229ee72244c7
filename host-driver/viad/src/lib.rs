//! `viad`: VIA's Kernel Agent as a service. It owns one NIC and serves a Unix socket to processes that do not trust each other.
//! docs/viad.md has the picture; this is the server, [`viaduct_driver::viad`] what it says to the library.

pub mod accounts;
pub mod arguments;
pub mod config;
pub mod connections;
pub mod events;
pub mod forwarder;
pub mod inbox;
pub mod nic;
pub mod opening;
pub mod peer;
pub mod record;
pub mod server;
pub mod service;
pub mod session;
pub mod table;
pub mod throttle;
pub mod trust;
