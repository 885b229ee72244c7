//! Ethernet ports of the switch whose other end is a socket. A guest of QEMU's plugs in there, or whatever speaks QEMU's stream format.
//!
//! ```text
//!              +--> inbox --> StreamPort --> Mac --+
//!   socket ----+                                   +--> switch
//!              +<-- outbox <- StreamPort <-- Mac --+
//!   port_server: a thread that reads, what the network steps
//!   and one that writes
//! ```
//!
//! Nothing is lost on the way. When the switch asks the port for silence, frames stay in the inbox, then in the socket, and then the peer waits. When the
//! peer does not read, the outbox fills, and the port asks the switch for silence.
//!
//! What is at the other end lives in wall time, so only a [live](crate::live) network has such ports, which [`crate::port_server`] serves.

mod outbox;
mod port;

pub use outbox::{Outbox, Outgoing};
pub use port::{Peer, StreamPort, StreamStatus};
