//! What memory is registered for.

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
