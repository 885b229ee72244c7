//! Why the connection manager did not do what it was asked.

use super::wrong::Wrong;
use crate::address::PeerError;

/// Why a call did nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum CmError {
    /// Something of this end's that no message can say.
    #[error("{0}")]
    Own(String),
    /// The connection is gone, or not where this can be done.
    #[error("connection {0:#010x} is gone, or there is nothing to be done about it now")]
    Gone(u32),
    /// More of the consumer's own than a message has room for.
    #[error("{length} bytes of private data: there is room for {room}")]
    Data {
        /// Bytes.
        length: usize,
        /// Room.
        room: usize,
    },
    /// The ends do not fit. Nothing was sent: with other attributes it may be tried again.
    #[error("{0}")]
    Peer(String),
}

impl CmError {
    /// The connection is gone: nothing more is to come of it.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone(_))
    }
}

impl From<Wrong> for CmError {
    fn from(error: Wrong) -> Self {
        Self::Own(error.to_string())
    }
}

impl From<PeerError> for CmError {
    fn from(error: PeerError) -> Self {
        Self::Peer(error.to_string())
    }
}
