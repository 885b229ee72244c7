//! Replies that cannot be.

use viaduct_driver::vfio_user::message::Command;

/// A reply that answers nothing: what else the client says cannot be trusted either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Nonsense {
    /// It is neither command nor reply.
    #[error("a message that is neither command nor reply")]
    Type,
    /// Nothing was asked under this id.
    #[error("a reply with id {0:#06x}, which is not under way")]
    Id(u16),
    /// Something else was asked.
    #[error("a reply to command {0}, and {1:?} was asked")]
    Command(u16, Command),
    /// Address, count or length are others.
    #[error("a reply of another address or length")]
    Shape,
}
