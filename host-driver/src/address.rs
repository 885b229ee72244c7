//! Addresses of a NIC, and what two ends of a connection tell each other.

use std::{fmt, net::Ipv4Addr, ops::RangeInclusive, str::FromStr};

use serde::{Deserialize, Serialize};
use viaduct_spec::{handle::queue_pair, tables::service};

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Whether it can be the address of one NIC: not a group's, and not all zero.
    pub fn is_unicast(self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Not six bytes in hexadecimal with colons between.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no MAC address: six bytes in hexadecimal, colons between")]
pub struct NoMac(String);

impl FromStr for Mac {
    type Err = NoMac;

    fn from_str(text: &str) -> Result<Self, NoMac> {
        let no = || NoMac(text.into());
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|p| p.len() == 2).ok_or_else(no)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| no())?;
        }
        parts.next().is_none().then_some(Self(bytes)).ok_or_else(no)
    }
}

impl TryFrom<String> for Mac {
    type Error = NoMac;
    fn try_from(text: String) -> Result<Self, NoMac> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// VIA's reliability levels, by the transport that carries them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Unreliable Delivery: unreliable connection on the wire.
    UnreliableDelivery,
    /// Reliable Delivery: reliable connection.
    ReliableDelivery,
    /// Reliable Reception: reliable connection, acknowledged from memory.
    ReliableReception,
}

impl Service {
    /// Its number in the NIC's tables.
    pub fn code(self) -> u8 {
        match self {
            Self::UnreliableDelivery => service::UNRELIABLE,
            Self::ReliableDelivery => service::RELIABLE_DELIVERY,
            Self::ReliableReception => service::RELIABLE_RECEPTION,
        }
    }

    /// The level with this number in the NIC's tables.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::UnreliableDelivery, Self::ReliableDelivery, Self::ReliableReception]
            .into_iter()
            .find(|level| level.code() == code)
    }

    /// Whether what is lost is sent again, and an error breaks the connection.
    pub fn is_reliable(self) -> bool {
        self != Self::UnreliableDelivery
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnreliableDelivery => "Unreliable Delivery",
            Self::ReliableDelivery => "Reliable Delivery",
            Self::ReliableReception => "Reliable Reception",
        })
    }
}

/// Path MTU: bytes of payload in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Mtu(u8);

impl Mtu {
    /// The largest.
    pub const MAX: Self = Self(4);
    /// What fits an Ethernet frame of 1500 bytes.
    pub const DEFAULT: Self = Self(2);

    /// Its bytes: 256, 512, 1024, 2048 or 4096.
    pub fn bytes(self) -> u32 {
        256 << self.0
    }

    /// Its number in the NIC's tables.
    pub fn code(self) -> u8 {
        self.0
    }

    /// Its number on the wire, in messages that make connections: 1 to 5.
    pub fn wire_code(self) -> u8 {
        self.0 + 1
    }

    /// The one with this number on the wire.
    pub fn from_wire_code(code: u8) -> Option<Self> {
        (1..=Self::MAX.wire_code()).contains(&code).then(|| Self(code - 1))
    }
}

/// Not one of the five.
#[derive(Debug, thiserror::Error)]
#[error("{0} is no path MTU: 256, 512, 1024, 2048 or 4096 bytes")]
pub struct NoMtu(u32);

impl TryFrom<u32> for Mtu {
    type Error = NoMtu;
    fn try_from(bytes: u32) -> Result<Self, NoMtu> {
        (0..=Self::MAX.0).map(Self).find(|mtu| mtu.bytes() == bytes).ok_or(NoMtu(bytes))
    }
}

impl From<Mtu> for u32 {
    fn from(mtu: Mtu) -> Self {
        mtu.bytes()
    }
}

impl FromStr for Mtu {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bytes: u32 = text.parse().map_err(|_| format!("{text:?} is no number of bytes"))?;
        bytes.try_into().map_err(|error: NoMtu| error.to_string())
    }
}

/// A NIC of ours acknowledges within 4.2 ms: 4.096 us * 2^10, its own time-out.
pub const ACK_TIME: u8 = 10;
/// What such an exponent may be: InfiniBand's messages have five bits for it.
pub(crate) const ACK_TIMES: RangeInclusive<u8> = 0..=31;
/// Queue pairs up to this one are InfiniBand's management's.
const MANAGEMENT: u32 = 1;

/// What one end of a connection tells the other, over whatever channel the two have.
///
/// It comes from another process: [`ConnectionInfo::check`] is done before it is used. Connection
/// management over the NIC itself ([`crate::cm`]) carries the same facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionInfo {
    /// Ethernet address.
    pub mac: Mac,
    /// IPv4 address.
    pub ip: Ipv4Addr,
    /// Queue pair number: the VI and its generation.
    pub queue_pair: u32,
    /// PSN of the first packet that the other end sends (IBA 12.7.31, Starting PSN): this end expects it.
    pub starting_psn: u32,
    /// PSN of the first packet that this end sends, if it chooses that itself: so do verbs programs that tell each other their numbers without a
    /// connection manager. `None`: it is the other end's `starting_psn`.
    #[serde(default)]
    pub first_psn: Option<u32>,
    /// Largest packet that this end takes. The smaller one of both is used.
    pub mtu: Mtu,
    /// Reliability level; the same at both ends.
    pub service: Service,
    /// MaxTransferSize in bytes; the same at both ends.
    pub max_transfer: u32,
    /// It takes up to 4.096 us * 2^n to acknowledge, n from 0 to 31, and the other one waits that long before it sends again (IBA 12.7.34,
    /// Local ACK Timeout). In JSON it may be left out: a NIC of ours is meant.
    #[serde(default = "ack_time")]
    pub ack_time: u8,
}

