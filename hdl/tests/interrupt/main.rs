//! Interrupts on their exported Verilog: notification, the MSI-X table, the messages.

mod counted;
mod host;
mod message;
mod moderation;
mod nic;
mod notify;
mod random;
mod vectors;

#[path = "../common/bundle.rs"]
mod bundle;
