//! What the connection manager does with messages of the other side's.

use std::time::Duration;

use viaduct_spec::cm::{reason, subject, PORT, TCP_SERVICE};

use super::{
    super::{
        config::Config,
        connection::{answering, asking, power, unknown, Connection, Model, State, NOWHERE},
        datagram::Host,
        discriminator::Discriminator,
        end::End,
        event::{Event, Incoming, Refusal},
        id::{ConnectionId, ListenerId},
        mad::Mad,
        message::{Dreq, Message, Mra, Rej, Rep, Req, Rtu, SidrRep, SidrReq},
        rdma_cm::RdmaCm,
        via::Via,
        wrong::{need, Wrong},
    },
    Listener, Manager, NOBODY,
};

/// SIDR_REP: the service is not supported.
const NO_DATAGRAMS: u8 = 1;

/// A request that nothing is known of yet.
struct Asking<'a> {
    host: Host,
    transaction: u64,
    req: &'a Req,
    end: End,
    via: Option<Via>,
    to: Discriminator,
}

impl Manager {
    pub(super) fn hear_mad(&mut self, host: Host, mad: &Mad, now: Duration) -> Result<(), Wrong> {
        match &mad.message {
            Message::Req(req) => self.hear_req(host, mad.transaction, req, now),
            Message::Mra(mra) => {
                self.hear_mra(host, mra, now);
                Ok(())
            }
            Message::Rej(rej) => self.hear_rej(host, rej, now),
            Message::Rep(rep) => self.hear_rep(host, mad.transaction, rep, now),
            Message::Rtu(rtu) => self.hear_rtu(host, mad.transaction, rtu, now),
            Message::Dreq(dreq) => self.hear_dreq(host, mad.transaction, dreq, now),
            Message::Drep(drep) => {
                if let Some(State::Leaving) = self.state_of(host, drep.local_id, drep.remote_id) {
                    self.linger(drep.remote_id, None, now);
                }
                Ok(())
            }
            Message::SidrReq(SidrReq { request, service, .. }) => {
                let rep = SidrRep {
                    request: *request,
                    status: NO_DATAGRAMS,
                    service: *service,
                    ..SidrRep::blank()
                };
                self.outbox.message(NOBODY, host, mad.transaction, &Message::SidrRep(rep));
                Ok(())
            }
            // We ask for no datagram services.
            Message::SidrRep(_) => Ok(()),
        }
    }

    /// State of the connection that a message names by both numbers.
    fn state_of(&self, host: Host, theirs: u32, ours: u32) -> Option<State> {
        self.connections.get(&ours).filter(|one| one.is_of(host, theirs)).map(|one| one.state)
    }

