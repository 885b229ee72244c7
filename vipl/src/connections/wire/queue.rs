//! Connections of a program that waits for none of them: it asks and accepts, and takes what comes of it from one queue.

use std::{
    os::fd::BorrowedFd,
    sync::{Arc, Mutex},
    time::Duration,
};

use viaduct_driver::{
    cm::{ConnectionId, Event, ListenerId},
    kernel_agent::{connection_agent::ConnectorError, ViName},
};

use super::{
    attempt::Begin,
    event::ConnectionEvent,
    failure::Failure,
    listener::listen,
    members::{Inner, Members},
    request::ConnectionRequest,
    Wire,
};
use crate::{
    connections::{Endpoint, NetAddress},
    readiness::Readiness,
    Error,
};

/// The connections of a program that waits for none of them. Its calls never wait for a peer; what comes of them are events, which
/// [`ConnectionQueue::next`] takes, and whose coming [`ConnectionQueue::fd`] tells. Clones are the same queue. A VI may be connected by it or by the calls that
/// wait ([`crate::connections::Connections`]), each time anew.
///
/// A VI is connected, to its program, when the event that says so is taken. When the queue and all that was made with it are dropped, attempts at
/// connections are given up; connections stay, and their ends are events of the NIC's again ([`crate::Nic::take_events`]).
#[derive(Clone)]
pub struct ConnectionQueue(Arc<Inner>);

/// Hears requests for an address, as events of a queue, until it is dropped.
pub struct QueueListener {
    queue: Arc<Inner>,
    id: ListenerId,
}

impl ConnectionQueue {
    pub(super) fn new(wire: &Arc<Wire>) -> Self {
        let id = {
            let mut state = wire.state();
            state.queues += 1;
            state.queues
        };
        let (members, readiness) = (Mutex::default(), Readiness::default());
        Self(Arc::new(Inner { wire: Arc::clone(wire), id, members, readiness }))
    }

    /// Hears all requests for `local` from now on: [`ConnectionEvent::Requested`]. So many may wait to be decided on, and more are refused.
    ///
    /// # Errors
    /// A backlog of 0; a discriminator that is too long, or another user's; too many listen.
    pub fn listen(&self, local: &NetAddress, backlog: u32, context: u64) -> Result<QueueListener, Error> {
        let mut members = self.0.members();
        let id = listen(&self.0.wire, local, backlog)?;
        members.listeners.insert(id, context);
        Ok(QueueListener { queue: Arc::clone(&self.0), id })
    }

    /// Asks whoever listens at `remote` for a connection with `vi`. Time-outs: None is for ever, as long as the other side lives.
    ///
    /// # Errors
    /// [`Error::PrivateData`]; a VI that is not idle, or is being connected; the device's. Nothing comes of it then, and the VI is as it was.
    pub fn connect(
        &self,
        vi: Arc<dyn Endpoint>,
        local: &NetAddress,
        remote: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
        context: u64,
    ) -> Result<(), Error> {
        let ask = self.0.wire.ask(vi.name(), local, remote, data, timeout)?;
        self.begin(vi, context, |wire| wire.agent.connect(ask))
    }

    /// Asks a peer that asks us, as [`crate::connections::Connections::peer_request`] does.
    ///
    /// # Errors
    /// As [`ConnectionQueue::connect`].
    pub fn connect_peer(
        &self,
        vi: Arc<dyn Endpoint>,
        local: &NetAddress,
        remote: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
        context: u64,
    ) -> Result<(), Error> {
        let ask = self.0.wire.ask(vi.name(), local, remote, data, timeout)?;
        self.begin(vi, context, |wire| wire.agent.peer_request(ask))
    }

    fn begin(
        &self,
        vi: Arc<dyn Endpoint>,
        context: u64,
        ask: impl FnOnce(&Wire) -> Result<ConnectionId, ConnectorError>,
    ) -> Result<(), Error> {
        let inner = &*self.0;
        // Whoever takes the first event of it finds it here.
        let mut members = inner.members();
        let attempt = inner.wire.begin(vi, || ask(&inner.wire))?;
        inner.keep(&mut members, context, attempt);
        Ok(())
    }

