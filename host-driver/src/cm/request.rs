//! What a consumer asks the connection manager for.

use std::{net::Ipv4Addr, time::Duration};

use super::{datagram::Host, discriminator::Discriminator, end::End};
use crate::address::Mac;

/// A host, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Target {
    /// By both addresses.
    Host(Host),
    /// By its IPv4 address: ARP finds the other.
    Ip(Ipv4Addr),
    /// By its MAC address, the host part of VIA's addresses: inverse ARP finds the other, if the host speaks it.
    Mac(Mac),
}

/// Who of several consumers asks: what is limited is shared out among them, so that none has it all. 0: nobody in particular.
pub type Party = u64;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who asks.
    pub party: Party,
    /// This end.
    pub own: End,
    /// The other one's host.
    pub target: Target,
    /// This side's discriminator.
    pub from: Discriminator,
    /// The discriminator that is asked for.
    pub to: Discriminator,
    /// The consumer's own: [`super::Manager::room`] bytes at most.
    pub data: Vec<u8>,
    /// How long it may take. None: as long as the other side lives.
    pub timeout: Option<Duration>,
}
