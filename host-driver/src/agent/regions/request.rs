//! What is asked for as a region: a range of memory, and who may reach it.

use viaduct_spec::tables::region;

use crate::{agent::AgentError, memory::Mapping, pages};

/// What memory is registered for (VIP_MEM_ATTRIBUTES).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryAttributes {
    /// Protection tag.
    pub tag: u16,
    /// Remote peers of VIs with this tag may write it.
    pub rdma_write: bool,
    /// Remote peers of VIs with this tag may read it.
    pub rdma_read: bool,
}

/// A region as its owner asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Tag and rights.
    pub attributes: MemoryAttributes,
    /// An arena of the agent's.
    pub system: bool,
    /// Random bits for the handle.
    pub key: u16,
}

impl Request {
    /// For memory that holds rings: under the agent's own tag, with no right of any peer's.
    pub fn system(memory: &Mapping, tag: u16, key: u16) -> Self {
        Self {
            address: memory.start().as_ptr() as u64,
            length: memory.length() as u64,
            attributes: MemoryAttributes { tag, rdma_write: false, rdma_read: false },
            system: true,
            key,
        }
    }

    /// The whole pages that it touches: first byte, and bytes.
    pub fn pages(&self) -> Result<(u64, u64), AgentError> {
        whole_pages(self.address, self.length)
    }
}

/// The whole pages that `length` bytes from `address` on touch: first byte, and bytes.
///
/// # Errors
/// No region has so many, or none.
pub fn whole_pages(address: u64, length: u64) -> Result<(u64, u64), AgentError> {
    let whole = (length <= region::LENGTH.mask()).then(|| pages::whole_pages(address, length)).flatten();
    whole.ok_or(AgentError::Range { address, length })
}
