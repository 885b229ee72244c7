//! Messages of the vfio-user protocol, version 0.1: a 16-byte header and little-endian structures. Client and server use the same ones:
//! [`VfioUser`](super::VfioUser) here, and the simulator's server.
//!
//! ```text
//!   client: Request --body()--> Header::command(..).message(..) --> bytes
//!   server: bytes --> Header::decode --> Request::decode --> Header::reply, Header::failure --> bytes
//! ```
//! Everything here is pure: bytes in, a value or an error number out. Nothing that the other side sends can make it panic or allocate more than the
//! message is long.

mod command;
mod fields;
mod header;
mod info;
pub mod irq;
mod request;
#[cfg(test)]
mod tests;
mod version;

pub use command::Command;
pub use fields::words;
pub use header::Header;
pub use info::{DeviceInfo, IrqInfo, RegionInfo, CONFIG_REGION};
pub use request::{Request, Write};
pub use version::{files_taken, Version};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Most bytes of one region access, and of one access of the device's.
pub const MAX_TRANSFER: usize = 1 << 20;
/// Most bytes of a message; a longer one ends the connection before anything is allocated for it.
pub const MAX_MESSAGE: usize = MAX_TRANSFER + 64;
/// Most file descriptors in a message.
pub const MAX_FILES: usize = 16;
/// Protocol version.
pub const MAJOR: u16 = 0;
/// Newest minor version that we know.
pub const MINOR: u16 = 1;
