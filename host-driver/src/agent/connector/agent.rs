//! The connector, asked by a library in its own process.

use std::{sync::Arc, time::Duration};

use super::{Connector, ALONE};
use crate::{
    cm::{ConnectionId, Discriminator, Event, ListenerId},
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent, ConnectorError},
        AgentError, ViName,
    },
    wakeup::Wakeup,
};

// Every call is the inherent one of this name.
impl ConnectionAgent for Connector {
    fn listen(&self, discriminator: Discriminator) -> Result<ListenerId, AgentError> {
        Ok(Connector::listen(self, discriminator, true))
    }

    fn listen_for_all(&self, discriminator: Discriminator, backlog: u32) -> Result<ListenerId, AgentError> {
        Ok(self.listen_for(ALONE, discriminator, Some(backlog as usize)))
    }

    fn count_connections(&self) -> Result<u32, AgentError> {
        self.connections_of(ALONE)
    }

    fn unlisten(&self, listener: ListenerId) -> Result<(), AgentError> {
        Connector::unlisten(self, listener)
    }

    fn connect(&self, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        Connector::connect(self, ask)
    }

    fn peer_request(&self, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        Connector::peer_request(self, ask)
    }

    fn accept(&self, id: ConnectionId, vi: ViName, data: &[u8]) -> Result<(), ConnectorError> {
        Connector::accept(self, id, vi, data)
    }

    fn reject(&self, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError> {
        Connector::reject(self, id, data)
    }

    fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError> {
        Connector::disconnect(self, id)
    }

    fn take_event(&self, is: &mut dyn FnMut(&Event) -> bool) -> Option<Event> {
        Connector::take_event(self, is)
    }

    fn event_count(&self) -> u64 {
        Connector::event_count(self)
    }

    fn on_connection_event(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        self.wakeups.add(wakeup);
        Ok(())
    }

    fn receive_events(&self, seen: u64, timeout: Duration) -> Result<(), AgentError> {
        if timeout.is_zero() {
            self.turn()
        } else {
            self.wait(seen, timeout)
        }
    }
}
