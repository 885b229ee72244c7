//! The connection manager: what consumers ask of it. The connector (`agent::connector`) owns it, calls it with its own lock held, and carries frames
//! between it and the raw channel.
//!
//! Frames come in by [`Manager::frame`], the time by every call's `now` (since whatever moment its owner chooses, never
//! backwards) and by [`Manager::tick`] at [`Manager::deadline`]. After each call [`Manager::next_frame`] and
//! [`Manager::next_event`] are taken until there is none.
//!
//! | file | what it is about |
//! |---|---|
//! | `frames` | frames that come and go |
//! | `addresses` | the addresses of hosts, and ARP |
//! | `listeners` | who waits for requests |
//! | `requests` | the REQ of somebody else |
//! | `answers` | all other messages |
//! | `timers` | what is due |
//! | `transitions` | from one state to the next |

mod addresses;
mod answers;
mod frames;
mod listeners;
mod requests;
mod timers;
mod transitions;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::cm::{reason, subject};

pub use self::frames::Heard;
use self::listeners::Listener;
use super::{
    config::Config,
    connection::{Connection, Model, NO_MESSAGE},
    discriminator::Discriminator,
    end::End,
    error::CmError,
    event::Event,
    id::ConnectionId,
    neighbours::Neighbours,
    outbox::Outbox,
    progress::Progress,
    request::{Party, Request},
    state::State,
};

/// What has been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Frames for the manager that were wrong.
    pub wrong: u64,
    /// Requests refused because too many were pending.
    pub full: u64,
    /// Connections that were over, and forgotten early.
    pub forgotten: u64,
    /// Frames that found no room on their way out.
    pub frames_dropped: u64,
}

/// The connection manager of one NIC.
#[derive(Debug)]
pub struct Manager {
    config: Config,
    outbox: Outbox,
    neighbours: Neighbours,
    connections: BTreeMap<u32, Connection>,
    listeners: BTreeMap<u64, Listener>,
    events: VecDeque<Event>,
    next_id: u32,
    next_listener: u64,
    /// Upper half of our transactions.
    agent: u32,
    counts: Counts,
}

/// Bytes of a REP's private data for the consumer.
pub const REP_ROOM: usize = 196 - viaduct_spec::cm::via::BYTES;
/// Bytes of a REJ's private data for the consumer.
pub const REJ_ROOM: usize = 148 - viaduct_spec::cm::via::BYTES;
/// Who sends what is nobody's connection: answers to those who ask for what is not there.
const NOBODY: Party = 0;

