//! How the connection manager finds the addresses of hosts, and gives its own.

use std::time::Duration;

use viaduct_spec::cm::arp_operation;

use super::{
    super::{arp::Arp, config::Config, datagram::Host, request::Target, state::State},
    Manager, NOBODY,
};

impl Manager {
    pub(super) fn hear_arp(&mut self, arp: &Arp, now: Duration) {
        let Config { own, answer_arp, timing, limits, .. } = self.config;
        if arp.sender.mac == own.mac {
            return;
        }
        let asks = self.connections.values().any(|one| {
            let wanted = match one.target {
                Target::Ip(ip) => self.config.next_hop(ip) == arp.sender.ip,
                Target::Mac(mac) => mac == arp.sender.mac,
                Target::Host(_) => false,
            };
            one.state == State::Resolving && wanted
        });
        let for_us = arp.target.ip == own.ip;
        if asks || for_us || self.neighbours.has(arp.sender.ip) {
            self.neighbours.learn(arp.sender, now + timing.neighbour, limits.neighbours);
        }
        // Nobody else answers the inverse question.
        let inverse = arp.operation == arp_operation::INVERSE_REQUEST;
        if let Some(answer) = arp.answer(own).filter(|_| answer_arp || inverse) {
            self.outbox.arp(NOBODY, &answer);
        }
        let waiting: Vec<u32> =
            self.connections.values().filter(|one| one.state == State::Resolving).map(|one| one.id).collect();
        for id in waiting {
            self.resolve(id, now);
        }
    }

    /// Begins a connection, which is resolving: asks for the host's addresses, if they are not known.
    pub(super) fn begin(&mut self, id: u32, now: Duration) {
        if !self.resolve(id, now) {
            let interval = self.config.timing.response;
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.begin_timer(now, interval);
            }
            self.ask_address(id);
        }
    }

    /// Sends the REQ if the host's addresses are known.
    fn resolve(&mut self, id: u32, now: Duration) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let own = self.config.own;
        let known = match connection.target {
            Target::Host(host) => Some(host),
            Target::Ip(ip) if ip == own.ip => Some(own),
            Target::Mac(mac) if mac == own.mac => Some(own),
            Target::Ip(ip) => {
                let mac = self.neighbours.mac(self.config.next_hop(ip), now);
                mac.map(|mac| Host { mac, ip })
            }
            Target::Mac(mac) => self.neighbours.ip(mac, now).map(|ip| Host { mac, ip }),
        };
        if known.is_some() {
            connection.host = known;
            self.ask(id, now);
        }
        known.is_some()
    }

    pub(super) fn ask_address(&mut self, id: u32) {
        let Some(connection) = self.connections.get(&id) else { return };
        let (own, party) = (self.config.own, connection.party);
        match connection.target {
            Target::Ip(ip) => self.outbox.arp(party, &Arp::who_has(own, self.config.next_hop(ip))),
            Target::Mac(mac) => self.outbox.arp(party, &Arp::which_has(own, mac)),
            Target::Host(_) => {}
        }
    }
}
