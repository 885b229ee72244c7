//! Verilated NICs, root complexes and an Ethernet fabric behind vfio-user sockets.
//!
//! ```text
//!   viaduct-sim:  socket --> vfio_user --> live --+
//!                                                 v
//!   tests:        in_process -------------------> network: for each NIC  root_complex <-> nic <-> mac
//!                                                                             |                  |
//!                                                                          memory             fabric
//! ```
//!
//! * [`function`], [`endpoint`]: what is simulated, at its two sides: in a [`slot`] a [`nic`], pin by pin, [`rtl`]: the Verilated top behind
//!   it; or [`model`], the functional model. [`pcie`]: the RTL behind a PCI Express link. Both RTLs
//!   are models of `shim`.
//! * [`port`]: which of them it is.
//! * [`root_complex`], [`memory`], [`tlp`]: the PCI Express side.
//! * [`fabric`]: the Ethernet side; [`stream`]: its ports to the outside.
//! * [`network`], [`clock`]: all of it in lockstep; [`watch`]: what each NIC is seen to do.
//! * [`live`], [`vfio_user`], [`control`], [`directory`]: as a process with sockets.
//! * [`in_process`], [`baton`]: inside a test.

pub mod arguments;
pub mod baton;
pub mod clock;
pub mod control;
pub mod directory;
pub mod endpoint;
pub mod fabric;
pub mod function;
pub mod in_process;
pub mod live;
pub mod memory;
pub mod model;
pub mod network;
pub mod nic;
pub mod pcie;
pub mod port;
pub mod port_server;
pub mod reach;
pub mod root_complex;
pub mod rtl;
pub mod served;
pub mod setup;
mod shim;
pub mod slot;
pub mod stream;
pub mod tlp;
pub mod vfio_user;
pub mod watch;