impl Manager {
    /// A manager that knows of nothing.
    pub fn new(config: Config) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(config.seed);
        Self {
            config,
            outbox: Outbox::new(&config),
            neighbours: Neighbours::default(),
            connections: BTreeMap::new(),
            listeners: BTreeMap::new(),
            events: VecDeque::new(),
            next_id: random.random(),
            next_listener: 0,
            agent: random.random(),
            counts: Counts::default(),
        }
    }

    /// Its set-up.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of a consumer's own that a request between two discriminators can carry.
    pub fn room(from: Discriminator, to: Discriminator) -> usize {
        let [from, to] = [from, to].map(|of| of.as_bytes().len());
        super::connection::REQ_ROOM - viaduct_spec::cm::via::BYTES - from - to
    }

    /// Asks somebody who listens.
    ///
    /// # Errors
    /// [`CmError::Own`], [`CmError::Data`].
    pub fn connect(&mut self, request: Request, now: Duration) -> Result<ConnectionId, CmError> {
        self.request(request, Model::Client, now)
    }

    /// Asks somebody who asks us. Both sides name each other's host and discriminator.
    ///
    /// # Errors
    /// As [`Manager::connect`].
    pub fn peer_request(&mut self, request: Request, now: Duration) -> Result<ConnectionId, CmError> {
        self.request(request, Model::Peer, now)
    }

    /// Begins a connection that this side asks for.
    fn request(&mut self, request: Request, model: Model, now: Duration) -> Result<ConnectionId, CmError> {
        let Request { party, own, target, from, to, data, timeout } = request;
        own.fits()?;
        let id = self.fresh_id();
        let connection = Connection {
            id,
            party,
            state: State::Resolving,
            model,
            active: true,
            native: true,
            listener: None,
            target,
            host: None,
            remote_id: 0,
            transaction: u64::from(self.agent) << 32 | u64::from(id),
            own: Some(own),
            peer: None,
            from,
            to,
            data,
            timer: None,
            interval: self.config.timing.response,
            tries: 0,
            limit: timeout.and_then(|timeout| now.checked_add(timeout)),
            ended: Duration::ZERO,
            answer: None,
        };
        let (length, room) = (connection.data.len(), connection.room());
        if length > room {
            return Err(CmError::Data { length, room });
        }
        self.connections.insert(id, connection);
        self.begin(id, now);
        self.hear_own_frames(now);
        Ok(ConnectionId(id))
    }

    /// Accepts a request with this end, which is ready for the other one's messages from now on; [`Event::Established`] says
    /// when the other one is.
    ///
    /// # Errors
    /// [`CmError::Gone`]: whoever asked has given up. [`CmError::Peer`]: level or sizes differ; nothing is sent.
    pub fn accept(&mut self, id: ConnectionId, own: End, data: &[u8], now: Duration) -> Result<(), CmError> {
        own.fits()?;
        if data.len() > REP_ROOM {
            return Err(CmError::Data { length: data.len(), room: REP_ROOM });
        }
        let connection = self.connections.get_mut(&id.0).filter(|one| one.state == State::Pending);
        let connection = connection.ok_or(CmError::Gone(id.0))?;
        if let Some(peer) = &connection.peer {
            own.agree(peer)?;
            if !connection.native && own.info.mtu < peer.info.mtu {
                let (own, peer) = (own.info.mtu.bytes(), peer.info.mtu.bytes());
                let what = format!("the other side sends packets of {peer} bytes, and this one takes {own}");
                return Err(CmError::Peer(what));
            }
        }
        connection.own = Some(own);
        connection.data = data.to_vec();
        self.reply(id.0, now);
        self.hear_own_frames(now);
        Ok(())
    }

    /// This end is ready for the messages of the one that [`Event::Met`] told of.
    ///
    /// # Errors
    /// [`CmError::Gone`].
    pub fn ready(&mut self, id: ConnectionId, now: Duration) -> Result<(), CmError> {
        let connection = self.connections.get_mut(&id.0).ok_or(CmError::Gone(id.0))?;
        match connection.state {
            State::Answered => {
                let rtu = connection.rtu(false);
                self.establish(id.0, now);
                self.send(id.0, &rtu);
            }
            State::Matched => self.reply(id.0, now),
            _ => return Err(CmError::Gone(id.0)),
        }
        self.hear_own_frames(now);
        Ok(())
    }

    /// Refuses a request, or what [`Event::Met`] told of.
    ///
    /// # Errors
    /// [`CmError::Gone`], [`CmError::Data`].
    pub fn reject(&mut self, id: ConnectionId, data: &[u8], now: Duration) -> Result<(), CmError> {
        if data.len() > REJ_ROOM {
            return Err(CmError::Data { length: data.len(), room: REJ_ROOM });
        }
        let connection = self.connections.get(&id.0).ok_or(CmError::Gone(id.0))?;
        let about = match connection.state {
            State::Pending | State::Matched => subject::REQ,
            State::Answered => subject::REP,
            _ => return Err(CmError::Gone(id.0)),
        };
        let rej = connection.rej(about, reason::CONSUMER, data);
        self.send(id.0, &rej);
        self.linger(id.0, Some(rej), now);
        self.hear_own_frames(now);
        Ok(())
    }

    /// Ends a connection, or the attempt at one, wherever it is. No event comes of it any more; one that is gone already is no
    /// error.
    pub fn disconnect(&mut self, id: ConnectionId, now: Duration) {
        self.events.retain(|event| event.id() != id);
        let Some(connection) = self.connections.get(&id.0) else { return };
        match connection.state {
            State::Resolving => {
                self.connections.remove(&id.0);
            }
            State::Unmet | State::Asked => {
                let rej = connection.give_up(NO_MESSAGE, self.config.own.mac);
                self.send(id.0, &rej);
                self.connections.remove(&id.0);
            }
            State::Pending | State::Matched | State::Answered => {
                let about = if connection.state == State::Answered { subject::REP } else { subject::REQ };
                let rej = connection.rej(about, reason::CONSUMER, &[]);
                self.send(id.0, &rej);
                self.linger(id.0, Some(rej), now);
            }
            State::Replied | State::Established => self.leave(id.0, now),
            State::Leaving | State::Over => {}
        }
        self.hear_own_frames(now);
    }

    /// The next thing that has happened.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        Counts { frames_dropped: self.outbox.dropped(), ..self.counts }
    }

    /// Whether both ends of a connection are ready.
    pub fn is_established(&self, id: ConnectionId) -> bool {
        self.state(id.0) == Some(State::Established)
    }

    /// Whether a request waits for a decision.
    pub fn is_pending(&self, id: ConnectionId) -> bool {
        self.state(id.0) == Some(State::Pending)
    }

    /// How far a connection is; None when it is over.
    pub fn progress(&self, id: ConnectionId) -> Option<Progress> {
        let connection = self.connections.get(&id.0)?;
        let phase = connection.state.phase()?;
        let Connection { host, from, to, tries: repeated, .. } = *connection;
        Some(Progress { phase, host, from, to, repeated })
    }

    /// Connections that are not forgotten.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Those of one party.
    pub fn connections_of(&self, party: Party) -> usize {
        self.connections.values().filter(|connection| connection.party == party).count()
    }

    /// The state of a connection that is not forgotten.
    fn state(&self, id: u32) -> Option<State> {
        self.connections.get(&id).map(|connection| connection.state)
    }

    /// A number that no connection has.
    fn fresh_id(&mut self) -> u32 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if self.next_id != 0 && !self.connections.contains_key(&self.next_id) {
                return self.next_id;
            }
        }
    }
}
