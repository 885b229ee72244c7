//! RoCEv2 frames: made from a VI's header template, and taken apart again.

use viaduct_spec::wire::{
    aeth, opcode, BTH_BYTES, ETHERNET_BYTES, HEADER_BYTES, ICRC_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT,
};

const IP: usize = ETHERNET_BYTES;
const IP_LENGTH: usize = IP + 2;
const IP_CHECKSUM: usize = IP + 10;
const UDP: usize = IP + IPV4_BYTES;
const UDP_LENGTH: usize = UDP + 4;
const BTH: usize = UDP + UDP_BYTES;
/// Where the four bytes of an 802.1Q tag stand.
const TAG: usize = 12;
/// Where a template has those of its own.
const TEMPLATE_TAG: usize = 56;

/// A packet to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// BTH opcode.
    pub opcode: u8,
    /// PSN.
    pub psn: u32,
    /// It asks for an acknowledgement.
    pub ack_request: bool,
    /// Extension headers and payload.
    pub body: Vec<u8>,
}

/// What a RoCE frame for us says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The packet; its body without pad.
    pub packet: Packet,
    /// Who sent it.
    pub source_ip: u32,
    /// Destination queue pair number.
    pub queue_pair: u32,
    /// A switch has marked it: congestion experienced.
    pub marked: bool,
}

/// Why a frame is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// Lengths that cannot be, or an IP checksum that is wrong.
    Malformed,
    /// Not IPv4 and UDP port 4791 to our own addresses: perhaps the raw channel's.
    NotOurs,
    /// ICRC.
    Icrc,
    /// BTH version, P_Key or opcode.
    Bth,
}

/// Who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identity {
    /// MAC address in wire order, first byte in bits 7:0.
    pub mac: u64,
    /// IPv4 address; most significant byte first on the wire.
    pub ip: u32,
    /// P_Key; the membership bit is not compared.
    pub pkey: u16,
}

impl Identity {
    /// The MAC address as it is on the wire.
    pub fn mac_bytes(&self) -> [u8; 6] {
        let bytes = self.mac.to_le_bytes();
        [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]]
    }
}

