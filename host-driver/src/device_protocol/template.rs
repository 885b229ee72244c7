//! A VI's header template: everything in its frames' headers that does not change from packet to
//! packet (spec: `tables::template`).

use std::net::Ipv4Addr;

use viaduct_spec::wire::{HEADER_BYTES, UDP_PORT};

use crate::address::ConnectionInfo;

/// EtherType of IPv4.
const ETHERTYPE_IPV4: u16 = 0x0800;
/// IPv4: version 4, header of five words.
const VERSION_AND_LENGTH: u8 = 0x45;
/// IPv4 flags: don't fragment. Fragments would be dropped at the receiver.
const DONT_FRAGMENT: u16 = 0x4000;
/// IPv4 time to live.
const TIME_TO_LIVE: u8 = 64;
/// IPv4 protocol number of UDP.
const PROTOCOL_UDP: u8 = 17;
/// Where the IPv4 header starts in the frame.
const IP: usize = 14;
/// Where its checksum is.
const CHECKSUM: usize = IP + 10;

/// The template's eight 64-bit words for frames from `own` to `peer`: bytes 0 to 53 of an untagged
/// frame, byte n in bits 8n+7:8n. Lengths, opcode, pad count, acknowledge request and PSN are 0 in
/// it; the transmit block puts them in.
pub fn words(own: &ConnectionInfo, peer: &ConnectionInfo, pkey: u16) -> [u64; 8] {
    let mut bytes = [0; 64];
    bytes[..HEADER_BYTES].copy_from_slice(&headers(own, peer, pkey));
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}

fn headers(own: &ConnectionInfo, peer: &ConnectionInfo, pkey: u16) -> [u8; HEADER_BYTES] {
    let mut frame = [0; HEADER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| frame[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &peer.mac.0);
    put(6, &own.mac.0);
    put(12, &ETHERTYPE_IPV4.to_be_bytes());
    put(IP, &[VERSION_AND_LENGTH]);
    put(IP + 6, &DONT_FRAGMENT.to_be_bytes());
    put(IP + 8, &[TIME_TO_LIVE, PROTOCOL_UDP]);
    put(IP + 12, &own.ip.octets());
    put(IP + 16, &peer.ip.octets());
    put(34, &source_port(own.queue_pair, peer.queue_pair).to_be_bytes());
    put(36, &UDP_PORT.to_be_bytes());
    put(44, &pkey.to_be_bytes());
    put(47, &peer.queue_pair.to_be_bytes()[1..]);
    let sum = partial_sum(own.ip, peer.ip);
    put(CHECKSUM, &sum.to_be_bytes());
    frame
}

/// One's complement sum of the IPv4 header's words but total length and checksum: what the transmit
/// block adds the length to and inverts.
fn partial_sum(own: Ipv4Addr, peer: Ipv4Addr) -> u16 {
    let [a, b, c, d] = own.octets();
    let [e, f, g, h] = peer.octets();
    let words = [
        u16::from_be_bytes([VERSION_AND_LENGTH, 0]),
        DONT_FRAGMENT,
        u16::from_be_bytes([TIME_TO_LIVE, PROTOCOL_UDP]),
        u16::from_be_bytes([a, b]),
        u16::from_be_bytes([c, d]),
        u16::from_be_bytes([e, f]),
        u16::from_be_bytes([g, h]),
    ];
    let mut sum: u32 = words.into_iter().map(u32::from).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// UDP source port of a connection, the same in both directions, so that switches spread
/// connections over paths and keep each one's order: the product of the two queue pair numbers,
/// folded, as other RoCEv2 implementations do it.
fn source_port(own: u32, peer: u32) -> u16 {
    let product = u64::from(own) * u64::from(peer);
    let folded = (product ^ product >> 20 ^ product >> 40) & 0xf_ffff;
    0xc000 | ((folded & 0x3fff) ^ (folded >> 14)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{tests::info, Mac};

    #[test]
    fn a_template_is_the_frame_made_by_hand() {
        let own = info();
        let peer = ConnectionInfo {
            mac: Mac([2, 0, 0, 0, 0, 2]),
            ip: Ipv4Addr::new(10, 0, 0, 2),
            queue_pair: 0x45_6789,
            ..info()
        };
        // 4500 + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0002 = d914, no carry.
        #[rustfmt::skip]
        let by_hand: [u8; HEADER_BYTES] = [
            0x02, 0, 0, 0, 0, 2,  0x02, 0, 0, 0, 0, 1,  0x08, 0x00,
            0x45, 0, 0, 0,  0, 0, 0x40, 0,  64, 17, 0xd9, 0x14,  10, 0, 0, 1,  10, 0, 0, 2,
            0, 0, 0x12, 0xb7,  0, 0, 0, 0,
            0, 0, 0xff, 0xff,  0, 0x45, 0x67, 0x89,  0, 0, 0, 0,
        ];
        let words = words(&own, &peer, 0xffff);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let port = u16::from_be_bytes([bytes[34], bytes[35]]);
        assert!(port >= 0xc000);
        assert_eq!(port, source_port(peer.queue_pair, own.queue_pair), "one port for both directions");
        bytes[34..36].fill(0);
        assert_eq!(&bytes[..HEADER_BYTES], &by_hand);
        assert!(bytes[HEADER_BYTES..].iter().all(|byte| *byte == 0), "untagged");
    }

    #[test]
    fn the_sum_completes_to_a_checksum_that_verifies() {
        for (own, peer) in [([10, 0, 0, 1], [10, 0, 0, 2]), ([255, 254, 255, 255], [223, 255, 255, 255])] {
            let (own, peer) =
                (ConnectionInfo { ip: own.into(), ..info() }, ConnectionInfo { ip: peer.into(), ..info() });
            let mut frame = headers(&own, &peer, 0xffff);
            let length: u16 = 20 + 8 + 12 + 1024 + 4;
            // What the transmit block does: add the length, fold, invert.
            let sum =
                u32::from(u16::from_be_bytes([frame[CHECKSUM], frame[CHECKSUM + 1]])) + u32::from(length);
            let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
            frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
            frame[IP + 2..IP + 4].copy_from_slice(&length.to_be_bytes());
            // What every receiver does (RFC 1071): all words of the header sum to all ones.
            let mut all: u32 = frame[IP..IP + 20]
                .chunks_exact(2)
                .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
                .sum();
            while all >> 16 != 0 {
                all = (all & 0xffff) + (all >> 16);
            }
            assert_eq!(all, 0xffff);
        }
    }

    #[test]
    fn the_source_port_is_the_one_that_others_use() {
        // Measured on another implementation: queue pairs 17 and 17.
        assert_eq!(source_port(17, 17), 49441);
    }
}
