//! The REQ of somebody else: a client's, for who listens, or a peer's, for who asks it too.

use std::time::Duration;

use viaduct_spec::cm::{reason, subject, PORT, TCP_SERVICE};

use super::{
    super::{
        config::Config,
        connection::{asking, unknown, unreadable, Connection, Model, NOWHERE},
        datagram::Host,
        discriminator::Discriminator,
        end::End,
        event::{Event, Incoming, Refusal},
        id::{ConnectionId, ListenerId},
        message::Req,
        rdma_cm::RdmaCm,
        state::State,
        via::Via,
        wrong::{need, Wrong},
    },
    Listener, Manager, NOBODY,
};

/// A request that nothing is known of yet.
struct NewRequest<'a> {
    host: Host,
    transaction: u64,
    req: &'a Req,
    end: End,
    via: Option<Via>,
    to: Discriminator,
}

impl Manager {
    /// A REQ has come.
    ///
    /// # Errors
    /// What is wrong in it; the other side is told, too.
    pub(super) fn hear_req(
        &mut self,
        host: Host,
        transaction: u64,
        req: &Req,
        now: Duration,
    ) -> Result<(), Wrong> {
        need(req.local_id != 0, "the REQ's local number", req.local_id, "0 is none")?;
        let known = self.connections.values().find(|one| {
            one.remote_id == req.local_id
                && one.id != req.local_id
                && one.host.is_some_and(|own| own.ip == host.ip)
        });
        if let Some(id) = known.map(|one| one.id) {
            self.hear_req_again(id, now);
            return Ok(());
        }
        let refuse = |manager: &mut Self, reason| {
            let rej = unknown(0, req.local_id, subject::REQ, reason);
            manager.outbox.message(NOBODY, host, transaction, &rej);
        };
        if req.service & !0xffff != TCP_SERVICE {
            refuse(self, reason::NO_SERVICE);
            return Ok(());
        }
        if let Err(wrong) = RdmaCm::decode(&req.private) {
            refuse(self, reason::UNSUPPORTED);
            return Err(wrong);
        }
        let via = match Via::decode(&req.private[viaduct_spec::cm::rdma_cm::BYTES..]) {
            Ok(via) => via,
            Err(wrong) => {
                let rej = unreadable(0, req.local_id, subject::REQ);
                self.outbox.message(NOBODY, host, transaction, &rej);
                return Err(wrong);
            }
        };
        let end = match asking(req, via.as_ref(), host) {
            Ok(end) => end,
            Err(reason) => {
                refuse(self, reason);
                return Ok(());
            }
        };
        // The queue pair has another connection, that the other side does not know of: it was restarted.
        let stale = self.connections.values().find(|one| {
            matches!(one.state, State::Replied | State::Established | State::Leaving)
                && one.peer.is_some_and(|peer| {
                    (peer.info.ip, peer.info.queue_pair) == (host.ip, end.info.queue_pair)
                })
        });
        if let Some(stale) = stale {
            let (id, state) = (stale.id, stale.state);
            refuse(self, reason::STALE);
            match state {
                State::Established => self.lose(id, now),
                State::Replied => self.refuse(id, Refusal::Stale, Vec::new()),
                _ => {}
            }
            return Ok(());
        }
        let port = (req.service & 0xffff) as u16;
        let to = via.as_ref().map_or_else(|| Discriminator::of_port(port), |via| via.to);
        if via.is_none() && port == PORT {
            // That port is for those who name a discriminator.
            refuse(self, reason::NO_SERVICE);
            return Ok(());
        }
        let peer = via.as_ref().is_some_and(|via| via.peer);
        let request = NewRequest { host, transaction, req, end, via, to };
        let refused = if peer { self.hear_peer(request, now) } else { self.hear_client(request, now) };
        if let Err(reason) = refused {
            refuse(self, reason);
        }
        Ok(())
    }

