//! What carries Ethernet frames on this machine: a TAP device of the kernel's, and a socket in QEMU's stream format. Programs put one
//! of them and a NIC's wire together.

pub mod stream;
mod tap;

pub use tap::{Tap, TapError};

/// Bytes of the largest frame that either carries, without its FCS: a jumbo frame of the simulator's wire.
pub const LONGEST: usize = 9216;
