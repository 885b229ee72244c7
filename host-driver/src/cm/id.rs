//! Names that the connection manager gives.

/// A connection of a manager's: never used again in its life, or not for 2^32 others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ConnectionId(pub(super) u32);

impl ConnectionId {
    /// The connection with this number, of whichever manager has given it.
    pub fn of(number: u32) -> Self {
        Self(number)
    }

    /// Its number, as it stands in the messages.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Somebody who waits for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ListenerId(pub(super) u64);