    fn hear_req(&mut self, host: Host, transaction: u64, req: &Req, now: Duration) -> Result<(), Wrong> {
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
        let refuse_wrong = |manager: &mut Self, wrong| {
            refuse(manager, reason::UNSUPPORTED);
            Err(wrong)
        };
        if req.service & !0xffff != TCP_SERVICE {
            refuse(self, reason::NO_SERVICE);
            return Ok(());
        }
        if let Err(wrong) = RdmaCm::decode(&req.private) {
            return refuse_wrong(self, wrong);
        }
        let via = match Via::decode(&req.private[viaduct_spec::cm::rdma_cm::BYTES..]) {
            Ok(via) => via,
            Err(wrong) => return refuse_wrong(self, wrong),
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
        let asking = Asking { host, transaction, req, end, via, to };
        let refused = if peer { self.meet(asking, now) } else { self.come_in(asking, now) };
        if let Err(reason) = refused {
            refuse(self, reason);
        }
        Ok(())
    }

    /// A client's request. Else the reason to refuse it.
    fn come_in(&mut self, asking: Asking<'_>, now: Duration) -> Result<(), u16> {
        let Asking { host, transaction, req, end, via, to } = asking;
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
    fn meet(&mut self, asking: Asking<'_>, now: Duration) -> Result<(), u16> {
        let Asking { host, transaction, req, end, via, .. } = asking;
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
        connection.state = State::Matched;
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

    fn hear_mra(&mut self, host: Host, mra: &Mra, now: Duration) {
        let state = self.state_of(host, mra.local_id, mra.remote_id);
        let waits = match mra.subject {
            subject::REQ => state == Some(State::Asked),
            subject::REP => state == Some(State::Replied),
            _ => false,
        };
        let Config { timing, .. } = self.config;
        if let Some(connection) = self.connections.get_mut(&mra.remote_id).filter(|_| waits) {
            let wait = power(mra.service_timeout).min(timing.longest_mra);
            connection.begin_timer(now, timing.response);
            connection.timer = Some(now + wait);
        }
    }

    fn hear_rej(&mut self, host: Host, rej: &Rej, now: Duration) -> Result<(), Wrong> {
        let connection = if rej.remote_id != 0 {
            self.connections.get(&rej.remote_id).filter(|one| one.is_of(host, rej.local_id))
        } else {
            // Who gives up before it knows our number.
            self.connections.values().find(|one| {
                one.remote_id == rej.local_id
                    && rej.local_id != 0
                    && one.host.is_some_and(|own| own.ip == host.ip)
            })
        };
        let Some(connection) = connection else { return Ok(()) };
        let (id, state, peer) = (connection.id, connection.state, connection.model == Model::Peer);
        let data = Via::decode(&rej.private)?.map_or_else(Vec::new, |via| via.data);
        let refusal = match rej.reason {
            reason::NO_SERVICE => Refusal::NoMatch,
            reason::CONSUMER => Refusal::Rejected,
            reason::TIMEOUT => Refusal::Timeout,
            reason::STALE => Refusal::Stale,
            reason::NO_RESOURCES | reason::NO_QP => Refusal::NoResources,
            reason::UNSUPPORTED | reason::INVALID_TRANSPORT | reason::INVALID_MTU => Refusal::Mismatch,
            other => Refusal::Other(other),
        };
        // Where this side has answered, what is said of a REQ is said of an earlier one, or of a knock.
        let of_req = rej.subject == subject::REQ;
        match state {
            State::Asked | State::Unmet if peer && matches!(refusal, Refusal::NoMatch | Refusal::Timeout) => {
                self.wait_for_peer(id, now);
            }
            State::Asked => self.refuse(id, refusal, data),
            State::Unmet if refusal == Refusal::Rejected => self.refuse(id, refusal, data),
            State::Answered if !of_req => self.refuse(id, refusal, data),
            State::Pending if !of_req => {
                self.connections.remove(&id);
                self.events.push_back(Event::Withdrawn { id: ConnectionId(id) });
            }
            State::Matched | State::Replied if !of_req => self.refuse(id, refusal, data),
            State::Established if !of_req => {
                self.events.push_back(Event::Lost { id: ConnectionId(id) });
                self.linger(id, None, now);
            }
            State::Leaving if !of_req => self.linger(id, None, now),
            _ => {}
        }
        Ok(())
    }

    fn hear_rep(&mut self, host: Host, transaction: u64, rep: &Rep, now: Duration) -> Result<(), Wrong> {
        need(rep.local_id != 0, "the REP's local number", rep.local_id, "0 is none")?;
        let refuse = |manager: &mut Self, reason| {
            let rej = unknown(rep.remote_id, rep.local_id, subject::REP, reason);
            manager.outbox.message(NOBODY, host, transaction, &rej);
        };
        let connection = self.connections.get_mut(&rep.remote_id).filter(|one| one.is_of(host, rep.local_id));
        let Some(connection) = connection else {
            refuse(self, reason::INVALID_ID);
            return Ok(());
        };
        let id = connection.id;
        match connection.state {
            State::Asked | State::Unmet => {
                let via = match Via::decode(&rep.private) {
                    Ok(via) => via,
                    Err(wrong) => {
                        refuse(self, reason::UNSUPPORTED);
                        self.refuse(id, Refusal::Mismatch, Vec::new());
                        return Err(wrong);
                    }
                };
                let Some(own) = connection.own else { return Ok(()) };
                let peer = answering(rep, via.as_ref(), host, &own);
                connection.native = via.is_some();
                connection.remote_id = rep.local_id;
                connection.peer = Some(peer);
                connection.active = true;
                connection.timer = None;
                if own.agree(&peer).is_err() {
                    refuse(self, reason::UNSUPPORTED);
                    self.refuse(id, Refusal::Mismatch, Vec::new());
                    return Ok(());
                }
                connection.state = State::Answered;
                let data = via.map_or_else(Vec::new, |via| via.data);
                self.events.push_back(Event::Met { id: ConnectionId(id), peer, data });
            }
            State::Answered => {
                let mra = connection.mra(subject::REP, self.config.timing.consumer);
                self.send(id, &mra);
            }
            State::Established if connection.active => {
                // The RTU was lost, or it is asked whether we live.
                let rtu = connection.rtu(false);
                self.send(id, &rtu);
                self.heard(id, now);
            }
            State::Over => refuse(self, reason::INVALID_ID),
            _ => {}
        }
        Ok(())
    }

    fn hear_rtu(&mut self, host: Host, transaction: u64, rtu: &Rtu, now: Duration) -> Result<(), Wrong> {
        let probe = Via::decode(&rtu.private)?.is_some_and(|via| via.probe);
        let id = rtu.remote_id;
        match self.state_of(host, rtu.local_id, id) {
            Some(State::Replied) => self.establish(id, now),
            Some(State::Established) => self.heard(id, now),
            None | Some(State::Over) if probe => {
                let rej = unknown(id, rtu.local_id, super::NO_MESSAGE, reason::STALE);
                self.outbox.message(NOBODY, host, transaction, &rej);
                return Ok(());
            }
            _ => return Ok(()),
        }
        if probe {
            let rep = self.connections.get(&id).and_then(|one| one.rep(&self.config));
            self.send_some(id, rep);
        }
        Ok(())
    }

    fn hear_dreq(&mut self, host: Host, transaction: u64, dreq: &Dreq, now: Duration) -> Result<(), Wrong> {
        let Dreq { local_id, remote_id: id, remote_queue_pair, .. } = *dreq;
        let state = self.state_of(host, local_id, id);
        if let Some(own) = self.connections.get(&id).and_then(|one| one.own).filter(|_| state.is_some()) {
            let right = remote_queue_pair == own.info.queue_pair;
            need(right, "the DREQ's queue pair", remote_queue_pair, "that of the connection")?;
        }
        let drep = Rtu { local_id: id, remote_id: local_id, ..Rtu::blank() };
        self.outbox.message(NOBODY, host, transaction, &Message::Drep(drep));
        match state {
            Some(State::Answered | State::Replied | State::Established) => {
                self.events.push_back(Event::Disconnected { id: ConnectionId(id) });
                self.linger(id, None, now);
            }
            // Its REP was lost.
            Some(State::Asked | State::Unmet) => self.refuse(id, Refusal::Rejected, Vec::new()),
            Some(State::Leaving) => self.linger(id, None, now),
            _ => {}
        }
        Ok(())
    }
}
