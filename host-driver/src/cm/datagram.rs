//! RoCEv2 frames that carry a management datagram: Ethernet, IPv4, UDP, BTH, DETH, MAD, ICRC.

use std::net::Ipv4Addr;

use viaduct_spec::{
    cm::{deth, MAD_BYTES, QKEY, QUEUE_PAIR, SOURCE_PORT},
    wire::{
        bth, opcode, BTH_BYTES, ETHERNET_BYTES, HEADER_BYTES, ICRC_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT,
    },
};

use super::{
    ethernet::{Ethernet, ETHERTYPE_IPV4},
    wrong::{need, Wrong},
};
use crate::address::Mac;

/// Where the BTH starts in the IPv4 packet.
const BTH: usize = IPV4_BYTES + UDP_BYTES;
/// Where the DETH does.
const DETH: usize = BTH + BTH_BYTES;
/// Where the MAD does.
const MAD: usize = DETH + deth::BYTES;
/// Bytes of the IPv4 packet.
const PACKET_BYTES: usize = MAD + MAD_BYTES + ICRC_BYTES;
/// IPv4 time to live.
const TIME_TO_LIVE: u8 = 64;
/// IPv4 protocol number of UDP.
const PROTOCOL_UDP: u8 = 17;

/// Addresses of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Host {
    /// Its Ethernet address; that of the router on the way to it if it is in another network.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ip: Ipv4Addr,
}

/// A management datagram on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Where it goes.
    pub target: Host,
    /// Where it comes from.
    pub source: Host,
    /// Identification of its IPv4 packet.
    pub identification: u16,
    /// Partition key.
    pub pkey: u16,
    /// PSN: queue pair 1 counts what it sends.
    pub psn: u32,
    /// The MAD.
    pub mad: [u8; MAD_BYTES],
}

