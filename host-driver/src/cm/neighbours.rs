//! The addresses of the hosts around us, as ARP tells them.

use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};

use super::datagram::Host;
use crate::address::Mac;

/// What is known: bounded, the oldest goes first.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// By IPv4 address: the MAC address, and until when it is believed.
    known: BTreeMap<Ipv4Addr, (Mac, Duration)>,
}

impl Neighbours {
    /// Remembers a host.
    pub(super) fn learn(&mut self, host: Host, until: Duration, most: usize) {
        if !host.mac.is_unicast() || host.ip.is_unspecified() || host.ip.is_multicast() {
            return;
        }
        self.known.insert(host.ip, (host.mac, until));
        while self.known.len() > most {
            let oldest = self.known.iter().min_by_key(|(_, (_, until))| *until).map(|(ip, _)| *ip);
            if let Some(ip) = oldest {
                self.known.remove(&ip);
            }
        }
    }

    /// Whether something is known of this address, even if it is not believed any more.
    pub(super) fn has(&self, ip: Ipv4Addr) -> bool {
        self.known.contains_key(&ip)
    }

    /// The MAC address of an IPv4 address.
    pub(super) fn mac(&self, ip: Ipv4Addr, now: Duration) -> Option<Mac> {
        self.known.get(&ip).filter(|(_, until)| *until > now).map(|(mac, _)| *mac)
    }

    /// The IPv4 address of a MAC address.
    pub(super) fn ip(&self, mac: Mac, now: Duration) -> Option<Ipv4Addr> {
        self.known.iter().find(|(_, (of, until))| *of == mac && *until > now).map(|(ip, _)| *ip)
    }
}
