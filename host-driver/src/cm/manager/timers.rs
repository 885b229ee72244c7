//! What the connection manager does when its time has come.

use std::time::Duration;

use viaduct_spec::cm::subject;

use super::{
    super::{
        connection::{Model, NO_MESSAGE},
        event::{Event, Refusal},
        id::ConnectionId,
        state::State,
    },
    Manager,
};

impl Manager {
    /// When [`Manager::tick`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        if self.outbox.has_looped() {
            return Some(Duration::ZERO);
        }
        self.connections.values().flat_map(|one| [one.timer, one.limit]).flatten().min()
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Duration) {
        let due = |time: Option<Duration>| time.is_some_and(|time| time <= now);
        let all = self.connections.values().filter(|one| due(one.timer) || due(one.limit));
        let all: Vec<u32> = all.map(|one| one.id).collect();
        for id in all {
            let Some(connection) = self.connections.get(&id) else { continue };
            if due(connection.limit) {
                self.give_up(id, Refusal::Timeout);
            } else if due(connection.timer) {
                self.expire(id, now);
            }
        }
        self.hear_own_frames(now);
    }

    /// The consumer's time is over, or patience is.
    fn give_up(&mut self, id: u32, refusal: Refusal) {
        let Some(connection) = self.connections.get(&id) else { return };
        let rej = connection.give_up(NO_MESSAGE, self.config.own.mac);
        self.send(id, &rej);
        self.refuse(id, refusal, Vec::new());
    }

    /// A connection's timer has run out: says again what was not answered, or gives up.
    fn expire(&mut self, id: u32, now: Duration) {
        let timing = self.config.timing;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let (state, tries) = (connection.state, connection.tries);
        connection.tries += 1;
        connection.interval = (2 * connection.interval).min(timing.longest_response);
        let next = now + connection.interval;
        // A last time while there is time for an answer: the other side may be there only now.
        let last = connection.limit.map(|limit| limit.saturating_sub(timing.response));
        connection.timer = Some(last.filter(|&last| now < last && last < next).unwrap_or(next));
        let peer = connection.model == Model::Peer;
        let exhausted = tries >= timing.retries;
        match state {
            State::Resolving if exhausted && !peer => self.refuse(id, Refusal::Unreachable, Vec::new()),
            State::Resolving => self.ask_address(id),
            State::Unmet => self.ask(id, now),
            State::Asked if exhausted && peer => self.wait_for_peer(id, now),
            State::Asked if exhausted => self.give_up(id, Refusal::Unreachable),
            State::Asked => {
                let req = connection.req(&self.config);
                self.send_some(id, req);
            }
            State::Pending => {
                self.connections.remove(&id);
                self.events.push_back(Event::Withdrawn { id: ConnectionId(id) });
            }
            State::Replied if exhausted => {
                let rej = connection.give_up(subject::REP, self.config.own.mac);
                self.send(id, &rej);
                self.refuse(id, Refusal::Unreachable, Vec::new());
            }
            State::Replied => {
                let rep = connection.rep(&self.config);
                self.send_some(id, rep);
            }
            State::Established if tries >= timing.probes => self.lose(id, now),
            State::Established => {
                connection.interval = timing.response;
                connection.timer = Some(now + timing.response);
                let probe =
                    if connection.active { Some(connection.rtu(true)) } else { connection.rep(&self.config) };
                self.send_some(id, probe);
            }
            State::Leaving if exhausted => self.linger(id, None, now),
            State::Leaving => {
                let dreq = connection.dreq();
                self.send(id, &dreq);
            }
            State::Over => {
                self.connections.remove(&id);
            }
            // These wait for their owner; only the consumer's time ends them.
            State::Answered | State::Matched => connection.timer = None,
        }
    }
}
