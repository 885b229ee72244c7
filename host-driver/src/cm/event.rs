//! What the connection manager tells its owner.

use viaduct_spec::cm::VIA_VERSION;

use super::{
    datagram::Host,
    discriminator::Discriminator,
    end::End,
    id::{ConnectionId, ListenerId},
};

/// Something that has happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Event {
    /// Somebody asks for a discriminator that is listened to: accept or reject it.
    Incoming {
        /// The connection that is asked for.
        id: ConnectionId,
        /// Who listens.
        listener: ListenerId,
        /// It listened for one request: it does no more.
        once: bool,
        /// Who asks.
        request: Incoming,
    },
    /// Whoever asked has given up: there is nothing to accept any more.
    Withdrawn {
        /// The connection.
        id: ConnectionId,
    },
    /// The other end of what we asked for is known: make ours ready for its messages, and say so (`Manager::ready`).
    Met {
        /// The connection.
        id: ConnectionId,
        /// The other end.
        peer: End,
        /// The other consumer's own.
        data: Vec<u8>,
    },
    /// Both ends are ready.
    Established {
        /// The connection.
        id: ConnectionId,
    },
    /// It came to nothing.
    Refused {
        /// The connection.
        id: ConnectionId,
        /// Why.
        refusal: Refusal,
        /// The other consumer's own.
        data: Vec<u8>,
    },
    /// The other end has disconnected.
    Disconnected {
        /// The connection.
        id: ConnectionId,
    },
    /// The other end is gone: it does not answer, or has forgotten the connection.
    Lost {
        /// The connection.
        id: ConnectionId,
    },
}

impl Event {
    /// Which connection it is about.
    pub fn id(&self) -> ConnectionId {
        match self {
            Self::Incoming { id, .. }
            | Self::Withdrawn { id }
            | Self::Met { id, .. }
            | Self::Established { id }
            | Self::Refused { id, .. }
            | Self::Disconnected { id }
            | Self::Lost { id } => *id,
        }
    }
}

/// A request of somebody's.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Incoming {
    /// Where it is.
    pub host: Host,
    /// Its discriminator: with `host` its address.
    pub from: Discriminator,
    /// The discriminator that it asks for.
    pub to: Discriminator,
    /// Its end.
    pub peer: End,
    /// Its consumer's own.
    pub data: Vec<u8>,
}

/// Why a request came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum Refusal {
    /// Nobody waits on that discriminator (VIP_NO_MATCH).
    #[error("nobody waits on that discriminator")]
    NoMatch,
    /// The other consumer refused (VIP_REJECT).
    #[error("the other side refused")]
    Rejected,
    /// The time that the consumer allowed is over, here or there (VIP_TIMEOUT).
    #[error("the time for it is over")]
    Timeout,
    /// The host does not answer (VIP_NOT_REACHABLE).
    #[error("the host does not answer")]
    Unreachable,
    /// The queue pair is that of a connection which the other side still has.
    #[error("the other side still has an earlier connection of this virtual interface")]
    Stale,
    /// The other side has no room.
    #[error("the other side has no resources")]
    NoResources,
    /// The two ends do not fit.
    #[error("the two ends do not fit: one speaks another protocol, or has other attributes")]
    Mismatch,
    /// The other side knows another version of VIA's private data.
    #[error("the other side speaks version {0} of VIA's private data, and this one version {VIA_VERSION}")]
    Version(u8),
    /// Any other reason.
    #[error("the other side refused, for reason {0}")]
    Other(u16),
}
