//! Our own vfio-user server: each NIC is a PCI device on a Unix socket.
//!
//! ```text
//!            +--> commands --> session --> live
//!   reader --+                    |         |
//!            +--> answers to -----|---> live|
//!                 DMA commands    v         v
//!   writer <-------------------- outbox <- dma
//! ```
//!
//! The session may wait for a load; answers to our own commands are taken all the same.

pub mod channel;
mod dma;
pub mod message;
mod nonsense;
mod outbox;
mod server;
mod session;

pub use server::serve;
