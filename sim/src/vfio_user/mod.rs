//! Our own vfio-user server: each NIC is a PCI device on a Unix socket.

pub mod channel;
pub mod message;
mod server;
mod session;

pub use server::serve;
