//! Verilated NICs, root complexes and an Ethernet fabric behind vfio-user sockets.

pub mod clock;
pub mod fabric;
pub mod live;
pub mod memory;
pub mod network;
pub mod nic;
pub mod root_complex;
pub mod tlp;
pub mod vfio_user;
