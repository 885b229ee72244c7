//! Connections over the wire, by the agent of the NIC, wherever that is.

mod asked;
mod attempt;
mod demand;
mod event;
mod failure;
mod listener;
mod members;
mod queue;
mod request;
mod underway;

use std::{
    collections::{btree_map::Entry, BTreeMap},
    net::Ipv4Addr,
    sync::{atomic::AtomicBool, Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use viaduct_driver::{
    address::Mac,
    cm::{ConnectionId, Discriminator, End, Event, Host, Target},
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent},
        ViName,
    },
    wakeup::Wakeups,
};

pub(crate) use self::demand::OnDemand;
use self::{
    attempt::Begin,
    failure::Failure,
    underway::{QueueId, Underway},
};
pub use self::{
    event::ConnectionEvent,
    listener::Listener,
    queue::{ConnectionQueue, QueueListener},
    request::ConnectionRequest,
};
use crate::{
    connections::{
        request_room, Answer, Connections, Endpoint, HostAddress, Incoming, NetAddress, PeerRequest,
        RemoteAttributes,
    },
    Error,
};

/// How long one waits before one looks whether one still should.
const SLICE: Duration = Duration::from_millis(100);

/// The connections of a NIC.
pub(crate) struct Wire {
    agent: Arc<dyn ConnectionAgent>,
    state: Mutex<State>,
    /// Nobody has the NIC open any more.
    stop: AtomicBool,
    /// Those who are woken when the other side has ended a connection.
    lost: Arc<Wakeups>,
    /// Those who are woken when a VI is disconnected here.
    parted: Wakeups,
}

#[derive(Default)]
struct State {
    /// Connections that both ends are ready for.
    links: BTreeMap<ViName, Link>,
    /// VIs that are being connected.
    attempts: BTreeMap<ViName, Underway>,
    /// VIs whose connections the other side has ended.
    lost: Vec<ViName>,
    /// IPv4 addresses that a hosts file has told.
    hosts: BTreeMap<Mac, Ipv4Addr>,
    /// How many queues have been made.
    queues: QueueId,
}

/// A connection that both ends are ready for.
#[derive(Debug, Clone, Copy)]
struct Link {
    id: ConnectionId,
    /// The queue that hears of its end, and the program's word for it; None: that is an event of the NIC's.
    queue: Option<(QueueId, u64)>,
}

impl State {
    /// Who calls brings the attempt `id` of the VI to its end, if it is his: [`Underway::claim`].
    fn claim(&mut self, vi: ViName, id: ConnectionId) -> Option<bool> {
        self.attempts.get_mut(&vi)?.claim(id)
    }
}

impl Wire {
    fn of(agent: Arc<dyn ConnectionAgent>, lost: Arc<Wakeups>) -> Arc<Self> {
        Arc::new(Self {
            agent,
            state: Mutex::default(),
            stop: AtomicBool::new(false),
            lost,
            parted: Wakeups::default(),
        })
    }

    /// VIs whose connections the other side has ended since one last asked.
    pub fn take_lost(&self) -> Vec<ViName> {
        std::mem::take(&mut self.state().lost)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what has become of connections that nobody asks about.
    fn note_ends(&self) {
        let mut state = self.state();
        let ended = |event: &Event, links: &BTreeMap<ViName, Link>| {
            matches!(event, Event::Disconnected { .. } | Event::Lost { .. })
                && links.values().any(|link| link.id == event.id() && link.queue.is_none())
        };
        while let Some(event) = self.agent.take_event(&mut |event| ended(event, &state.links)) {
            let vi = state.links.iter().find(|(_, link)| link.id == event.id()).map(|(vi, _)| *vi);
            if let Some(vi) = vi {
                state.links.remove(&vi);
                state.lost.push(vi);
                self.lost.signal();
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
        let target = match to.host {
            HostAddress::Ip(ip) => Target::Ip(ip),
            HostAddress::Mac(mac) => match self.state().hosts.get(&mac) {
                Some(&ip) => Target::Host(Host { mac, ip }),
                None => Target::Mac(mac),
            },
        };
        let (from, to) = (discriminator(from)?, discriminator(to)?);
        Ok(Ask { vi, target, from, to, data: data.to_vec(), timeout })
    }

    /// From now on the VI is being connected, by the call that asks.
    fn enter(&self, vi: ViName, id: Option<ConnectionId>) -> Result<(), Error> {
        match self.state().attempts.entry(vi) {
            Entry::Occupied(_) => Err(Error::State("is being connected already")),
            Entry::Vacant(place) => {
                place.insert(Underway::new(id));
                Ok(())
            }
        }
    }

    /// Whether the attempt `id` of the VI was ended by a disconnect.
    fn has_ended(&self, vi: ViName, id: ConnectionId) -> bool {
        !self.state().attempts.get(&vi).is_some_and(|attempt| attempt.goes_on(id))
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
            let queue = state.attempts.remove(&name).and_then(|attempt| attempt.queue());
            state.links.insert(name, Link { id, queue });
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
    pub fn leave(&self, name: ViName) -> Result<(), Error> {
        let mut state = self.state();
        let link = state.links.remove(&name).map(|link| link.id);
        let attempt = state.attempts.get(&name).and_then(Underway::id);
        if state.attempts.get_mut(&name).is_some_and(Underway::disconnect) {
            state.attempts.remove(&name);
        }
        drop(state);
        let parted =
            [link, attempt].into_iter().flatten().try_for_each(|id| Ok(self.agent.disconnect(id)?));
        // A queue that was to bring the attempt to its end finds out.
        self.parted.signal();
        parted
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
        let own = self.agent.listen(discriminator(local)?)?;
        match self.next_request(own, timeout, give_up) {
            Ok(asked) => Ok(Box::new(asked)),
            Err(error) => {
                // Who asked in the last moment is refused. Of an agent that is gone the first error counts.
                let _ = self.agent.unlisten(own);
                Err(error)
            }
        }
    }

    fn listen(&self, local: &NetAddress, backlog: u32) -> Result<Listener, Error> {
        Listener::new(self, local, backlog)
    }

    fn count(&self) -> Result<u32, Error> {
        Ok(self.agent.count_connections()?)
    }

    fn queue(&self) -> ConnectionQueue {
        ConnectionQueue::new(self)
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
        if let Some(underway) = self.state().attempts.get_mut(&attempt.vi.name()) {
            underway.leave(None);
        }
        Ok(Arc::new(attempt))
    }
}

/// What a peer tells of its VI.
fn of_end(end: &End) -> RemoteAttributes {
    RemoteAttributes {
        reliability_level: end.info.service,
        max_transfer_size: end.info.max_transfer,
        enable_rdma_write: end.rdma_write,
        enable_rdma_read: end.rdma_read,
        not_ready: end.not_ready,
    }
}

fn discriminator(address: &NetAddress) -> Result<Discriminator, Error> {
    Discriminator::try_from(&address.discriminator[..]).map_err(|error| Error::Discriminator(error.0))
}

fn has_room(data: &[u8], room: usize) -> Result<(), Error> {
    let length = data.len();
    (length <= room).then_some(()).ok_or(Error::PrivateData { length, room })
}

/// The events that stand for connections that the other side has ended.
pub(crate) fn lost_events(wire: &Wire) -> Vec<viaduct_driver::kernel_agent::Event> {
    wire.note_ends();
    let event = |vi: ViName| viaduct_driver::kernel_agent::Event {
        code: viaduct_spec::register::event_code::CONN_LOST,
        vi: vi.index,
        life: vi.life.into(),
        receive: false,
        broke: true,
    };
    wire.take_lost().into_iter().map(event).collect()
}
