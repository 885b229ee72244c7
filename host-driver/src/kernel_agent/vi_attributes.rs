//! What a VI is created with (VIP_VI_ATTRIBUTES), and what of it there can be.

use super::AgentError;
use crate::{
    address::{Mtu, Service},
    cm::NotReady,
    queues::{
        ring::{MAX_RING_LOG2, MIN_RING_LOG2},
        Direction,
    },
};

/// Largest message in bytes: with the smallest packets it has 2^22 PSNs, well inside the window of
/// 2^23 that tells old from new. (A read has 2^20 at most, and so all of these bytes from packets of 1024 bytes on:
/// REQ-1.)
pub const MAX_TRANSFER: u32 = 1 << 30;

/// What a VI is created with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ViAttributes {
    /// Protection tag: its descriptors and buffers lie in memory of this tag.
    pub tag: u16,
    /// Reliability level.
    pub service: Service,
    /// Largest packet.
    pub mtu: Mtu,
    /// Largest message in bytes.
    pub max_transfer: u32,
    /// log2 of the slots of the send ring.
    pub send_log2: u32,
    /// log2 of the slots of the receive ring.
    pub receive_log2: u32,
    /// The peer may write memory of this tag whose region allows it.
    pub rdma_write: bool,
    /// The peer may read memory of this tag whose region allows it. Not with Unreliable Delivery.
    pub rdma_read: bool,
    /// What becomes of a peer's message that finds no receive posted. With Unreliable Delivery it is dropped, whatever this says. A peer hears of it
    /// when the two are connected over the wire; one that is connected by [`ConnectionInfo`](crate::address::ConnectionInfo) alone sends no second time.
    pub not_ready: NotReady,
    /// Index of the completion queue of its sends.
    pub send_cq: Option<u16>,
    /// Index of the completion queue of its receives.
    pub receive_cq: Option<u16>,
}

impl ViAttributes {
    /// Whether there can be such a VI.
    ///
    /// # Errors
    /// The attribute that no VI can have.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        if self.rdma_read && !self.service.is_reliable() {
            return Err(AgentError::RdmaRead);
        }
        for log2 in [self.send_log2, self.receive_log2] {
            if !(MIN_RING_LOG2..=MAX_RING_LOG2).contains(&log2) {
                return Err(AgentError::Ring(log2));
            }
        }
        if !(1..=MAX_TRANSFER).contains(&self.max_transfer) {
            return Err(AgentError::MaxTransfer(self.max_transfer));
        }
        self.not_ready.check().map_err(AgentError::NotReady)?;
        Ok(())
    }

    /// The completion queue of one of its work queues.
    pub(crate) fn cq(&self, direction: Direction) -> Option<u16> {
        match direction {
            Direction::Send => self.send_cq,
            Direction::Receive => self.receive_cq,
        }
    }
}
