//! How a connection goes from one state to the next ([`State`] has the table), and what is sent, timed and told on the way. Three states are entered
//! elsewhere, where the message of the other side is read that they come of: [`State::Pending`] and [`State::Matched`] in `requests.rs`,
//! [`State::Answered`] in `answers.rs`.

use std::{collections::BTreeMap, time::Duration};

use super::{
    super::{
        event::{Event, Refusal},
        id::ConnectionId,
        message::Message,
        request::Party,
        state::State,
    },
    Manager,
};

impl Manager {
    /// Peer request: the other side has not asked yet, and is asked again after a pause.
    pub(super) fn wait_for_peer(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.enter(State::Unmet);
        connection.begin_timer(now, self.config.timing.peer_retry);
    }

    /// Sends the REQ, for the first time or after a pause.
    pub(super) fn ask(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.enter(State::Asked);
        connection.begin_timer(now, self.config.timing.response);
        let req = connection.req(&self.config);
        self.send_some(id, req);
    }

    /// Sends the REP.
    pub(super) fn reply(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.enter(State::Replied);
        connection.active = false;
        connection.limit = None;
        connection.begin_timer(now, self.config.timing.response);
        let rep = connection.rep(&self.config);
        self.send_some(id, rep);
    }

    /// Sends the DREQ.
    pub(super) fn leave(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.enter(State::Leaving);
        connection.ended = now;
        connection.transaction = u64::from(self.agent) << 32 | u64::from(id);
        connection.begin_timer(now, self.config.timing.response);
        let dreq = connection.dreq();
        self.send(id, &dreq);
        // Who has ended so many that nobody answers for is not waited for any longer.
        if let Some(id) = self.one_too_many(State::Leaving, self.config.limits.leaving) {
            self.linger(id, None, now);
        }
    }

    /// Both ends are ready.
    pub(super) fn establish(&mut self, id: u32, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.enter(State::Established);
        connection.limit = None;
        self.peer_lives(id, now);
        self.events.push_back(Event::Established { id: ConnectionId(id) });
    }

    /// The other side of an established connection lives: it is asked again after a silence.
    pub(super) fn peer_lives(&mut self, id: u32, now: Duration) {
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
    pub(super) fn linger(&mut self, id: u32, answer: Option<Message>, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.enter(State::Over);
        connection.ended = now;
        connection.answer = answer;
        connection.limit = None;
        connection.timer = Some(now + self.config.timing.linger);
        if let Some(oldest) = self.one_too_many(State::Over, self.config.limits.over) {
            self.connections.remove(&oldest);
            self.counts.forgotten += 1;
        }
    }

    /// Where more than `most` connections are in a state: the one that is to leave it. It has been so for longest, of the party that has the most of
    /// them.
    fn one_too_many(&self, state: State, most: usize) -> Option<u32> {
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
    pub(super) fn refuse(&mut self, id: u32, refusal: Refusal, data: Vec<u8>) {
        self.connections.remove(&id);
        self.events.push_back(Event::Refused { id: ConnectionId(id), refusal, data });
    }

    /// The other end is gone. Should it live, it hears of it.
    pub(super) fn lose(&mut self, id: u32, now: Duration) {
        self.events.push_back(Event::Lost { id: ConnectionId(id) });
        self.leave(id, now);
    }
}
