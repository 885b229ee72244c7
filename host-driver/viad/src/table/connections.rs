//! A session listens and connects, in its own name.

use viaduct_driver::{
    cm::{self, ConnectionId, Discriminator, ListenerId},
    kernel_agent::{
        connection_agent::{Ask, ConnectorError},
        AgentError, ViName,
    },
};

use super::Table;
use crate::accounts::Share;

impl Table {
    /// Waits for the next who asks for a discriminator.
    pub(super) fn listen(&self, name: Discriminator, [share]: [Share; 1]) -> Result<ListenerId, AgentError> {
        self.nic.connections.listen(&self.party, name, None, share)
    }

    /// Waits for all who ask for a discriminator, of whom `backlog` may wait to be decided on.
    pub(super) fn listen_for_all(
        &self,
        name: Discriminator,
        backlog: u32,
        [share]: [Share; 1],
    ) -> Result<ListenerId, AgentError> {
        self.nic.connections.listen(&self.party, name, Some(backlog), share)
    }

    /// Waits no longer.
    pub(super) fn unlisten(&self, listener: ListenerId) -> Result<(), AgentError> {
        self.nic.connections.unlisten(&self.party, listener)
    }

    /// How many connections the manager has for its user.
    pub(super) fn count_connections(&self) -> Result<u32, AgentError> {
        self.nic.connections.count(&self.party)
    }

    /// Asks who listens for a connection.
    pub(super) fn connect(&self, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        self.prepare(ask.vi)?;
        self.nic.connections.connect(&self.party, ask)
    }

    /// Asks who asks us for a connection.
    pub(super) fn peer_request(&self, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        self.prepare(ask.vi)?;
        self.nic.connections.peer_request(&self.party, ask)
    }

    /// Accepts a request with a VI.
    pub(super) fn accept(&self, id: ConnectionId, vi: ViName, data: Vec<u8>) -> Result<(), ConnectorError> {
        self.prepare(vi)?;
        self.nic.connections.accept(&self.party, id, vi, &data)
    }

    /// Refuses a request.
    pub(super) fn reject(&self, id: ConnectionId, data: Vec<u8>) -> Result<(), ConnectorError> {
        self.nic.connections.reject(&self.party, id, &data)
    }

    /// Ends a connection.
    pub(super) fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError> {
        self.nic.connections.disconnect(&self.party, id)
    }

    /// Takes events of its connections.
    pub(super) fn take_connection_events(&self) -> Result<Vec<cm::Event>, AgentError> {
        Ok(self.party.inbox.take_connection_events())
    }
}
