//! Messages of the vfio-user protocol, version 0.1: a 16-byte header and little-endian structures.
//!
//! Everything here is pure: bytes in, a [`Request`] or an error number out. Nothing that a client
//! sends can make it panic or allocate more than the message is long.

mod fields;
mod header;
mod ours;
mod request;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use ours::{dma_command, version_reply, words};
pub use request::{irq, Request, Write};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Most bytes of one region access.
pub const MAX_TRANSFER: usize = 1 << 20;
/// Most bytes of a message; a longer one ends the connection before anything is allocated for it.
pub const MAX_MESSAGE: usize = MAX_TRANSFER + 64;
/// Most file descriptors in a message.
pub const MAX_FDS: usize = 16;
/// Protocol version.
pub const MAJOR: u16 = 0;
/// Newest minor version that we know.
pub const MINOR: u16 = 1;

/// Command numbers.
pub mod command {
    #![allow(missing_docs)]
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const DEVICE_GET_INFO: u16 = 4;
    pub const DEVICE_GET_REGION_INFO: u16 = 5;
    pub const DEVICE_GET_IRQ_INFO: u16 = 7;
    pub const DEVICE_SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const DMA_READ: u16 = 11;
    pub const DMA_WRITE: u16 = 12;
    pub const DEVICE_RESET: u16 = 13;
    pub const REGION_WRITE_MULTI: u16 = 15;
}
