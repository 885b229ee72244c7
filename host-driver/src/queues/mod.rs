//! The consumer's ends of queues: what posts and looks need, and nothing of the Kernel Agent's.
//!
//! A [`vi::Vi`] has two token rings and a doorbell page, a [`cq::Cq`] has the ring that the NIC fills and a
//! doorbell page. Whoever made them ([`crate::kernel_agent::KernelAgent`]) is asked for control alone.

pub mod cq;
pub mod doorbells;
pub mod entries;
pub mod lock;
pub mod poller_state;
pub mod ring;
pub mod vi;

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
