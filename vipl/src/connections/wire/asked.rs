//! Somebody has asked for a connection, and is accepted or refused.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use viaduct_driver::{
    cm::{CmError, ConnectionId, Event, Refusal},
    kernel_agent::connection_agent::ConnectorError,
};

use super::{failure::Failure, has_room, Wire, SLICE};
use crate::{
    connections::{Answer, Endpoint, Incoming, NetAddress, RemoteAttributes, ACCEPT_ROOM, REJECT_ROOM},
    Error,
};

/// How long the other side may take, after it was accepted, to say that it is ready.
const READY: Duration = Duration::from_secs(20);

/// Somebody has asked.
pub(super) struct Asked {
    pub(super) wire: Arc<Wire>,
    pub(super) id: ConnectionId,
    pub(super) remote: NetAddress,
    pub(super) ip: Ipv4Addr,
    pub(super) attributes: RemoteAttributes,
    pub(super) data: Vec<u8>,
    pub(super) settled: Mutex<bool>,
}

impl Asked {
    fn settle(&self) -> bool {
        std::mem::replace(&mut *self.settled.lock().unwrap_or_else(PoisonError::into_inner), true)
    }

    /// Has the agent connect `vi` with it: what comes of that are events.
    pub(super) fn begin_accept(&self, vi: &dyn Endpoint, data: &[u8]) -> Result<(), Error> {
        has_room(data, ACCEPT_ROOM)?;
        let (wire, name) = (&*self.wire, vi.name());
        wire.enter(name, Some(self.id))?;
        let accepted = vi.begin().and_then(|()| Ok(wire.agent.accept(self.id, name, data)?));
        if let Err(error) = accepted {
            // The other side hears nothing, and one may try again.
            let told = vi.end(false);
            let ended = wire.has_ended(name, self.id);
            wire.state().attempts.remove(&name);
            return told.and(Err(if ended { Failure::Ended.into() } else { error }));
        }
        self.settle();
        Ok(())
    }
}

impl Incoming for Asked {
    fn remote(&self) -> NetAddress {
        self.remote.clone()
    }

    fn remote_ip(&self) -> Ipv4Addr {
        self.ip
    }

    fn attributes(&self) -> RemoteAttributes {
        self.attributes
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    fn accept(&self, vi: &dyn Endpoint, data: &[u8]) -> Result<(), Error> {
        self.begin_accept(vi, data)?;
        let (wire, name) = (&*self.wire, vi.name());
        let start = Instant::now();
        let mine = |event: &Event| event.id() == self.id;
        let outcome = loop {
            match wire.agent.wait_event(SLICE, mine) {
                Ok(Some(Event::Established { .. })) => {
                    break Ok(Answer { attributes: self.attributes, data: Vec::new() });
                }
                Ok(Some(Event::Met { .. } | Event::Incoming { .. })) => {}
                Ok(Some(_)) => break Err(Failure::Refused(Refusal::Timeout, Vec::new())),
                Ok(None) if wire.has_ended(name, self.id) => break Err(Failure::Ended),
                Ok(None) if start.elapsed() > READY => {
                    break Err(Failure::Refused(Refusal::Timeout, Vec::new()))
                }
                Ok(None) => {}
                Err(_) => break Err(Failure::Gone),
            }
        };
        wire.conclude(vi, self.id, outcome)?;
        Ok(())
    }

    fn reject(self: Box<Self>, data: &[u8]) -> Result<(), Error> {
        has_room(data, REJECT_ROOM)?;
        self.settle();
        match self.wire.agent.reject(self.id, data) {
            // Who has given up needs no answer.
            Err(ConnectorError::Manager(CmError::Gone(_))) => Ok(()),
            other => Ok(other?),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if !self.settle() {
            // Of a device that is gone nobody asks any more.
            let _ = self.wire.agent.reject(self.id, &[]);
        }
    }
}