    /// A client's request, for who listens. Else the reason to refuse it.
    fn hear_client(&mut self, new: NewRequest<'_>, now: Duration) -> Result<(), u16> {
        let NewRequest { host, transaction, req, end, via, to } = new;
        let listener = self.listeners.iter().find(|(_, one)| one.discriminator == to);
        let (&listener, &Listener { backlog, party, .. }) = listener.ok_or(reason::NO_SERVICE)?;
        let pending = |one: &&Connection| {
            one.model == Model::Server && matches!(one.state, State::Pending | State::Replied)
        };
        if self.connections.values().filter(pending).count() >= self.config.limits.pending {
            self.counts.full += 1;
            return Err(reason::NO_RESOURCES);
        }
        let once = backlog.is_none();
        if once {
            self.listeners.remove(&listener);
        }
        let waits = |one: &&Connection| one.state == State::Pending && one.listener == Some(listener);
        if backlog.is_some_and(|most| self.connections.values().filter(waits).count() >= most) {
            self.counts.full += 1;
            return Err(reason::NO_RESOURCES);
        }
        let Config { timing, .. } = self.config;
        let id = self.fresh_id();
        let native = via.is_some();
        let Via { from, data, .. } = via.unwrap_or_else(|| {
            let port = viaduct_spec::cm::rdma_cm::PORT.get(&req.private) as u16;
            Via { from: Discriminator::of_port(port), ..Via::blank() }
        });
        let connection = Connection {
            id,
            party,
            state: State::Pending,
            model: Model::Server,
            active: false,
            native,
            listener: Some(listener),
            target: NOWHERE,
            host: Some(host),
            remote_id: req.local_id,
            transaction,
            own: None,
            peer: Some(end),
            from: to,
            to: from,
            data: Vec::new(),
            timer: Some(now + timing.withdrawal),
            interval: timing.response,
            tries: 0,
            limit: None,
            ended: Duration::ZERO,
            answer: None,
        };
        self.connections.insert(id, connection);
        let request = Incoming { host, from, to, peer: end, data };
        self.events.push_back(Event::Incoming {
            id: ConnectionId(id),
            listener: ListenerId(listener),
            once,
            request,
        });
        Ok(())
    }

    /// A peer's request. Of the two the one of higher rank is the active one: the other's REQ only tells it to ask.
    /// Else the reason to refuse it.
    fn hear_peer(&mut self, new: NewRequest<'_>, now: Duration) -> Result<(), u16> {
        let NewRequest { host, transaction, req, end, via, .. } = new;
        let Some(via) = via else { return Err(reason::NO_SERVICE) };
        let own = self.config.own;
        let fits = |one: &&Connection| {
            one.model == Model::Peer
                && matches!(one.state, State::Resolving | State::Unmet | State::Asked)
                && one.from == via.to
                && one.to == via.from
                && one.asks(host)
                && !(host == own && one.id == req.local_id)
        };
        let theirs = (req.guid, req.queue_pair);
        let lower = self.connections.values().filter(fits).find(|one| one.rank(own.mac) <= theirs);
        let Some(id) = lower.map(|one| one.id) else {
            let higher = self.connections.values().find(fits).ok_or(reason::NO_SERVICE)?;
            let (id, state) = (higher.id, higher.state);
            if state != State::Asked {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.host = Some(host);
                }
                self.ask(id, now);
            }
            return Ok(());
        };
        let connection = self.connections.get_mut(&id).ok_or(reason::NO_SERVICE)?;
        connection.host = Some(host);
        connection.remote_id = req.local_id;
        connection.transaction = transaction;
        connection.peer = Some(end);
        connection.active = false;
        connection.timer = None;
        let fits = connection.own.as_ref().is_none_or(|own| own.agree(&end).is_ok());
        if !fits {
            self.refuse(id, Refusal::Mismatch, Vec::new());
            return Err(reason::UNSUPPORTED);
        }
        connection.enter(State::Matched);
        self.events.push_back(Event::Met { id: ConnectionId(id), peer: end, data: via.data });
        Ok(())
    }

    /// A REQ that was here before: the answer was lost, or is not there yet.
    fn hear_req_again(&mut self, id: u32, now: Duration) {
        let Config { timing, .. } = self.config;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let message = match connection.state {
            State::Pending => {
                connection.timer = Some(now + timing.withdrawal);
                Some(connection.mra(subject::REQ, timing.consumer))
            }
            State::Matched => Some(connection.mra(subject::REQ, timing.consumer)),
            State::Replied => connection.rep(&self.config),
            State::Over => connection
                .answer
                .or_else(|| Some(unknown(connection.id, connection.remote_id, subject::REQ, reason::STALE))),
            _ => None,
        };
        self.send_some(id, message);
    }
}
