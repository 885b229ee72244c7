//! Connections of an agent's VIs over the wire: the connection manager ([`crate::cm`]) on the raw channel, and VIs made ready for
//! what it has agreed on.
//!
//! It has no thread of its own. Whoever waits for something turns it ([`Connector::wait`]): a library's thread that hears
//! peers, or one in a call that blocks. Any number of threads may.
//!
//! A VI is connected when [`Event::Met`] is heard or [`Connector::accept`] returns, and its messages may be sent from [`Event::Established`]
//! on. A connection that ends after that leaves it in Error: its owner makes it idle when all that was posted is complete. Events are kept until
//! they are taken: who has asked or accepted takes those of its connection.

mod agent;
mod settle;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::{Duration, Instant},
};

use super::{
    raw::{Filter, RawChannel},
    Agent, AgentError, TICK_NS,
};
use crate::{
    cm::{
        config::Config, manager::Heard, progress::Progress, CmError, ConnectionId, Discriminator, End, Event,
        EventQueue, Host, ListenerId, Manager, Party, Request,
    },
    kernel_agent::ViName,
    wakeup::Wakeups,
};

pub use crate::kernel_agent::connection_agent::{Ask, ConnectorError};

/// The party of all connections, where the agent has one user.
const ALONE: Party = 0;
/// Frames of the raw channel that are kept for connections: what else is sent leaves them free.
const KEPT: usize = 4;
/// Frames for others that wait for [`Connector::next_other`], at most.
const OTHERS: usize = 256;
/// Frames that are taken in a turn.
const FRAMES: usize = 64;
/// How late a connector may be in what it does where it may sleep: it does not ask for the device's time more often.
const LATENESS: Duration = Duration::from_millis(1);
/// The longest sleep of a thread that waits, with nothing due: then it asks whether the device lives.
const LONGEST: Duration = crate::wait::LONGEST_SLEEP;

/// Connection management of an agent's NIC.
pub struct Connector {
    agent: Arc<Agent>,
    raw: RawChannel,
    state: Mutex<State>,
    /// Counts what those who sleep are woken for. It changes with the state locked.
    told: AtomicU64,
    /// Those who wait for events on descriptors.
    wakeups: Wakeups,
}

struct State {
    manager: Manager,
    /// When something was due, when those who sleep were last woken.
    due: Option<Duration>,
    clock: Clock,
    links: BTreeMap<ConnectionId, Link>,
    events: EventQueue,
    others: VecDeque<Vec<u8>>,
    /// A frame that the raw channel had no room for.
    unsent: Option<Vec<u8>>,
}

/// What a connection connects, as far as it has come.
#[derive(Debug, Clone, Copy)]
enum Link {
    /// Somebody asks. Who accepts says with which VI.
    Incoming { peer: End },
    /// A VI asks, or is asked for by the peer that it asks; the peer's end is not known yet.
    Asking { vi: ViName, own: End },
    /// The VI's rows are written: it is connected to the peer's.
    Connected { vi: ViName },
}

/// Time that has passed for both the wall and the device: a simulator may be slower than its users.
#[derive(Debug)]
struct Clock {
    /// None: only the device's time counts.
    wall: Option<Instant>,
    ticks: u32,
    now: Duration,
}

impl Clock {
    /// The time now, or up to [`LATENESS`] earlier: a look at the device's time is a load, and most of what is done takes less than that.
    fn advance(&mut self, agent: &Agent) -> Result<Duration, AgentError> {
        match self.wall {
            Some(wall) if wall.elapsed() < LATENESS => Ok(self.now),
            _ => self.look(agent),
        }
    }

    /// The time now.
    fn look(&mut self, agent: &Agent) -> Result<Duration, AgentError> {
        let ticks = agent.time()?;
        let passed = u64::from(ticks.wrapping_sub(self.ticks)) * TICK_NS as u64;
        let mut passed = Duration::from_nanos(passed);
        self.ticks = ticks;
        if let Some(wall) = &mut self.wall {
            passed = passed.min(wall.elapsed());
            *wall = Instant::now();
        }
        self.now += passed;
        Ok(self.now)
    }
}

impl Connector {
    /// Opens the raw channel and waits for messages. ARP is answered if `answer_arp`: nobody else has the NIC's address.
    ///
    /// # Errors
    /// Those of [`Agent::open_raw`].
    pub fn open(agent: &Arc<Agent>, answer_arp: bool, seed: u64) -> Result<Self, AgentError> {
        let own = Host { mac: agent.mac(), ip: agent.ip() };
        let config = Config { pkey: agent.pkey, answer_arp, ..Config::new(own, seed) };
        Self::with(agent, config)
    }

