//! What the agent remembers of each VI that exists, in a list by index ([`State`]'s `vis`). The VI's state is not in it: the NIC keeps
//! that (`state.rs`).

use std::sync::Arc;

use super::arena::Arena;
use crate::{
    address::ConnectionInfo,
    agent::State,
    kernel_agent::ViAttributes,
    kernel_agent::{AgentError, ViName},
    queues::{ring::Ring, Direction},
};

/// What the agent remembers of a VI.
#[derive(Debug, Clone)]
pub(in crate::agent) struct Entry {
    pub(super) name: ViName,
    pub(super) attributes: ViAttributes,
    /// What its peer is told, of the connection that it has or will have next.
    pub(super) info: ConnectionInfo,
    /// Where its rings are.
    pub(super) arena: Arc<Arena>,
    pub(super) send: Ring,
    pub(super) receive: Ring,
}

impl Entry {
    /// One of its rings.
    pub(super) fn ring(&self, direction: Direction) -> &Ring {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    /// The row of one of its work queues.
    pub(super) fn row(&self, direction: Direction) -> u32 {
        row(self.name.index, direction)
    }
}

/// The row of a work queue.
pub(super) fn row(vi: u16, direction: Direction) -> u32 {
    2 * u32::from(vi) + u32::from(direction == Direction::Receive)
}

impl State {
    /// The entry of a VI that still exists.
    pub(super) fn vi(&mut self, vi: ViName) -> Result<&mut Entry, AgentError> {
        self.vis
            .get_mut(usize::from(vi.index))
            .and_then(Option::as_mut)
            .filter(|entry| entry.name == vi)
            .ok_or(AgentError::UnknownVi(vi.index))
    }

    /// The life of the VI that has an index.
    pub(in crate::agent) fn vi_life(&self, index: u16) -> Option<u64> {
        Some(self.vis.get(usize::from(index))?.as_ref()?.name.life.into())
    }
}
