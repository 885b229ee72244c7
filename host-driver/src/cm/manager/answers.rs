//! The messages of the other side about a connection that is known, and those for which there is none. A REQ, which may begin one, is in
//! `requests.rs`.

use std::time::Duration;

use viaduct_spec::cm::{reason, subject};

use super::{
    super::{
        config::Config,
        connection::{answering, power, unknown, unreadable, Model, NO_MESSAGE},
        datagram::Host,
        event::{Event, Refusal},
        id::ConnectionId,
        mad::Mad,
        message::{Dreq, Message, Mra, Rej, Rep, Rtu, SidrRep, SidrReq},
        state::State,
        via::Via,
        wrong::{need, Wrong},
    },
    Manager, NOBODY,
};

/// SIDR_REP: the service is not supported.
const NO_DATAGRAMS: u8 = 1;

impl Manager {
    /// A message has come.
    ///
    /// # Errors
    /// What is wrong in it.
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

    /// An MRA has come: the answer takes longer.
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

    /// A REJ has come: the other side refuses, has given up, or has forgotten the connection.
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
            reason::UNSUPPORTED if rej.additional_length == 1 => Refusal::Version(rej.additional[0]),
            reason::UNSUPPORTED | reason::INVALID_TRANSPORT | reason::INVALID_MTU => Refusal::Mismatch,
            other => Refusal::Other(other),
        };
        // Where this side has answered, what is said of a REQ is said of one that it sent before.
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

    /// A REP has come: the other end is ready, or asks whether this one lives.
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
                        let rej = unreadable(rep.remote_id, rep.local_id, subject::REP);
                        self.outbox.message(NOBODY, host, transaction, &rej);
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
                connection.enter(State::Answered);
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
                self.peer_lives(id, now);
            }
            State::Over => refuse(self, reason::INVALID_ID),
            _ => {}
        }
        Ok(())
    }

    /// An RTU has come: the other end is ready as well, or asks whether this one lives (PROBE).
    fn hear_rtu(&mut self, host: Host, transaction: u64, rtu: &Rtu, now: Duration) -> Result<(), Wrong> {
        let probe = Via::decode(&rtu.private)?.is_some_and(|via| via.probe);
        let id = rtu.remote_id;
        match self.state_of(host, rtu.local_id, id) {
            Some(State::Replied) => self.establish(id, now),
            Some(State::Established) => self.peer_lives(id, now),
            None | Some(State::Over) if probe => {
                let rej = unknown(id, rtu.local_id, NO_MESSAGE, reason::STALE);
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

    /// A DREQ has come: the other side ends the connection.
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
