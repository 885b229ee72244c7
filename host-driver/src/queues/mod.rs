//! The consumer's ends of queues: what posts and looks need, and nothing of the Kernel Agent's.
//!
//! [`work_queues::WorkQueues`], a VI's, are two token rings and a doorbell page; a [`consumer_ring::ConsumerRing`], a completion queue's, is the ring
//! that the NIC fills and a doorbell page. They know of memory and of the device's doorbells, and of nobody that made them.

pub mod consumer_ring;
pub mod doorbells;
pub mod entries;
pub mod lock;
pub mod locked;
pub mod poller_state;
pub mod ring;
pub mod work_queues;

/// A state of a VI (VIP_VI_STATE).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ViState {
    /// Not connected; receives may be posted and stay.
    Idle,
    /// Both queues are processed.
    Connected,
    /// Broken: everything posted is flushed, until the VI is disconnected.
    Error,
}

impl ViState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connected => "connected",
            Self::Error => "in error",
        }
    }
}

/// One of a VI's two work queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Sends and RDMA.
    Send,
    /// Receives.
    Receive,
}