    /// The same, with a set-up of the caller's.
    ///
    /// # Errors
    /// Those of [`Agent::open_raw`].
    pub fn with(agent: &Arc<Agent>, config: Config) -> Result<Self, AgentError> {
        // Questions of ARP's are broadcast.
        let raw = agent.open_raw(Filter { broadcast: true, ..Filter::default() })?;
        let wall = agent.device.may_sleep().then(Instant::now);
        let clock = Clock { wall, ticks: agent.time()?, now: Duration::ZERO };
        let state = State {
            manager: Manager::new(config),
            due: None,
            clock,
            links: BTreeMap::new(),
            events: EventQueue::default(),
            others: VecDeque::new(),
            unsent: None,
        };
        let (agent, state, told) = (Arc::clone(agent), Mutex::new(state), AtomicU64::new(0));
        Ok(Self { agent, raw, state, told, wakeups: Wakeups::default() })
    }

    /// The raw channel, for frames that are nobody's connection.
    pub fn raw(&self) -> &RawChannel {
        &self.raw
    }

    /// Waits for requests: [`Manager::listen`].
    pub fn listen(&self, discriminator: Discriminator, once: bool) -> ListenerId {
        self.state().manager.listen(discriminator, once)
    }

    /// [`Connector::listen`] of one of several parties, who share what is limited: [`Manager::listen_for`].
    pub fn listen_for(
        &self,
        party: Party,
        discriminator: Discriminator,
        backlog: Option<usize>,
    ) -> ListenerId {
        self.state().manager.listen_for(party, discriminator, backlog)
    }

    /// Waits no longer. Who has asked, and was not taken, is refused.
    ///
    /// # Errors
    /// The device's.
    pub fn unlisten(&self, own: ListenerId) -> Result<(), AgentError> {
        let mut state = self.state();
        state.manager.unlisten(own);
        let untaken = |event: &Event| matches!(event, Event::Incoming { listener, .. } if *listener == own);
        while let Some(event) = state.events.take(untaken) {
            let now = state.clock.advance(&self.agent)?;
            state.manager.disconnect(event.id(), now);
            state.links.remove(&event.id());
            self.settle(&mut state, now)?;
        }
        Ok(())
    }

    /// Asks somebody who listens. What comes of it is an event.
    ///
    /// # Errors
    /// No such VI; data that has no room.
    pub fn connect(&self, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        self.connect_for(ALONE, ask)
    }

