//! The header of an Ethernet frame.

use viaduct_spec::wire::ETHERNET_BYTES;

use crate::address::Mac;

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// EtherType of an 802.1Q tag.
const ETHERTYPE_VLAN: u16 = 0x8100;
/// Everybody's address.
pub const BROADCAST: Mac = Mac([0xff; 6]);

/// The header of an Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ethernet {
    /// Where it goes.
    pub target: Mac,
    /// Where it comes from.
    pub source: Mac,
    /// EtherType of what it carries.
    pub kind: u16,
}

impl Ethernet {
    /// Header and contents of a frame; one 802.1Q tag is skipped, as the NIC does. None: it is too short.
    pub fn decode(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (target, rest) = frame.split_first_chunk::<6>()?;
        let (source, rest) = rest.split_first_chunk::<6>()?;
        let (kind, mut rest) = rest.split_first_chunk::<2>()?;
        let mut kind = u16::from_be_bytes(*kind);
        if kind == ETHERTYPE_VLAN {
            let (tag, behind) = rest.split_first_chunk::<4>()?;
            kind = u16::from_be_bytes([tag[2], tag[3]]);
            rest = behind;
        }
        Some((Self { target: Mac(*target), source: Mac(*source), kind }, rest))
    }

    /// Its bytes, untagged.
    pub fn encode(&self) -> [u8; ETHERNET_BYTES] {
        let mut bytes = [0; ETHERNET_BYTES];
        bytes[..6].copy_from_slice(&self.target.0);
        bytes[6..12].copy_from_slice(&self.source.0);
        bytes[12..].copy_from_slice(&self.kind.to_be_bytes());
        bytes
    }
}
