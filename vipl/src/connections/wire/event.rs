//! What happens to the connections of a queue.

use super::request::ConnectionRequest;
use crate::{connections::Answer, Error};

/// Something that has happened to a connection of a [`ConnectionQueue`](crate::connections::ConnectionQueue). `context` is the program's word for it, which it gave when it asked, accepted or
/// listened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// Somebody asks: it is to be accepted or rejected. The context is the listener's.
    Requested(ConnectionRequest),
    /// The VI is connected. Who has accepted gets no data: they came with the request.
    Connected {
        /// Of the one who asked or accepted.
        context: u64,
        /// What the other side has answered.
        answer: Answer,
    },
    /// It came to nothing, and the VI is idle.
    Failed {
        /// Of the one who asked or accepted.
        context: u64,
        /// As [`crate::connections::Connections::request`] has them.
        error: Error,
    },
    /// The peer has disconnected. The VI is in Error: what is posted is flushed, and [`ConnectionQueue::disconnect`](crate::connections::ConnectionQueue::disconnect) makes it idle.
    Disconnected {
        /// Of the one who asked or accepted.
        context: u64,
    },
    /// The peer is gone: it does not answer any more, or has forgotten the connection. The VI is as with [`ConnectionEvent::Disconnected`].
    Lost {
        /// Of the one who asked or accepted.
        context: u64,
    },
    /// [`ConnectionQueue::disconnect`](crate::connections::ConnectionQueue::disconnect) is done: the VI is idle.
    Parted {
        /// Of the one who asked or accepted.
        context: u64,
    },
}
