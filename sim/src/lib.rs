//! Verilated NICs, root complexes and an Ethernet fabric behind vfio-user sockets.

pub mod memory;
pub mod root_complex;
pub mod vfio_user;
