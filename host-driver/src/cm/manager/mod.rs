//! The connection manager: what consumers ask of it.
//!
//! Frames come in by [`Manager::frame`], the time by every call's `now` (since whatever moment its owner chooses, never
//! backwards) and by [`Manager::tick`] at [`Manager::deadline`]. After each call [`Manager::next_frame`] and
//! [`Manager::next_event`] are taken until there is none.

mod addresses;
mod answers;
mod timers;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::cm::{reason, subject};

use super::{
    arp::Arp,
    config::Config,
    connection::{Connection, Model, State, NO_MESSAGE},
    datagram::Datagram,
    discriminator::Discriminator,
    end::End,
    error::CmError,
    event::{Event, Refusal},
    id::{ConnectionId, ListenerId},
    mad::Mad,
    message::Message,
    neighbours::Neighbours,
    outbox::Outbox,
    progress::{Phase, Progress},
    request::{Party, Request},
    wrong::{need, Wrong},
};

/// What [`Manager::frame`] made of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It was about a connection.
    Connection,
    /// It was ARP's: others may want it too.
    Arp,
    /// It is nothing for the manager.
    Other,
    /// It was for the manager, and wrong.
    Wrong(Wrong),
}

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

#[derive(Debug, Clone, Copy)]
struct Listener {
    party: Party,
    discriminator: Discriminator,
    /// How many requests may wait to be decided on; None: it listens for one request.
    backlog: Option<usize>,
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
/// Frames to ourselves that are taken in a call; more wait for the next tick.
const LOOPED: usize = 64;

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

    /// Waits for requests for a discriminator: for the next one, or for all until [`Manager::unlisten`]. Of several listeners
    /// for one discriminator the oldest gets the request.
    pub fn listen(&mut self, discriminator: Discriminator, once: bool) -> ListenerId {
        self.listen_for(NOBODY, discriminator, (!once).then_some(usize::MAX))
    }

    /// [`Manager::listen`] of one of several parties. `backlog`: for all requests, of which so many may wait to be decided on, and more are
    /// refused ([`reason::NO_RESOURCES`]); None: for the next one.
    pub fn listen_for(
        &mut self,
        party: Party,
        discriminator: Discriminator,
        backlog: Option<usize>,
    ) -> ListenerId {
        let id = self.next_listener;
        self.next_listener += 1;
        self.listeners.insert(id, Listener { party, discriminator, backlog });
        ListenerId(id)
    }

    /// Waits no longer. Requests that are there already stay.
    pub fn unlisten(&mut self, listener: ListenerId) {
        self.listeners.remove(&listener.0);
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
        self.turn_round(now);
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
        self.turn_round(now);
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
        self.turn_round(now);
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
        self.turn_round(now);
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
        self.turn_round(now);
    }

    /// A frame has come.
    pub fn frame(&mut self, frame: &[u8], now: Duration) -> Heard {
        let heard = match self.hear(frame, now) {
            Ok(heard) => heard,
            Err(wrong) => {
                self.counts.wrong += 1;
                Heard::Wrong(wrong)
            }
        };
        self.turn_round(now);
        heard
    }