fn be16(frame: &[u8], at: usize) -> u16 {
    frame.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// Four bytes as a big-endian number; 0 where the frame has none.
pub fn be32(frame: &[u8], at: usize) -> u32 {
    u32::from(be16(frame, at)) << 16 | u32::from(be16(frame, at + 2))
}

/// One's complement sum of two numbers of 16 bits.
fn sum16(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// ICRC of an untagged frame, of which `end` bytes are IPv4 packet and what is before it, ICRC not counted.
fn icrc(frame: &[u8], end: usize) -> [u8; ICRC_BYTES] {
    let mut masked = frame[IP..end].to_vec();
    // Type of service, time to live, both checksums, and the congestion bits of the BTH.
    for at in [1, 8, 10, 11, UDP + 6 - IP, UDP + 7 - IP, BTH + 4 - IP] {
        masked[at] = 0xFF;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xFF; 8]);
    crc.update(&masked);
    crc.finalize().to_le_bytes()
}

/// AETH of an answer.
pub fn acknowledge(syndrome: u8, msn: u32) -> [u8; 4] {
    let mut word = [0];
    aeth::SYNDROME.put(&mut word, syndrome.into());
    aeth::MSN.put(&mut word, u64::from(msn) & aeth::MSN.mask());
    (word[0] as u32).to_be_bytes()
}

/// Makes a frame, without FCS and without padding to Ethernet's least.
pub fn build(template: &[u8; 64], packet: &Packet) -> Vec<u8> {
    let pad = packet.body.len().next_multiple_of(4) - packet.body.len();
    let udp_length = (UDP_BYTES + BTH_BYTES + packet.body.len() + pad + ICRC_BYTES) as u16;
    let ip_length = IPV4_BYTES as u16 + udp_length;
    let mut frame = template[..HEADER_BYTES].to_vec();
    let mut put = |at: usize, bytes: &[u8]| frame[at..at + bytes.len()].copy_from_slice(bytes);
    put(IP_LENGTH, &ip_length.to_be_bytes());
    put(IP_CHECKSUM, &(!sum16(be16(template, IP_CHECKSUM), ip_length)).to_be_bytes());
    put(UDP_LENGTH, &udp_length.to_be_bytes());
    put(BTH, &[packet.opcode, template[BTH + 1] & !0x30 | (pad as u8) << 4]);
    put(BTH + 8, &[template[BTH + 8] & 0x7F | u8::from(packet.ack_request) << 7]);
    put(BTH + 9, &packet.psn.to_be_bytes()[1..]);
    frame.extend_from_slice(&packet.body);
    frame.extend_from_slice(&[0; 3][..pad]);
    let crc = icrc(&frame, frame.len());
    frame.extend_from_slice(&crc);
    let tag = &template[TEMPLATE_TAG..TEMPLATE_TAG + 4];
    if tag != [0; 4] {
        frame.splice(TAG..TAG, tag.iter().copied());
    }
    frame
}

/// Whether a queue pair of ours takes an opcode: a VI, or for a datagram the agent's.
fn is_ours(code: u8, agent_s: bool) -> bool {
    match code {
        opcode::UD_SEND_ONLY => agent_s,
        opcode::CONGESTION => true,
        _ => {
            (opcode::RC_SEND_FIRST..=opcode::RC_ACKNOWLEDGE).contains(&code)
                || (opcode::UC_SEND_FIRST..=opcode::UC_WRITE_ONLY_IMMEDIATE).contains(&code)
        }
    }
}

/// Bytes of an opcode's extension headers. One that is none of ours has none.
fn extension_bytes(code: u8) -> usize {
    match code {
        opcode::UD_SEND_ONLY => 8,
        opcode::RC_READ_REQUEST => 16,
        opcode::RC_READ_RESPONSE_ONLY | opcode::RC_ACKNOWLEDGE => 4,
        _ if !is_ours(code, false) => 0,
        // The unreliable ones stand in the same order.
        _ => match code & !opcode::UC_SEND_FIRST {
            opcode::RC_SEND_LAST_IMMEDIATE
            | opcode::RC_SEND_ONLY_IMMEDIATE
            | opcode::RC_WRITE_LAST_IMMEDIATE
            | opcode::RC_READ_RESPONSE_FIRST
            | opcode::RC_READ_RESPONSE_LAST => 4,
            opcode::RC_WRITE_FIRST | opcode::RC_WRITE_ONLY => 16,
            opcode::RC_WRITE_ONLY_IMMEDIATE => 20,
            _ => 0,
        },
    }
}

/// The queue pair that the agent's connection management has.
pub const AGENT_QUEUE_PAIR: u32 = 1;

/// Bytes of the longest frame that is taken, its tag not counted.
const LONGEST: usize = 4224;

/// Bytes of the longest IP packet that is taken: all headers and 4096 bytes.
const LONGEST_PACKET: usize = HEADER_BYTES - IP + 20 + 4096 + ICRC_BYTES;

/// Takes a frame apart: one that has come undamaged, tagged or not.
pub fn read(frame: &[u8], own: &Identity) -> Result<Reading, Drop> {
    // FRAME-2: a frame is read without its tag.
    let untagged = (be16(frame, TAG) == 0x8100 && frame.len() >= ETHERNET_BYTES + 4)
        .then(|| [&frame[..TAG], &frame[TAG + 4..]].concat());
    let frame = untagged.as_deref().unwrap_or(frame);
    // FRAME-4: too short or too long.
    if !(ETHERNET_BYTES..=LONGEST).contains(&frame.len()) {
        return Err(Drop::Malformed);
    }
    // FRAME-5: another MAC or IP address, port or protocol.
    // Of a frame that has been cut, a field counts that it has whole.
    let has = |end: usize| frame.len() >= end;
    let foreign = [
        frame[..6] != own.mac_bytes(),
        be16(frame, TAG) != 0x0800,
        // Version 4, no options; no fragment; UDP.
        has(IP + 1) && frame[IP] != 0x45,
        has(IP + 8) && be16(frame, IP + 6) & 0x3FFF != 0,
        has(IP + 10) && frame[IP + 9] != 17,
        has(IP + 20) && be32(frame, IP + 16) != own.ip,
        has(UDP + 4) && be16(frame, UDP + 2) != UDP_PORT,
    ];
    if foreign.contains(&true) {
        return Err(Drop::NotOurs);
    }
    if frame.len() < HEADER_BYTES + ICRC_BYTES {
        return Err(Drop::Malformed);
    }
    // FRAME-6: lengths that cannot be, or a wrong checksum.
    let code = frame[BTH];
    let (extension, pad) = (extension_bytes(code), usize::from(frame[BTH + 1] >> 4 & 3));
    let sum = (IP..UDP).step_by(2).fold(0, |sum, at| sum16(sum, be16(frame, at)));
    let (ip_length, udp_length) = (usize::from(be16(frame, IP_LENGTH)), usize::from(be16(frame, UDP_LENGTH)));
    let shortest = HEADER_BYTES - IP + extension + pad + ICRC_BYTES;
    if sum != 0xFFFF
        || ip_length % 4 != 0
        || !(shortest..=LONGEST_PACKET.min(frame.len() - IP)).contains(&ip_length)
        || ip_length != IPV4_BYTES + udp_length
    {
        return Err(Drop::Malformed);
    }
    // FRAME-2: what is behind the IP packet is padding.
    let end = IP + ip_length - ICRC_BYTES;
    // FRAME-7: a wrong ICRC.
    if icrc(frame, end) != frame[end..end + ICRC_BYTES] {
        return Err(Drop::Icrc);
    }
    let queue_pair = be32(frame, BTH + 4) & 0xFF_FFFF;
    // FRAME-8: version, P_Key or opcode.
    let version = frame[BTH + 1] & 0xF;
    let known = is_ours(code, queue_pair == AGENT_QUEUE_PAIR);
    if version != 0 || (be16(frame, BTH + 2) ^ own.pkey) & 0x7FFF != 0 || !known {
        return Err(Drop::Bth);
    }
    Ok(Reading {
        packet: Packet {
            opcode: code,
            psn: be32(frame, BTH + 8) & 0xFF_FFFF,
            ack_request: frame[BTH + 8] & 0x80 != 0,
            body: frame[HEADER_BYTES..end - pad].to_vec(),
        },
        source_ip: be32(frame, IP + 12),
        queue_pair,
        marked: frame[IP + 1] & 3 == 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Identity = Identity { mac: 0x0102_0304_0506, ip: 0x0A00_0001, pkey: 0xFFFF };

    /// A template of frames to ourselves.
    fn template(tag: [u8; 4]) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..6].copy_from_slice(&OWN.mac_bytes());
        bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
        bytes[22..24].copy_from_slice(&[64, 17]);
        bytes[26..30].copy_from_slice(&[10, 0, 0, 2]);
        bytes[30..34].copy_from_slice(&[10, 0, 0, 1]);
        bytes[36..38].copy_from_slice(&UDP_PORT.to_be_bytes());
        bytes[44..46].copy_from_slice(&[0xFF, 0xFF]);
        bytes[47..50].copy_from_slice(&[0, 4, 7]);
        let words = (IP..UDP).step_by(2).filter(|at| ![IP_LENGTH, IP_CHECKSUM].contains(at));
        let sum = words.fold(0, |sum, at| sum16(sum, be16(&bytes, at)));
        bytes[IP_CHECKSUM..IP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        bytes[TEMPLATE_TAG..TEMPLATE_TAG + 4].copy_from_slice(&tag);
        bytes
    }

    #[test]
    fn what_is_built_is_read() {
        for tag in [[0; 4], [0x81, 0, 0x20, 5]] {
            for length in 0..9 {
                let body = (0..length).collect();
                let packet = Packet { opcode: opcode::UC_SEND_ONLY, psn: 0xABCDEF, ack_request: true, body };
                let mut frame = build(&template(tag), &packet);
                assert_eq!(
                    frame.len(),
                    58 + usize::from(length).next_multiple_of(4) + 4 * usize::from(tag[0] != 0)
                );
                let expected = Reading { packet, source_ip: 0x0A00_0002, queue_pair: 0x407, marked: false };
                assert_eq!(read(&frame, &OWN), Ok(expected));
                let last = frame.len() - 1;
                frame[last] ^= 1;
                assert_eq!(read(&frame, &OWN), Err(Drop::Icrc));
            }
        }
    }
}
