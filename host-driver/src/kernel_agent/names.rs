//! What the agent calls what it has made.

/// Names a VI to the agent that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ViName {
    /// The row of its tables, the number of its doorbell page on the device.
    pub index: u16,
    /// Tells it from an earlier VI of this index.
    pub life: u16,
}

/// Names a completion queue to the agent that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct CqName {
    /// The row of its table.
    pub index: u16,
    /// Tells it from an earlier queue of this index.
    pub life: u64,
}
