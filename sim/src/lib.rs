//! Verilated NICs, root complexes and an Ethernet fabric behind vfio-user sockets.

pub mod clock;
pub mod memory;
pub mod nic;
pub mod root_complex;
pub mod tlp;
pub mod vfio_user;
