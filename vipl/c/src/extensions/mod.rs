//! What VIPL has no word for: the functions of vipl_ext.h, a file each section.

mod drain;
mod list;
mod listener;
pub mod memory;
mod not_ready;
mod queue;
mod thread_safe;
mod waiting;

use crate::types::Pvoid;

/// Ends the listeners and connection queues that were made with a handle of a NIC.
pub fn close(nic_handle: Pvoid) {
    listener::close(nic_handle);
    queue::close(nic_handle);
}
