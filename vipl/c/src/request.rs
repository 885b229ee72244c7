//! Somebody asks for a connection.

use via::connections::{ConnectionRequest, Incoming, NetAddress};

use crate::types::Pvoid;

/// Somebody asks for a connection, and has been heard of in one way or the other.
pub enum Request {
    /// By a call that waited.
    Waits(Box<dyn Incoming>),
    /// By a connection queue.
    Queued(ConnectionRequest, Pvoid),
}

impl Request {
    pub fn remote(&self) -> NetAddress {
        match self {
            Self::Waits(asked) => asked.remote(),
            Self::Queued(asked, _) => asked.remote(),
        }
    }

    pub fn data(&self) -> Vec<u8> {
        match self {
            Self::Waits(asked) => asked.data().to_vec(),
            Self::Queued(asked, _) => asked.data().to_vec(),
        }
    }

    /// For calls that wait.
    pub fn into_incoming(self) -> Box<dyn Incoming> {
        match self {
            Self::Waits(asked) => asked,
            Self::Queued(asked, _) => asked.into_incoming(),
        }
    }
}
