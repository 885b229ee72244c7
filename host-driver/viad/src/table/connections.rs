//! A session listens and connects, in its own name.

use viaduct_driver::{
    cm::{self, ConnectionId, Discriminator, ListenerId},
    kernel_agent::{
        connection_agent::{Ask, ConnectorError},
        AgentError, ViName,
    },
};

use super::Table;
use crate::connections::{Connections, Party};

impl Table {
    /// Waits for the next who asks for a discriminator, or for all, of whom `backlog` may wait to be decided on.
    pub fn listen(&self, name: Discriminator, backlog: Option<u32>) -> Result<ListenerId, AgentError> {
        self.nic.connections.listen(&self.party, name, backlog)
    }

    /// Waits no longer.
    pub fn unlisten(&self, listener: ListenerId) -> Result<(), AgentError> {
        self.nic.connections.unlisten(&self.party, listener)
    }

    /// Asks for a connection, who listens or who asks us.
    pub fn connect(
        &self,
        ask: Ask,
        how: fn(&Connections, &Party, Ask) -> Result<ConnectionId, ConnectorError>,
    ) -> Result<ConnectionId, ConnectorError> {
        self.prepare(ask.vi)?;
        how(&self.nic.connections, &self.party, ask)
    }

    /// Accepts a request with a VI.
    pub fn accept(&self, id: ConnectionId, vi: ViName, data: &[u8]) -> Result<(), ConnectorError> {
        self.prepare(vi)?;
        self.nic.connections.accept(&self.party, id, vi, data)
    }

    /// Refuses a request.
    pub fn reject(&self, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError> {
        self.nic.connections.reject(&self.party, id, data)
    }

    /// Ends a connection.
    pub fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError> {
        self.nic.connections.disconnect(&self.party, id)
    }

    /// Takes events of its connections.
    pub fn take_connection_events(&self) -> Vec<cm::Event> {
        self.party.inbox.take_connection_events()
    }
}
