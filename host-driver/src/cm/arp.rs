//! ARP: which MAC address an IPv4 address has (RFC 826), and the other way round (RFC 2390), which VIA needs because its
//! addresses are those of the Ethernet.

use std::net::Ipv4Addr;

use viaduct_spec::{
    cm::{arp, arp_operation},
    packet::Member,
    wire::ETHERNET_BYTES,
};

use super::{
    datagram::Host,
    ethernet::{Ethernet, BROADCAST, ETHERTYPE_ARP, ETHERTYPE_IPV4},
    wrong::{need, Wrong},
};
use crate::address::Mac;

/// Hardware type of Ethernet.
const HARDWARE_ETHERNET: u64 = 1;
/// A MAC address that is not known.
const UNKNOWN: Mac = Mac([0; 6]);

/// An ARP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp {
    /// See `arp_operation`.
    pub operation: u16,
    /// Who says it.
    pub sender: Host,
    /// Whom it is about, or to.
    pub target: Host,
}

impl Arp {
    /// Who has `ip`?
    pub fn who_has(sender: Host, ip: Ipv4Addr) -> Self {
        Self { operation: arp_operation::REQUEST, sender, target: Host { mac: UNKNOWN, ip } }
    }

    /// Which IPv4 address has `mac`?
    pub fn which_has(sender: Host, mac: Mac) -> Self {
        let target = Host { mac, ip: Ipv4Addr::UNSPECIFIED };
        Self { operation: arp_operation::INVERSE_REQUEST, sender, target }
    }

    /// Our answer to it, if it asks for us.
    pub fn answer(&self, own: Host) -> Option<Self> {
        let operation = match self.operation {
            arp_operation::REQUEST if self.target.ip == own.ip => arp_operation::REPLY,
            arp_operation::INVERSE_REQUEST if self.target.mac == own.mac => arp_operation::INVERSE_REPLY,
            _ => return None,
        };
        Some(Self { operation, sender: own, target: self.sender })
    }

    /// Its frame.
    pub fn encode(&self) -> Vec<u8> {
        let target = if self.operation == arp_operation::REQUEST { BROADCAST } else { self.target.mac };
        let mut frame = vec![0; ETHERNET_BYTES + arp::BYTES];
        let ethernet = Ethernet { target, source: self.sender.mac, kind: ETHERTYPE_ARP };
        frame[..ETHERNET_BYTES].copy_from_slice(&ethernet.encode());
        let packet = &mut frame[ETHERNET_BYTES..];
        arp::HARDWARE.put(packet, HARDWARE_ETHERNET);
        arp::PROTOCOL.put(packet, ETHERTYPE_IPV4.into());
        arp::HARDWARE_LENGTH.put(packet, 6);
        arp::PROTOCOL_LENGTH.put(packet, 4);
        arp::OPERATION.put(packet, self.operation.into());
        packet[arp::SENDER_MAC.bytes()].copy_from_slice(&self.sender.mac.0);
        packet[arp::TARGET_MAC.bytes()].copy_from_slice(&self.target.mac.0);
        arp::SENDER_IP.put(packet, u32::from(self.sender.ip).into());
        arp::TARGET_IP.put(packet, u32::from(self.target.ip).into());
        frame
    }

    /// From a frame. None: it is no ARP.
    ///
    /// # Errors
    /// ARP for other hardware or protocols, a sender that is none.
    pub fn decode(frame: &[u8]) -> Result<Option<Self>, Wrong> {
        let Some((ethernet, packet)) = Ethernet::decode(frame) else { return Ok(None) };
        if ethernet.kind != ETHERTYPE_ARP {
            return Ok(None);
        }
        need(packet.len() >= arp::BYTES, "the ARP packet's length", packet.len() as u64, "28 bytes")?;
        let is = |member: Member, field, value: u64, rule| {
            need(member.get(packet) == value, field, member.get(packet), rule)
        };
        is(arp::HARDWARE, "ARP's hardware", HARDWARE_ETHERNET, "1 is Ethernet")?;
        is(arp::PROTOCOL, "ARP's protocol", ETHERTYPE_IPV4.into(), "0x0800 is IPv4")?;
        is(arp::HARDWARE_LENGTH, "ARP's hardware length", 6, "a MAC address has 6 bytes")?;
        is(arp::PROTOCOL_LENGTH, "ARP's protocol length", 4, "an IPv4 address has 4 bytes")?;
        let mac = |member: Member| {
            let mut bytes = [0; 6];
            bytes.copy_from_slice(&packet[member.bytes()]);
            Mac(bytes)
        };
        let ip = |member: Member| Ipv4Addr::from(member.get(packet) as u32);
        let sender = Host { mac: mac(arp::SENDER_MAC), ip: ip(arp::SENDER_IP) };
        let number = arp::SENDER_MAC.get(packet);
        need(sender.mac.is_unicast(), "ARP's sender", number, "the address of one NIC")?;
        let operation = arp::OPERATION.get(packet) as u16;
        Ok(Some(Self {
            operation,
            sender,
            target: Host { mac: mac(arp::TARGET_MAC), ip: ip(arp::TARGET_IP) },
        }))
    }
}