    /// The next frame that is to be sent.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        self.outbox.next()
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
        let phase = match connection.state {
            State::Resolving => Phase::Resolving,
            State::Unmet => Phase::Unmet,
            State::Asked => Phase::Asked,
            State::Answered | State::Matched => Phase::Met,
            State::Pending => Phase::Pending,
            State::Replied => Phase::Replied,
            State::Established => Phase::Established,
            State::Leaving => Phase::Leaving,
            State::Over => return None,
        };
        let Connection { host, from, to, tries: repeated, .. } = *connection;
        Some(Progress { phase, host, from, to, repeated })
    }

    /// Connections that are not forgotten.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    fn state(&self, id: u32) -> Option<State> {
        self.connections.get(&id).map(|connection| connection.state)
    }

    fn fresh_id(&mut self) -> u32 {
        loop {
            self.next_id = self.next_id.wrapping_add(1);
            if self.next_id != 0 && !self.connections.contains_key(&self.next_id) {
                return self.next_id;
            }
        }
    }

    fn hear(&mut self, frame: &[u8], now: Duration) -> Result<Heard, Wrong> {
        if let Some(arp) = Arp::decode(frame)? {
            self.hear_arp(&arp, now);
            return Ok(Heard::Arp);
        }
        let Some(datagram) = Datagram::decode(frame)? else { return Ok(Heard::Other) };
        let Datagram { target, source, pkey, .. } = datagram;
        let rule = "our address";
        need(target.ip == self.config.own.ip, "the IPv4 target", u32::from(target.ip), rule)?;
        let good = !(source.ip.is_unspecified() || source.ip.is_broadcast() || source.ip.is_multicast());
        need(good, "the IPv4 source", u32::from(source.ip), "the address of one host")?;
        let rule = "the address of one NIC";
        need(source.mac.is_unicast(), "the Ethernet source", source.mac.0[0], rule)?;
        let same = (pkey ^ self.config.pkey) & 0x7fff == 0;
        need(same, "the P_Key", pkey, "ours, apart from the membership bit")?;
        let mad = Mad::decode(&datagram.mad)?;
        self.hear_mad(source, &mad, now)?;
        Ok(Heard::Connection)
    }

    /// Sends the REQ, for the first time or after a pause.
    fn ask(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.state = State::Asked;
        connection.begin_timer(now, self.config.timing.response);
        let req = connection.req(&self.config);
        self.send_some(id, req);
    }

    /// Sends the REP.
    fn reply(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.state = State::Replied;
        connection.active = false;
        connection.limit = None;
        connection.begin_timer(now, self.config.timing.response);
        let rep = connection.rep(&self.config);
        self.send_some(id, rep);
    }

    /// Sends the DREQ.
    fn leave(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.state = State::Leaving;
        connection.ended = now;
        connection.transaction = u64::from(self.agent) << 32 | u64::from(id);
        connection.begin_timer(now, self.config.timing.response);
        let dreq = connection.dreq();
        self.send(id, &dreq);
        // Who has ended so many that nobody answers for is not waited for any longer.
        if let Some(id) = self.too_many(State::Leaving, self.config.limits.leaving) {
            self.linger(id, None, now);
        }
    }

    fn establish(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.state = State::Established;
        connection.limit = None;
        self.heard(id, now);
        self.events.push_back(Event::Established { id: ConnectionId(id) });
    }

    /// The other side of an established connection lives.
    fn heard(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.state != State::Established {
            return;
        }
        connection.tries = 0;
        connection.interval = self.config.timing.response;
        // What is no VI does not answer a probe.
        let silence = self.config.timing.probe.filter(|_| connection.native);
        connection.timer =
            silence.map(|silence| now + if connection.active { silence } else { silence + silence / 2 });
    }

    /// It is over; it is remembered for a while.
    fn linger(&mut self, id: u32, answer: Option<Message>, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.state = State::Over;
        connection.ended = now;
        connection.answer = answer;
        connection.limit = None;
        connection.timer = Some(now + self.config.timing.linger);
        if let Some(oldest) = self.too_many(State::Over, self.config.limits.over) {
            self.connections.remove(&oldest);
            self.counts.forgotten += 1;
        }
    }

    /// Where more than `most` connections are in a state: the one that has been so for longest, of the party that has the most of them.
    fn too_many(&self, state: State, most: usize) -> Option<u32> {
        let all = || self.connections.values().filter(|one| one.state == state);
        if all().count() <= most {
            return None;
        }
        let mut shares: BTreeMap<Party, usize> = BTreeMap::new();
        all().for_each(|one| *shares.entry(one.party).or_default() += 1);
        let (&greedy, _) = shares.iter().max_by_key(|(_, count)| **count)?;
        all().filter(|one| one.party == greedy).min_by_key(|one| one.ended).map(|one| one.id)
    }

    /// It came to nothing, and is forgotten.
    fn refuse(&mut self, id: u32, refusal: Refusal, data: Vec<u8>) {
        self.connections.remove(&id);
        self.events.push_back(Event::Refused { id: ConnectionId(id), refusal, data });
    }

    /// The other end is gone. Should it live, it hears of it.
    fn lose(&mut self, id: u32, now: Duration) {
        self.events.push_back(Event::Lost { id: ConnectionId(id) });
        self.leave(id, now);
    }

    fn send_some(&mut self, id: u32, message: Option<Message>) {
        if let Some(message) = message {
            self.send(id, &message);
        }
    }

    /// Sends a message to the other end of a connection.
    fn send(&mut self, id: u32, message: &Message) {
        let Some(connection) = self.connections.get(&id) else { return };
        if let Some(host) = connection.host {
            self.outbox.message(connection.party, host, connection.transaction, message);
        }
    }

    /// Takes what we have sent to ourselves.
    fn turn_round(&mut self, now: Duration) {
        for _ in 0..LOOPED {
            let Some(frame) = self.outbox.next_looped() else { return };
            if self.hear(&frame, now).is_err() {
                self.counts.wrong += 1;
            }
        }
    }
}
