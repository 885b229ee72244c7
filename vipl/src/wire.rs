//! Connections over the wire, by the agent of the NIC, wherever that is.

use std::{
    collections::{btree_map::Entry, BTreeMap},
    net::Ipv4Addr,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use viaduct_driver::{
    address::Mac,
    cm::{CmError, ConnectionId, Discriminator, End, Event, Host, Refusal, Target},
    connection_agent::{Ask, ConnectionAgent, ConnectorError},
    kernel_agent::{KernelAgent, ViName},
};

use crate::{
    connections::{
        request_room, Answer, Connections, Endpoint, Incoming, NetAddress, PeerRequest, RemoteAttributes,
        ACCEPT_ROOM, REJECT_ROOM,
    },
    Error,
};

/// How long one waits before one looks whether one still should.
const SLICE: Duration = Duration::from_millis(100);
/// How long the other side may take, after it was accepted, to say that it is ready.
const READY: Duration = Duration::from_secs(20);

/// The connections of a NIC.
pub(crate) struct Wire {
    agent: Arc<dyn ConnectionAgent>,
    state: Mutex<State>,
    /// Nobody has the NIC open any more.
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Connections that both ends are ready for.
    links: BTreeMap<ViName, ConnectionId>,
    /// VIs that are being connected.
    attempts: BTreeMap<ViName, Underway>,
    /// VIs whose connections the other side has ended.
    lost: Vec<ViName>,
    /// IPv4 addresses that a hosts file has told.
    hosts: BTreeMap<Mac, Ipv4Addr>,
}

/// A VI that is being connected.
#[derive(Default)]
struct Underway {
    /// The connection, from when there is one.
    id: Option<ConnectionId>,
    /// No call is in it: a peer request on its way.
    waits: bool,
    /// Somebody has disconnected the VI, and the call that is in it is to find out.
    ended: bool,
    /// Somebody brings it to its end.
    ending: bool,
}

impl State {
    /// Who calls brings the attempt `id` of the VI to its end: from now on nobody else does, and no other begins. Whether it was ended by
    /// a disconnect; None: it is over, or somebody else's to end.
    fn claim(&mut self, vi: ViName, id: ConnectionId) -> Option<bool> {
        let attempt =
            self.attempts.get_mut(&vi).filter(|attempt| attempt.id == Some(id) && !attempt.ending)?;
        (attempt.waits, attempt.ending) = (false, true);
        Some(attempt.ended)
    }
}

impl Wire {
    fn of(agent: Arc<dyn ConnectionAgent>) -> Arc<Self> {
        Arc::new(Self { agent, state: Mutex::default(), stop: AtomicBool::new(false) })
    }

    /// VIs whose connections the other side has ended since one last asked.
    pub fn take_lost(&self) -> Vec<ViName> {
        std::mem::take(&mut self.state().lost)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole after each step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what has become of connections that nobody asks about.
    fn note_ends(&self) {
        let mut state = self.state();
        let ended = |event: &Event, links: &BTreeMap<ViName, ConnectionId>| {
            matches!(event, Event::Disconnected { .. } | Event::Lost { .. })
                && links.values().any(|id| *id == event.id())
        };
        while let Some(event) = self.agent.take_event(&mut |event| ended(event, &state.links)) {
            let vi = state.links.iter().find(|(_, id)| **id == event.id()).map(|(vi, _)| *vi);
            if let Some(vi) = vi {
                state.links.remove(&vi);
                state.lost.push(vi);
            }
        }
    }

    fn ask(
        &self,
        vi: ViName,
        from: &NetAddress,
        to: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
    ) -> Result<Ask, Error> {
        has_room(data, request_room(from, to))?;
        let target = match self.state().hosts.get(&to.host) {
            Some(&ip) => Target::Host(Host { mac: to.host, ip }),
            None => Target::Mac(to.host),
        };
        let (from, to) = (discriminator(from)?, discriminator(to)?);
        Ok(Ask { vi, target, from, to, data: data.to_vec(), timeout })
    }

    /// From now on the VI is being connected, by the call that asks.
    fn enter(&self, vi: ViName, id: Option<ConnectionId>) -> Result<(), Error> {
        match self.state().attempts.entry(vi) {
            Entry::Occupied(_) => Err(Error::State("is being connected already")),
            Entry::Vacant(place) => {
                place.insert(Underway { id, ..Underway::default() });
                Ok(())
            }
        }
    }

    /// Whether the attempt `id` of the VI was ended by a disconnect.
    fn has_ended(&self, vi: ViName, id: ConnectionId) -> bool {
        self.state().attempts.get(&vi).is_none_or(|attempt| attempt.ended || attempt.id != Some(id))
    }

    /// The attempt has come to an end, which the VI is told. Who has disconnected it meanwhile takes care of it, unless the call
    /// is still in it.
    fn conclude(
        &self,
        vi: &dyn Endpoint,
        id: ConnectionId,
        outcome: Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let name = vi.name();
        let mut state = self.state();
        let ended = state.claim(name, id).ok_or(Failure::Ended)?;
        let outcome = outcome.and_then(|is| if ended { Err(Failure::Ended) } else { Ok(is) });
        if outcome.is_ok() {
            state.attempts.remove(&name);
            state.links.insert(name, id);
        }
        drop(state);
        let told = match outcome {
            Ok(_) => vi.end(true),
            Err(_) => self.give_up(vi, id),
        };
        told.map_err(|_| Failure::Gone)?;
        outcome
    }

    /// Nothing is to come of an attempt that one has claimed; only then another may begin.
    fn give_up(&self, vi: &dyn Endpoint, id: ConnectionId) -> Result<(), Error> {
        let told = self.agent.disconnect(id).map_err(Error::from).and(vi.end(false));
        self.state().attempts.remove(&vi.name());
        told
    }

    /// Ends the connection of a VI, which the peer is told, or the attempt at one: a call that is under way finds out. The VI itself is
    /// made idle by the caller, after.
    ///
    /// # Errors
    /// The agent's.
    pub fn part(&self, name: ViName) -> Result<(), Error> {
        let mut state = self.state();
        let link = state.links.remove(&name);
        let attempt = state.attempts.get_mut(&name).and_then(|attempt| {
            attempt.ended = true;
            attempt.id
        });
        state.attempts.retain(|vi, attempt| *vi != name || !attempt.waits);
        drop(state);
        [link, attempt].into_iter().flatten().try_for_each(|id| Ok(self.agent.disconnect(id)?))
    }
}

/// Hears what peers say while nobody waits.
fn listen(wire: &Wire) {
    while !wire.stop.load(Ordering::Acquire) && wire.agent.hear(wire.agent.told(), SLICE).is_ok() {
        wire.note_ends();
    }
}

/// Begins an attempt at a connection.
trait Begin {
    fn begin<V: Endpoint>(
        &self,
        vi: V,
        ask: impl FnOnce() -> Result<ConnectionId, ConnectorError>,
    ) -> Result<Attempt<V>, Error>;
}

impl Begin for Arc<Wire> {
    fn begin<V: Endpoint>(
        &self,
        vi: V,
        ask: impl FnOnce() -> Result<ConnectionId, ConnectorError>,
    ) -> Result<Attempt<V>, Error> {
        let name = vi.name();
        self.enter(name, None)?;
        let asked = vi.begin().and_then(|()| Ok(ask()?));
        let ended = {
            let mut state = self.state();
            let attempt = state.attempts.entry(name).or_default();
            attempt.id = asked.as_ref().ok().copied();
            attempt.ended
        };
        let outcome = match asked {
            Ok(id) if !ended => {
                return Ok(Attempt { wire: Arc::clone(self), vi, id, progress: Mutex::default() });
            }
            Ok(id) => self.agent.disconnect(id).map_err(Error::from).and(Err(Failure::Ended.into())),
            Err(error) => Err(error),
        };
        let told = vi.end(false);
        self.state().attempts.remove(&name);
        told.and(outcome)
    }
}

impl Connections for Arc<Wire> {
    fn learn(&self, host: Mac, ip: Ipv4Addr) {
        self.state().hosts.insert(host, ip);
    }

    fn wait(
        &self,
        local: &NetAddress,
        timeout: Option<Duration>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Box<dyn Incoming>, Error> {
        let start = Instant::now();
        let own = self.agent.listen(discriminator(local)?)?;
        let mine = |event: &Event| matches!(event, Event::Incoming { listener, .. } if *listener == own);
        let result = loop {
            let left = timeout.map_or(SLICE, |timeout| timeout.saturating_sub(start.elapsed()).min(SLICE));
            match self.agent.wait_event(left, mine) {
                Ok(Some(Event::Incoming { id, request, .. })) => break Ok((id, request)),
                Ok(_) if left.is_zero() || give_up() => break Err(Error::Timeout),
                Ok(_) => {}
                Err(error) => break Err(error.into()),
            }
        };
        let (id, request) = match result {
            Ok(asked) => asked,
            Err(error) => {
                // Who asked in the last moment is refused. Of an agent that is gone the first error counts.
                let _ = self.agent.unlisten(own);
                return Err(error);
            }
        };
        let remote = NetAddress { host: request.host.mac, discriminator: request.from.as_bytes().to_vec() };
        let attributes = of_end(&request.peer);
        let (wire, data) = (Arc::clone(self), request.data);
        let asked = Asked { wire, id, remote, attributes, data, settled: Mutex::new(false) };
        Ok(Box::new(asked))
    }

    fn request(
        &self,
        vi: &dyn Endpoint,
        local: &NetAddress,
        remote: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
    ) -> Result<Answer, Error> {
        let ask = self.ask(vi.name(), local, remote, data, timeout)?;
        // The manager knows the time: what is too late is refused.
        self.begin(vi, || self.agent.connect(ask))?.wait()
    }

    fn peer_request(
        &self,
        vi: Arc<dyn Endpoint>,
        local: &NetAddress,
        remote: &NetAddress,
        data: &[u8],
        timeout: Option<Duration>,
    ) -> Result<Arc<dyn PeerRequest>, Error> {
        let ask = self.ask(vi.name(), local, remote, data, timeout)?;
        let attempt = self.begin(vi, || self.agent.peer_request(ask))?;
        // From now on no call is in it.
        let mut state = self.state();
        if let Some(underway) = state.attempts.get_mut(&attempt.vi.name()) {
            underway.waits = !underway.ended;
        }
        drop(state);
        Ok(Arc::new(attempt))
    }
}

/// Somebody has asked.
struct Asked {
    wire: Arc<Wire>,
    id: ConnectionId,
    remote: NetAddress,
    attributes: RemoteAttributes,
    data: Vec<u8>,
    settled: Mutex<bool>,
}

impl Asked {
    fn settle(&self) -> bool {
        std::mem::replace(&mut *self.settled.lock().unwrap_or_else(PoisonError::into_inner), true)
    }
}

impl Incoming for Asked {
    fn remote(&self) -> NetAddress {
        self.remote.clone()
    }

    fn attributes(&self) -> RemoteAttributes {
        self.attributes
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    fn accept(&self, vi: &dyn Endpoint, data: &[u8]) -> Result<(), Error> {
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

/// A request of ours on its way.
struct Attempt<V: Endpoint> {
    wire: Arc<Wire>,
    vi: V,
    id: ConnectionId,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// What the other end is, and has said, when it is known.
    met: Option<Answer>,
    /// How it ended: whoever asks is told the same.
    outcome: Option<Result<Answer, Failure>>,
}

impl<V: Endpoint> Attempt<V> {
    fn look(&self, progress: &mut Progress, timeout: Duration) -> Result<Answer, Error> {
        if let Some(outcome) = &progress.outcome {
            return Ok(outcome.clone()?);
        }
        let start = Instant::now();
        let outcome = loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.wire.agent.wait_event(left, |event| event.id() == self.id)? {
                Some(Event::Met { peer, data, .. }) => {
                    progress.met = Some(Answer { attributes: of_end(&peer), data });
                }
                Some(Event::Established { .. }) => {
                    break progress.met.take().ok_or(Failure::Refused(Refusal::Rejected, Vec::new()));
                }
                Some(Event::Refused { refusal, data, .. }) => break Err(Failure::Refused(refusal, data)),
                Some(_) => break Err(Failure::Gone),
                None if self.wire.has_ended(self.vi.name(), self.id) => break Err(Failure::Ended),
                None if left.is_zero() => return Err(Error::NotDone),
                None => {}
            }
        };
        let outcome = self.wire.conclude(&self.vi, self.id, outcome);
        progress.outcome = Some(outcome.clone());
        Ok(outcome?)
    }

    fn wait(&self) -> Result<Answer, Error> {
        loop {
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            match self.look(&mut progress, SLICE) {
                Err(Error::NotDone) => {}
                result => return result,
            }
        }
    }
}

impl PeerRequest for Attempt<Arc<dyn Endpoint>> {
    fn done(&self) -> Result<Answer, Error> {
        // Whoever waits for it looks himself.
        match self.progress.try_lock() {
            Ok(mut progress) => self.look(&mut progress, Duration::ZERO),
            Err(TryLockError::Poisoned(progress)) => self.look(&mut progress.into_inner(), Duration::ZERO),
            Err(TryLockError::WouldBlock) => Err(Error::NotDone),
        }
    }

    fn wait(&self) -> Result<Answer, Error> {
        Attempt::wait(self)
    }
}

impl<V: Endpoint> Drop for Attempt<V> {
    fn drop(&mut self) {
        // One that is not over is withdrawn; its VI may be connected already. Of a device that is gone nothing is to be withdrawn.
        let claimed = self.wire.state().claim(self.vi.name(), self.id);
        if claimed.is_some() {
            let _ = self.wire.give_up(&self.vi, self.id);
        }
    }
}

/// Why an attempt came to nothing.
#[derive(Debug, Clone)]
enum Failure {
    /// With the other side's private data.
    Refused(Refusal, Vec<u8>),
    /// The other side, or the device, is there no longer.
    Gone,
    /// The VI was disconnected.
    Ended,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal, data) => refused(refusal, data),
            Failure::Gone => Self::NotReachable("the other side any more".into()),
            Failure::Ended => Self::State("was disconnected while it was being connected"),
        }
    }
}

/// What a peer tells of its VI.
fn of_end(end: &End) -> RemoteAttributes {
    RemoteAttributes {
        reliability_level: end.info.service,
        max_transfer_size: end.info.max_transfer,
        enable_rdma_write: end.rdma_write,
        enable_rdma_read: end.rdma_read,
    }
}

fn discriminator(address: &NetAddress) -> Result<Discriminator, Error> {
    Discriminator::try_from(&address.discriminator[..]).map_err(|error| Error::Discriminator(error.0))
}

fn has_room(data: &[u8], room: usize) -> Result<(), Error> {
    let length = data.len();
    (length <= room).then_some(()).ok_or(Error::PrivateData { length, room })
}

fn refused(refusal: Refusal, data: Vec<u8>) -> Error {
    match refusal {
        Refusal::NoMatch => Error::NoMatch,
        Refusal::Timeout => Error::Timeout,
        Refusal::Unreachable => Error::NotReachable("that host".into()),
        Refusal::Rejected | Refusal::Stale | Refusal::NoResources | Refusal::Mismatch | Refusal::Other(_) => {
            Error::Rejected(data)
        }
    }
}

impl From<ConnectorError> for Error {
    fn from(error: ConnectorError) -> Self {
        match error {
            ConnectorError::Agent(error) => error.into(),
            ConnectorError::Manager(CmError::Gone(_)) => Self::Timeout,
            ConnectorError::Manager(CmError::Data { length, room }) => Self::PrivateData { length, room },
            // A VI of this library's is one that messages can describe.
            ConnectorError::Manager(CmError::Own(_)) => Self::State("cannot be described to a peer"),
            ConnectorError::Manager(CmError::Peer(_)) => Self::Rejected(Vec::new()),
        }
    }
}

/// The events that stand for connections that the other side has ended.
pub(crate) fn lost_events(wire: &Wire) -> Vec<viaduct_driver::agent::Event> {
    wire.note_ends();
    let event = |vi: ViName| viaduct_driver::agent::Event {
        code: viaduct_spec::register::event_code::CONN_LOST,
        vi: vi.index,
        life: vi.life.into(),
        receive: false,
        broke: true,
    };
    wire.take_lost().into_iter().map(event).collect()
}

/// The connections of a NIC, once somebody has asked for them.
#[derive(Default)]
pub(crate) struct OnDemand(Mutex<Option<(Arc<Wire>, JoinHandle<()>)>>);

impl OnDemand {
    /// Its connections, begun when they are first asked for: from then on a thread hears what peers say.
    pub fn begin(&self, agent: &Arc<dyn KernelAgent>) -> Result<Arc<Wire>, Error> {
        let mut wire = self.lock();
        if let Some((wire, _)) = &*wire {
            return Ok(Arc::clone(wire));
        }
        let begun = Wire::of(Arc::clone(agent).connections()?);
        let heard = Arc::clone(&begun);
        let thread = viaduct_driver::thread::spawn("vipl-connections", move || listen(&heard));
        *wire = Some((Arc::clone(&begun), thread.map_err(Error::Memory)?));
        Ok(begun)
    }

    /// Its connections, if they have been begun.
    pub fn begun(&self) -> Option<Arc<Wire>> {
        self.lock().as_ref().map(|(wire, _)| Arc::clone(wire))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Arc<Wire>, JoinHandle<()>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OnDemand {
    fn drop(&mut self) {
        let begun = self.lock().take();
        if let Some((wire, thread)) = begun {
            wire.stop.store(true, Ordering::Release);
            drop(wire);
            let _ = thread.join();
        }
    }
}
