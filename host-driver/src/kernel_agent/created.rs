//! What the agent gives of what it has made.

use super::{CqName, ViName};
use crate::{
    address::ConnectionInfo,
    queues::{consumer_ring::ConsumerRing, work_queues::WorkQueues},
};

/// A VI that has been made.
#[derive(Debug)]
pub struct CreatedVi {
    /// What the agent calls it.
    pub name: ViName,
    /// For its first connection.
    pub info: ConnectionInfo,
    /// Its work queues.
    pub queues: WorkQueues,
}

/// A completion queue that has been made.
pub struct CreatedCq {
    /// What the agent calls it.
    pub name: CqName,
    /// The interrupt vector of its entries.
    pub vector: u8,
    /// Its ring.
    pub ring: ConsumerRing,
}