fn ack_time() -> u8 {
    ACK_TIME
}

/// What is wrong with a peer's [`ConnectionInfo`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// A number outside its field.
    #[error("the peer's {what} {value:#x} is outside its range")]
    Range {
        /// The number.
        what: &'static str,
        /// What it is.
        value: u64,
    },
    /// No address of a NIC.
    #[error("the peer's address {0} is not that of one NIC")]
    Address(String),
    /// The levels differ.
    #[error("one end asks for {own}, the other for {peer}: both ends of a connection have one level")]
    Service {
        /// This end's level.
        own: Service,
        /// The other's.
        peer: Service,
    },
    /// The sizes differ.
    #[error("MaxTransferSize is {own} here and {peer} there: both ends of a connection have one")]
    MaxTransfer {
        /// This end's, in bytes.
        own: u32,
        /// The other's.
        peer: u32,
    },
}

impl ConnectionInfo {
    /// Whether a connection from this end (`self`) to the VI, or the queue pair of another NIC's, that `peer` describes can be.
    ///
    /// # Errors
    /// A number outside its field, or one of the queue pairs 0 and 1, which are InfiniBand's management's (IBA 3.9.1.1); an address
    /// that is not that of one NIC; another level, or another MaxTransferSize.
    pub fn check(&self, peer: &Self) -> Result<(), PeerError> {
        let range = |what, value: u32, is_inside: bool| {
            if is_inside {
                Ok(())
            } else {
                Err(PeerError::Range { what, value: value.into() })
            }
        };
        let is_number = u64::from(peer.queue_pair) >> queue_pair::BITS == 0;
        range("queue pair number", peer.queue_pair, is_number && peer.queue_pair > MANAGEMENT)?;
        range("starting PSN", peer.starting_psn, peer.starting_psn >> 24 == 0)?;
        let first_psn = peer.first_psn.unwrap_or_default();
        range("first PSN", first_psn, first_psn >> 24 == 0)?;
        range("time to acknowledge", peer.ack_time.into(), ACK_TIMES.contains(&peer.ack_time))?;
        if !peer.mac.is_unicast() {
            return Err(PeerError::Address(peer.mac.to_string()));
        }
        if peer.ip.is_unspecified() || peer.ip.is_broadcast() || peer.ip.is_multicast() {
            return Err(PeerError::Address(peer.ip.to_string()));
        }
        if peer.service != self.service {
            return Err(PeerError::Service { own: self.service, peer: peer.service });
        }
        if peer.max_transfer != self.max_transfer {
            return Err(PeerError::MaxTransfer { own: self.max_transfer, peer: peer.max_transfer });
        }
        Ok(())
    }

    /// The generation in its queue pair number: tells a VI's connections apart.
    pub fn generation(&self) -> u16 {
        queue_pair::GENERATION.get(&[self.queue_pair.into()]) as u16
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn info() -> ConnectionInfo {
        ConnectionInfo {
            mac: Mac([2, 0, 0, 0, 0, 1]),
            ip: Ipv4Addr::new(10, 0, 0, 1),
            queue_pair: 0x123 << 10 | 5,
            starting_psn: 0xff_fffe,
            first_psn: None,
            mtu: Mtu::DEFAULT,
            service: Service::ReliableDelivery,
            max_transfer: 1 << 20,
            ack_time: ACK_TIME,
        }
    }

    #[test]
    fn a_mac_address_prints_as_it_is_read() {
        let mac: Mac = "02:aB:00:ff:10:01".parse().expect("a MAC address");
        assert_eq!(mac.to_string(), "02:ab:00:ff:10:01");
        for wrong in ["", "02:00:00:00:00", "02:00:00:00:00:00:00", "2:0:0:0:0:0", "02:00:00:00:00:0g"] {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_five_mtus_and_no_other() {
        for (code, bytes) in [256, 512, 1024, 2048, 4096].into_iter().enumerate() {
            assert_eq!(Mtu::try_from(bytes).map(|m| usize::from(m.code())).ok(), Some(code));
        }
        assert!(Mtu::try_from(1500).is_err() && Mtu::try_from(0).is_err());
    }

    #[test]
    fn information_survives_json_and_nonsense_does_not() {
        let own = info();
        let said = serde_json::to_string(&own).unwrap();
        let heard = |text: &str| serde_json::from_str::<ConnectionInfo>(text);
        assert_eq!(heard(&said).ok(), Some(own));
        for wrong in ["", "{}", "[1,2]", &said.replace("1024", "1500")] {
            assert!(heard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_peer_is_checked() {
        let own = info();
        let refused = |change: fn(&mut ConnectionInfo), why: &str| {
            let mut peer = info();
            change(&mut peer);
            let error = own.check(&peer).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        };
        assert!(own.check(&info()).is_ok());
        refused(|p| p.queue_pair = 1 << 24, "queue pair");
        refused(|p| p.queue_pair = 0, "queue pair");
        refused(|p| p.queue_pair = 1, "queue pair");
        // Other NICs, and Linux, have no generations in theirs.
        assert!(own.check(&ConnectionInfo { queue_pair: 17, ..info() }).is_ok());
        refused(|p| p.starting_psn = 1 << 24, "PSN");
        refused(|p| p.first_psn = Some(1 << 24), "first PSN");
        refused(|p| p.ack_time = 32, "acknowledge");
        refused(|p| p.mac = Mac([0xff; 6]), "ff:ff");
        refused(|p| p.mac = Mac([0; 6]), "00:00");
        refused(|p| p.ip = Ipv4Addr::new(224, 0, 0, 1), "224.0.0.1");
        refused(|p| p.service = Service::UnreliableDelivery, "Unreliable Delivery");
        refused(|p| p.max_transfer = 7, "MaxTransferSize");
    }
}