    /// [`Connector::connect`] of one of several parties, who share what is limited.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn connect_for(&self, party: Party, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        self.ask(party, ask, Manager::connect)
    }

    /// Asks somebody who asks us. What comes of it is an event.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn peer_request(&self, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        self.peer_request_for(ALONE, ask)
    }

    /// [`Connector::peer_request`] of one of several parties, who share what is limited.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn peer_request_for(&self, party: Party, ask: Ask) -> Result<ConnectionId, ConnectorError> {
        self.ask(party, ask, Manager::peer_request)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?ask.vi, target = ?ask.target, from = ?ask.from, to = ?ask.to), ret, err(level = "debug"))]
    fn ask(
        &self,
        party: Party,
        ask: Ask,
        how: fn(&mut Manager, Request, Duration) -> Result<ConnectionId, CmError>,
    ) -> Result<ConnectionId, ConnectorError> {
        let Ask { vi, target, from, to, data, timeout } = ask;
        let own = self.agent.vi_end(vi)?;
        let mut state = self.state();
        // The consumer's time-out begins now.
        let now = state.clock.look(&self.agent)?;
        let id = how(&mut state.manager, Request { party, own, target, from, to, data, timeout }, now)?;
        state.links.insert(id, Link::Asking { vi, own });
        self.settle(&mut state, now)?;
        Ok(id)
    }

    /// Accepts a request with an idle VI, which is connected when this returns: [`Event::Established`] says when its messages may be
    /// sent.
    ///
    /// # Errors
    /// [`CmError::Gone`]: whoever asked has given up. [`CmError::Peer`]: the ends do not fit, and nothing was done.
    #[tracing::instrument(level = "debug", skip_all, fields(id = ?id, vi = ?vi), ret, err(level = "debug"))]
    pub fn accept(&self, id: ConnectionId, vi: ViName, data: &[u8]) -> Result<(), ConnectorError> {
        let own = self.agent.vi_end(vi)?;
        let mut state = self.state();
        let now = state.clock.advance(&self.agent)?;
        let peer = match state.links.get(&id) {
            Some(Link::Incoming { peer }) if state.manager.is_pending(id) => *peer,
            _ => {
                state.events.forget(id);
                return Err(CmError::Gone(id.number()).into());
            }
        };
        let agreement = own.agree(&peer).map_err(CmError::from)?;
        self.agent.connect_vi_as(vi, &agreement)?;
        if let Err(error) = state.manager.accept(id, own, data, now) {
            self.agent.break_vi(vi)?;
            return Err(error.into());
        }
        state.links.insert(id, Link::Connected { vi });
        self.settle(&mut state, now)?;
        Ok(())
    }

    /// Refuses a request.
    ///
    /// # Errors
    /// [`CmError::Gone`], [`CmError::Data`].
    #[tracing::instrument(level = "debug", skip_all, fields(id = ?id), ret, err(level = "debug"))]
    pub fn reject(&self, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError> {
        let mut state = self.state();
        let now = state.clock.advance(&self.agent)?;
        if let Err(error) = state.manager.reject(id, data, now) {
            if error.is_gone() {
                state.events.forget(id);
            }
            return Err(error.into());
        }
        state.links.remove(&id);
        Ok(self.settle(&mut state, now)?)
    }

    /// Ends a connection or an attempt at one: the other end is told, and no event comes any more. The VI is its owner's to break and make
    /// idle.
    ///
    /// # Errors
    /// The device's.
    #[tracing::instrument(level = "debug", skip_all, fields(id = ?id), ret, err(level = "debug"))]
    pub fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError> {
        let mut state = self.state();
        let now = state.clock.advance(&self.agent)?;
        // What has not been dealt with yet, is not any more.
        state.manager.disconnect(id, now);
        state.links.remove(&id);
        state.events.forget(id);
        self.settle(&mut state, now)
    }

    /// How far a connection is; None when it is over.
    pub fn progress(&self, id: ConnectionId) -> Option<Progress> {
        self.state().manager.progress(id)
    }

    /// Connections of a party that the manager has not forgotten.
    ///
    /// # Errors
    /// As [`Connector::turn`]: what is due is done before.
    pub fn connections_of(&self, party: Party) -> Result<u32, AgentError> {
        self.turn()?;
        Ok(self.state().manager.connections_of(party) as u32)
    }

    /// Takes the oldest event that `is` holds of.
    pub fn take_event(&self, is: impl FnMut(&Event) -> bool) -> Option<Event> {
        self.state().events.take(is)
    }

    /// Takes the oldest frame that is nobody's connection: ARP, IP, anything else.
    pub fn next_other(&self) -> Option<Vec<u8>> {
        self.state().others.pop_front()
    }

    /// Sends a frame of somebody else's, of the host's TCP/IP for one: behind all that is to be said about connections, for which it leaves
    /// room in the raw channel.
    ///
    /// # Errors
    /// [`AgentError::RawFull`]: there is no room now. Those of [`RawChannel::send`].
    pub fn send_other(&self, frame: &[u8]) -> Result<(), AgentError> {
        let mut state = self.state();
        self.flush(&mut state)?;
        if state.unsent.is_some() {
            return Err(AgentError::RawFull);
        }
        self.raw.send_leaving(frame, KEPT)
    }

    /// Does what there is to do, without waiting.
    ///
    /// # Errors
    /// The device's; [`AgentError::RawBroken`].
    pub fn turn(&self) -> Result<(), AgentError> {
        for _ in 0..FRAMES {
            let Some(frame) = self.raw.receive()? else { break };
            self.take(frame)?;
        }
        let mut state = self.state();
        let now = state.clock.advance(&self.agent)?;
        state.manager.tick(now);
        self.settle(&mut state, now)
    }

    /// How often those who wait were given something to look for: an event, or something that is due earlier. Who is to wait asks before it
    /// looks.
    pub fn event_count(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// Waits for something to do, for `timeout` at most and not for long, and does it. It does not wait, or no longer, when
    /// [`Connector::event_count`] is not `seen` any more.
    ///
    /// # Errors
    /// As [`Connector::turn`].
    pub fn wait(&self, seen: u64, timeout: Duration) -> Result<(), AgentError> {
        if self.agent.device.may_sleep() {
            let span = {
                let state = self.state();
                let deadline = state.manager.deadline();
                let left = deadline.map_or(LONGEST, |deadline| deadline.saturating_sub(state.clock.now));
                left.min(LONGEST).min(timeout).max(LATENESS)
            };
            if let Some(frame) = self.raw.wait_receive_unless(span, || self.event_count() != seen)? {
                self.take(frame)?;
            }
        } else {
            self.agent.pause();
        }
        self.turn()
    }

    fn take(&self, frame: Vec<u8>) -> Result<(), AgentError> {
        let mut state = self.state();
        let now = state.clock.advance(&self.agent)?;
        let heard = state.manager.frame(&frame, now);
        if matches!(heard, Heard::Arp | Heard::Other) {
            if state.others.len() == OTHERS {
                state.others.pop_front();
            }
            state.others.push_back(frame);
        }
        self.settle(&mut state, now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole: what a thread that panicked left is usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
