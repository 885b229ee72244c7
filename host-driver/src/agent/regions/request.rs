//! What is asked for as a region: a range of memory, and who may reach it.

use viaduct_spec::tables::region;

use crate::{
    kernel_agent::{AgentError, MemoryAttributes},
    memory::Mapping,
    pages,
};

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
    /// The DMA address, in a lease, at which its owner has mapped its first page. None: the agent finds one, and maps it.
    pub leased: Option<u64>,
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
            leased: None,
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
