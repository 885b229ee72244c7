//! Guests: virtual machines with Debian's kernel, in QEMU. Nothing of them needs root, KVM or a kernel module of this machine. `vfio`,
//! `linux` and `mpi` start them.

mod archive;
mod cache;
pub mod console;
mod cpio;
mod kernel;
mod libraries;
pub mod running;
pub mod simulator;
mod sockets;
mod sources;

pub use cache::{Cache, Root};
pub use cpio::Cpio;
pub use libraries::Files;
pub use sockets::Sockets;
