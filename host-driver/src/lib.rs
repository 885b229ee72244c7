//! VIA's Kernel Agent in user space, and the PCI devices it drives.

pub mod device;
