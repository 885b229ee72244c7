//! Connections of a program that waits for none of them: it asks and accepts, and takes what comes of it from one queue.

use std::{
    collections::{BTreeMap, VecDeque},
    net::Ipv4Addr,
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use viaduct_driver::{
    cm::{ConnectionId, Event, ListenerId},
    kernel_agent::{connection_agent::ConnectorError, ViName},
    wakeup::Wakeup,
};

use super::{
    asked::Asked,
    attempt::{Attempt, Begin},
    event::ConnectionEvent,
    failure::Failure,
    listener::listen,
    State, Wire,
};
use crate::{
    connections::{Answer, Endpoint, Incoming, NetAddress, RemoteAttributes},
    readiness::Readiness,
    Error,
};

/// Tells the queues of a NIC apart.
pub(super) type QueueId = u64;

/// The connections of a program that waits for none of them. Its calls never wait for a peer; what comes of them are events, which
/// [`ConnectionQueue::next`] takes, and whose coming [`ConnectionQueue::fd`] tells. Clones are the same queue. A VI may be connected by it or by the calls that
/// wait ([`crate::connections::Connections`]), each time anew.
///
/// A VI is connected, to its program, when the event that says so is taken. When the queue and all that was made with it are dropped, attempts at
/// connections are given up; connections stay, and their ends are events of the NIC's again ([`crate::Nic::take_events`]).
#[derive(Clone)]
pub struct ConnectionQueue(Arc<Inner>);

struct Inner {
    wire: Arc<Wire>,
    id: QueueId,
    members: Mutex<Members>,
    readiness: Readiness,
}

#[derive(Default)]
struct Members {
    /// Those who listen, and their contexts.
    listeners: BTreeMap<ListenerId, u64>,
    /// What is under way, with the program's words for it.
    attempts: BTreeMap<ConnectionId, (u64, Attempt<Arc<dyn Endpoint>>)>,
    /// What has happened here.
    own: VecDeque<ConnectionEvent>,
}

/// Hears requests for an address, as events of a queue, until it is dropped.
pub struct QueueListener {
    queue: Arc<Inner>,
    id: ListenerId,
}

/// Somebody asks for a connection. Dropping it rejects.
pub struct ConnectionRequest {
    queue: Arc<Inner>,
    context: u64,
    asked: Asked,
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
            inner.members().own.push_back(ConnectionEvent::Parted { context });
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
        if let Some(event) = members.own.pop_front() {
            return Ok(event);
        }
        wire.agent.hear(wire.agent.told(), Duration::ZERO)?;
        loop {
            let taken = {
                let state = wire.state();
                wire.agent.take_event(&mut |event| inner.is_its(&members, &state, event))
            };
            let Some(event) = taken else { break };
            if let Some(event) = inner.heard(&mut members, event) {
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
        if !self.0.members().own.is_empty() {
            wakeup.signal();
        }
        Ok(())
    }
}

impl Inner {
    fn members(&self) -> MutexGuard<'_, Members> {
        // Each change of it is one insertion or removal.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wakeup(&self) -> Result<&Wakeup, Error> {
        self.readiness.get(|wakeup| {
            self.wire.parted.add(wakeup);
            Ok(self.wire.agent.on_connection_event(wakeup)?)
        })
    }

    /// There is an event of its own.
    fn signal(&self) {
        if let Ok(wakeup) = self.wakeup() {
            wakeup.signal();
        }
    }

    /// An attempt is this queue's to bring to its end.
    fn keep(&self, members: &mut Members, context: u64, attempt: Attempt<Arc<dyn Endpoint>>) {
        let mut state = self.wire.state();
        if let Some(underway) = state.attempts.get_mut(&attempt.vi.name()) {
            underway.leave(Some((self.id, context)));
        }
        drop(state);
        members.attempts.insert(attempt.id, (context, attempt));
    }

    fn is_its(&self, members: &Members, state: &State, event: &Event) -> bool {
        match event {
            Event::Incoming { listener, .. } => members.listeners.contains_key(listener),
            event => members.attempts.contains_key(&event.id()) || state.link(event.id(), self.id).is_some(),
        }
    }

    fn heard(self: &Arc<Self>, members: &mut Members, event: Event) -> Option<ConnectionEvent> {
        let id = event.id();
        if let Event::Incoming { listener, request, .. } = event {
            let context = *members.listeners.get(&listener)?;
            let (queue, asked) = (Arc::clone(self), self.wire.asked(id, request));
            return Some(ConnectionEvent::Requested(ConnectionRequest { queue, context, asked }));
        }
        if let Some((_, attempt)) = members.attempts.get(&id) {
            let outcome = attempt.heard(event)?;
            let (context, attempt) = members.attempts.remove(&id)?;
            return Some(match self.wire.conclude(&attempt.vi, id, outcome) {
                Ok(answer) => ConnectionEvent::Connected { context, answer },
                Err(failure) => ConnectionEvent::Failed { context, error: failure.into() },
            });
        }
        let mut state = self.wire.state();
        let (vi, context) = state.link(id, self.id)?;
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

impl Drop for Inner {
    fn drop(&mut self) {
        for link in self.wire.state().links.values_mut() {
            link.queue = link.queue.filter(|(queue, _)| *queue != self.id);
        }
    }
}

impl State {
    /// The VI that a connection of a queue's is of, and the program's word for it.
    fn link(&self, id: ConnectionId, queue: QueueId) -> Option<(ViName, u64)> {
        self.links.iter().find_map(|(vi, link)| {
            let (of, context) = link.queue.filter(|_| link.id == id)?;
            (of == queue).then_some((*vi, context))
        })
    }

    /// The program's word for the connection that a VI has by a queue.
    fn context(&self, vi: ViName, queue: QueueId) -> Option<u64> {
        let (of, context) = self.links.get(&vi)?.queue?;
        (of == queue).then_some(context)
    }
}

impl Drop for QueueListener {
    fn drop(&mut self) {
        self.queue.members().listeners.remove(&self.id);
        // Of an agent that is gone nobody asks any more.
        let _ = self.queue.wire.agent.unlisten(self.id);
    }
}

impl ConnectionRequest {
    /// The program's word for the listener that got it.
    pub fn context(&self) -> u64 {
        self.context
    }

    /// Who asks.
    pub fn remote(&self) -> NetAddress {
        self.asked.remote()
    }

    /// The IPv4 address of who asks.
    pub fn remote_ip(&self) -> Ipv4Addr {
        self.asked.remote_ip()
    }

    /// The attributes of its VI.
    pub fn attributes(&self) -> RemoteAttributes {
        self.asked.attributes()
    }

    /// Its private data.
    pub fn data(&self) -> &[u8] {
        self.asked.data()
    }

    /// Accepts it with an idle VI, whose attributes fit. [`ConnectionEvent::Connected`] says when its messages may be sent; it may receive from now on.
    ///
    /// # Errors
    /// As [`Incoming::accept`]: after [`Error::Rejected`] and [`Error::PrivateData`] the other side has heard nothing, and one may try again.
    pub fn accept(&self, vi: Arc<dyn Endpoint>, data: &[u8], context: u64) -> Result<(), Error> {
        let mut members = self.queue.members();
        self.asked.begin_accept(&vi, data)?;
        let answer = Answer { attributes: self.asked.attributes(), data: Vec::new() };
        let attempt = Attempt::accepted(&self.queue.wire, vi, self.asked.id, answer);
        self.queue.keep(&mut members, context, attempt);
        Ok(())
    }

    /// Rejects it.
    ///
    /// # Errors
    /// As [`Incoming::reject`].
    pub fn reject(self, data: &[u8]) -> Result<(), Error> {
        Box::new(self.asked).reject(data)
    }

    /// It is accepted or rejected by calls that wait.
    pub fn into_incoming(self) -> Box<dyn Incoming> {
        Box::new(self.asked)
    }
}

impl std::fmt::Debug for ConnectionRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionRequest").field("remote", &self.remote()).finish_non_exhaustive()
    }
}