impl Datagram {
    /// Its frame, untagged, without FCS.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET_BYTES + PACKET_BYTES];
        let ethernet = Ethernet { target: self.target.mac, source: self.source.mac, kind: ETHERTYPE_IPV4 };
        frame[..ETHERNET_BYTES].copy_from_slice(&ethernet.encode());
        let packet = &mut frame[ETHERNET_BYTES..];
        let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &[0x45]);
        put(2, &(PACKET_BYTES as u16).to_be_bytes());
        put(4, &self.identification.to_be_bytes());
        // Don't fragment.
        put(6, &[0x40, 0, TIME_TO_LIVE, PROTOCOL_UDP]);
        put(12, &self.source.ip.octets());
        put(16, &self.target.ip.octets());
        put(IPV4_BYTES, &SOURCE_PORT.to_be_bytes());
        put(IPV4_BYTES + 2, &UDP_PORT.to_be_bytes());
        put(IPV4_BYTES + 4, &((PACKET_BYTES - IPV4_BYTES) as u16).to_be_bytes());
        let mut words = [0; 2];
        bth::OPCODE.put(&mut words, opcode::UD_SEND_ONLY.into());
        bth::PKEY.put(&mut words, self.pkey.into());
        bth::QUEUE_PAIR.put(&mut words, QUEUE_PAIR.into());
        bth::ACK_REQUEST.put(&mut words, 1);
        bth::PSN.put(&mut words, (self.psn & 0xff_ffff).into());
        put(BTH, &words[1].to_be_bytes()[4..]);
        put(BTH + 4, &words[0].to_be_bytes());
        put(MAD, &self.mad);
        deth::QKEY.put(&mut packet[DETH..MAD], QKEY.into());
        deth::SOURCE_QP.put(&mut packet[DETH..MAD], QUEUE_PAIR.into());
        let sum = checksum(&packet[..IPV4_BYTES]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        let crc = icrc(&packet[..PACKET_BYTES - ICRC_BYTES]);
        packet[PACKET_BYTES - ICRC_BYTES..].copy_from_slice(&crc);
        frame
    }

    /// From a frame, which may have a VLAN tag, and bytes behind its packet. None: it is something else.
    ///
    /// # Errors
    /// It is for queue pair 1, but not as it should be.
    pub fn decode(frame: &[u8]) -> Result<Option<Self>, Wrong> {
        let Some((ethernet, packet)) = Ethernet::decode(frame) else { return Ok(None) };
        if ethernet.kind != ETHERTYPE_IPV4
            || packet.len() < HEADER_BYTES - ETHERNET_BYTES
            || packet[0] != 0x45
            || packet[9] != PROTOCOL_UDP
            || packet[IPV4_BYTES + 2..IPV4_BYTES + 4] != UDP_PORT.to_be_bytes()
        {
            return Ok(None);
        }
        let be16 = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let be32 =
            |at: usize| u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
        let words = [u64::from(be32(BTH + 4)) << 32 | u64::from(be32(BTH + 8)), u64::from(be32(BTH))];
        if bth::QUEUE_PAIR.get(&words) != u64::from(QUEUE_PAIR) {
            return Ok(None);
        }
        let length = be16(2);
        let whole = usize::from(length) == PACKET_BYTES && packet.len() >= PACKET_BYTES;
        need(whole, "the IPv4 length", length, "one MAD with its headers: 308 bytes, all of them there")?;
        let packet = &packet[..PACKET_BYTES];
        let sum = checksum(&packet[..IPV4_BYTES]);
        need(be16(10) == sum, "the IPv4 header's checksum", be16(10), "the sum over the header")?;
        let fragment = be16(6) & 0x3fff;
        need(fragment == 0, "the IPv4 fragment", fragment, "fragments are not put together")?;
        let udp = be16(IPV4_BYTES + 4);
        need(usize::from(udp) == PACKET_BYTES - IPV4_BYTES, "the UDP length", udp, "that of the packet")?;
        let code = bth::OPCODE.get(&words);
        need(code == u64::from(opcode::UD_SEND_ONLY), "the BTH's opcode", code, "UD SEND ONLY")?;
        let version = bth::VERSION.get(&words);
        need(version == 0, "the BTH's version", version, "it is 0")?;
        let pad = bth::PAD.get(&words);
        need(pad == 0, "the BTH's pad count", pad, "a MAD needs none")?;
        let qkey = deth::QKEY.get(&packet[DETH..]);
        need(qkey == u64::from(QKEY), "the DETH's Q_Key", qkey, "that of queue pair 1")?;
        let from = deth::SOURCE_QP.get(&packet[DETH..]);
        need(from == u64::from(QUEUE_PAIR), "the DETH's source queue pair", from, "it is 1")?;
        let crc = icrc(&packet[..PACKET_BYTES - ICRC_BYTES]);
        let carried = be32(PACKET_BYTES - ICRC_BYTES);
        need(carried == u32::from_be_bytes(crc), "the ICRC", carried, "the sum over the frame")?;
        let mut mad = [0; MAD_BYTES];
        mad.copy_from_slice(&packet[MAD..MAD + MAD_BYTES]);
        Ok(Some(Self {
            target: Host { mac: ethernet.target, ip: be32(16).into() },
            source: Host { mac: ethernet.source, ip: be32(12).into() },
            identification: be16(4),
            pkey: bth::PKEY.get(&words) as u16,
            psn: bth::PSN.get(&words) as u32,
            mad,
        }))
    }
}

/// The IPv4 header checksum that `header` should carry.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).enumerate().filter(|(n, _)| *n != 5);
    let mut sum: u32 = words.map(|(_, word)| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The ICRC that the IPv4 packet `packet` should carry behind it: CRC-32 over eight bytes of ones, then the packet, in which
/// what routers change reads as ones (annex A17.3.2).
fn icrc(packet: &[u8]) -> [u8; ICRC_BYTES] {
    let mut masked = [0xff; 8 + PACKET_BYTES];
    let masked = &mut masked[..8 + packet.len()];
    masked[8..].copy_from_slice(packet);
    // Type of service, time to live, both checksums, the byte with the congestion bits.
    for at in [1, 8, 10, 11, IPV4_BYTES + 6, IPV4_BYTES + 7, BTH + 4] {
        masked[8 + at] = 0xff;
    }
    crc32fast::hash(masked).to_le_bytes()
}