    /// Disconnects a VI, or ends the attempt to connect it, as [`crate::Vi::disconnect`] does: the peer is told, and not waited for. What is posted
    /// completes, flushed at the latest. [`ConnectionEvent::Parted`] comes of a connection of this queue's, [`ConnectionEvent::Failed`] of an attempt.
    ///
    /// # Errors
    /// The device's.
    pub fn disconnect(&self, vi: &(impl Endpoint + ?Sized)) -> Result<(), Error> {
        let inner = &*self.0;
        let context = inner.wire.state().context(vi.name(), inner.id);
        vi.disconnect()?;
        if let Some(context) = context {
            inner.members().parted.push_back(context);
            inner.signal();
        }
        Ok(())
    }

    /// The next event, if there is one. It does not wait.
    ///
    /// # Errors
    /// [`Error::NotDone`]; the device's.
    pub fn next(&self) -> Result<ConnectionEvent, Error> {
        let inner = &self.0;
        let wire = &inner.wire;
        let mut members = inner.members();
        if let Some(context) = members.parted.pop_front() {
            return Ok(ConnectionEvent::Parted { context });
        }
        wire.agent.receive_events(wire.agent.event_count(), Duration::ZERO)?;
        loop {
            let taken = {
                let state = wire.state();
                wire.agent.take_event(&mut |event| inner.is_its(&members, &state, event))
            };
            let Some(event) = taken else { break };
            if let Some(event) = self.heard(&mut members, event) {
                return Ok(event);
            }
        }
        // VIs that somebody has disconnected while they were being connected.
        let is_ended = |id: ConnectionId, vi: ViName| wire.has_ended(vi, id);
        let ended =
            members.attempts.iter().find(|(id, (_, one))| is_ended(**id, one.vi.name())).map(|(id, _)| *id);
        let (context, _attempt) = ended.and_then(|id| members.attempts.remove(&id)).ok_or(Error::NotDone)?;
        Ok(ConnectionEvent::Failed { context, error: Failure::Ended.into() })
    }

    /// A descriptor for poll(2), epoll(7) and the like, which is readable when there may be an event. It belongs to the queue, and is to be used as
    /// [`crate::Cq::fd`]: take what there is, arm, look once more, and only then wait.
    ///
    /// # Errors
    /// The device's; the process may have no more descriptors.
    pub fn fd(&self) -> Result<BorrowedFd<'_>, Error> {
        self.0.wakeup().map(Readiness::fd)
    }

    /// Makes [`ConnectionQueue::fd`] say when an event comes from now on.
    ///
    /// # Errors
    /// As [`ConnectionQueue::fd`].
    pub fn arm(&self) -> Result<(), Error> {
        let wakeup = self.0.wakeup()?;
        wakeup.clear();
        if !self.0.members().parted.is_empty() {
            wakeup.signal();
        }
        Ok(())
    }

    /// What an event is to the program, if it is anything.
    fn heard(&self, members: &mut Members, event: Event) -> Option<ConnectionEvent> {
        let Self(inner) = self;
        let (wire, id) = (&inner.wire, event.id());
        if let Event::Incoming { listener, request, .. } = event {
            let context = *members.listeners.get(&listener)?;
            let (queue, asked) = (Arc::clone(inner), wire.asked(id, request));
            return Some(ConnectionEvent::Requested(ConnectionRequest { queue, context, asked }));
        }
        if let Some((_, attempt)) = members.attempts.get(&id) {
            let outcome = attempt.heard(event)?;
            let (context, attempt) = members.attempts.remove(&id)?;
            return Some(match wire.conclude(&attempt.vi, id, outcome) {
                Ok(answer) => ConnectionEvent::Connected { context, answer },
                Err(failure) => ConnectionEvent::Failed { context, error: failure.into() },
            });
        }
        let mut state = wire.state();
        let (vi, context) = state.link(id, inner.id)?;
        match event {
            Event::Disconnected { .. } => {
                state.links.remove(&vi);
                Some(ConnectionEvent::Disconnected { context })
            }
            Event::Lost { .. } => {
                state.links.remove(&vi);
                Some(ConnectionEvent::Lost { context })
            }
            // Nothing else comes of a connection.
            _ => None,
        }
    }
}

impl Drop for QueueListener {
    fn drop(&mut self) {
        self.queue.members().listeners.remove(&self.id);
        // Of an agent that is gone nobody asks any more.
        let _ = self.queue.wire.agent.unlisten(self.id);
    }
}
