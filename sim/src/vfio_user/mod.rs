//! Our own vfio-user server: each NIC is a PCI device on a Unix socket.
//!
//! ```text
//!            +--> commands --> session --> live <-----------+
//!   reader --+                    |         |               |
//!      |     +--> answers to -----|---------|---> live      |
//!      |          DMA commands    v         v               |
//!   client <-------------------- outbox <- loads, dma ------+
//! ```
//!
//! The session does not wait for a load of up to eight bytes before it goes on: who steps the NIC replies. Replies go out in the order of the commands
//! all the same. The reader takes answers to our own commands whatever the session waits for. The outbox's writer sends what the client's socket does not take at once.

pub mod channel;
mod dma;
mod loads;
mod nonsense;
mod outbox;
mod server;
mod session;
mod version;

pub use server::serve;
