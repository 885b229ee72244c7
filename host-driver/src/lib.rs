//! VIA's Kernel Agent in user space, and the PCI devices it drives.
//!
//! [`device::PciDevice`] is what a PCI function can do; [`vfio::Vfio`] is one that the kernel hands out
//! (a board, or a function of a virtual machine's), [`vfio_user::VfioUser`] one behind a socket (the
//! simulator). [`pci`] finds functions, and says what keeps one from being used. [`agent::Agent`] owns
//! such a function and does what VIA leaves to its Kernel Agent: memory registration, protection tags,
//! creation and connection of virtual interfaces; [`device_protocol`] is how it tells the NIC. It runs inside the process that uses the NIC, or in `viad`, which
//! many processes share: [`kernel_agent::KernelAgent`] is what a library asks of either, and
//! [`kernel_agent::connection_agent::ConnectionAgent`] for connections. [`queues`] are what
//! posts and looks need, past the agent. [`cm`] makes connections over the wire. [`log`] is where a program starts the log.

pub mod address;
pub mod agent;
pub mod barrier;
pub mod cm;
pub mod consumer;
pub mod credentials;
pub mod device;
pub mod device_memory;
pub mod device_protocol;
pub mod dma_space;
pub mod ethernet;
pub mod fork;
pub mod kernel_agent;
pub mod log;
pub mod memory;
pub mod name;
pub mod not_ready;
pub mod pages;
pub mod pci;
pub mod queues;
pub mod sync;
pub mod thread;
pub mod vfio;
pub mod vfio_user;
pub mod viad;
pub mod wait;
pub mod wakeup;

#[cfg(test)]
mod ledger;
#[cfg(all(test, loom))]
mod models;
