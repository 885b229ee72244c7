//! What the connection manager is set up with.

use std::{net::Ipv4Addr, time::Duration};

use viaduct_spec::wire::DEFAULT_PKEY;

use super::datagram::Host;

/// Set-up of a [`super::Manager`].
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The NIC's addresses.
    pub own: Host,
    /// P_Key of its frames.
    pub pkey: u16,
    /// The IPv4 network that it is in.
    pub network: Network,
    /// Nobody else answers ARP for its address.
    pub answer_arp: bool,
    /// Seed of the numbers that must not repeat after a restart.
    pub seed: u64,
    /// How long things take.
    pub timing: Timing,
    /// How many things there are.
    pub limits: Limits,
}

impl Config {
    /// A NIC in a network without routers, with the default P_Key, that answers ARP itself.
    pub fn new(own: Host, seed: u64) -> Self {
        Self {
            own,
            pkey: DEFAULT_PKEY,
            network: Network { prefix: 0, gateway: None },
            answer_arp: true,
            seed,
            timing: Timing::default(),
            limits: Limits::default(),
        }
    }

    /// Whose MAC address a frame to `ip` goes to.
    pub(super) fn next_hop(&self, ip: Ipv4Addr) -> Ipv4Addr {
        let Network { prefix, gateway } = self.network;
        let shift = 32u32.saturating_sub(prefix.into());
        let same = u64::from(u32::from(ip) ^ u32::from(self.own.ip)) >> shift == 0;
        gateway.filter(|_| !same).unwrap_or(ip)
    }
}

/// An IPv4 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Bits of an address that all of its hosts have in common.
    pub prefix: u8,
    /// Its router to all others.
    pub gateway: Option<Ipv4Addr>,
}

/// How long things take. What is repeated is repeated after `response`, then after twice as long each time, up to
/// `longest_response`; and, where the consumer's time ends, a last time `response` before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Until a message, or a question of ARP's, is sent again.
    pub response: Duration,
    /// The longest of these.
    pub longest_response: Duration,
    /// How often it is, at most.
    pub retries: u32,
    /// What an MRA asks for while the consumer makes up its mind.
    pub consumer: Duration,
    /// The longest that an MRA of the other side's may ask for.
    pub longest_mra: Duration,
    /// Until a request that is not repeated any more, and not decided upon, is forgotten.
    pub withdrawal: Duration,
    /// Until a peer request asks again a side that has not asked yet.
    pub peer_retry: Duration,
    /// How long a connection that is over is remembered, to answer what comes late.
    pub linger: Duration,
    /// Silence of the other side after which the active side asks whether it is still there; the passive one waits longer by
    /// half. None: nobody asks.
    pub probe: Option<Duration>,
    /// How often it asks, after `response` each, before the peer is dead.
    pub probes: u32,
    /// How long an address of ARP's is believed.
    pub neighbour: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            response: Duration::from_millis(200),
            // A peer may open its NIC at any time; who asked it in vain meanwhile is not to find out much later.
            longest_response: Duration::from_millis(500),
            // 22 seconds in all.
            retries: 45,
            consumer: Duration::from_secs(4),
            longest_mra: Duration::from_secs(30),
            withdrawal: Duration::from_secs(20),
            peer_retry: Duration::from_millis(250),
            linger: Duration::from_secs(10),
            probe: Some(Duration::from_secs(10)),
            probes: 10,
            neighbour: Duration::from_secs(60),
        }
    }
}

/// How many things there are at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests of others that are not established.
    pub pending: usize,
    /// Connections that are over and remembered.
    pub over: usize,
    /// Connections that this side has ended, and the other has not said that it knows.
    pub leaving: usize,
    /// Addresses of neighbours.
    pub neighbours: usize,
    /// Frames that wait for being sent.
    pub frames: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pending: 128, over: 1024, leaving: 1024, neighbours: 256, frames: 1024 }
    }
}
