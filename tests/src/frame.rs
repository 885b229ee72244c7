//! RoCE frames made by hand, and those of captures. Nothing here is shared with the NIC, the
//! simulator or the agent but the numbers of `viaduct-spec`.

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use pcap_file::pcap::PcapReader;
use viaduct_driver::address::{ConnectionInfo, Mac};
use viaduct_spec::wire::{
    BTH_BYTES, DEFAULT_PKEY, ETHERNET_BYTES, HEADER_BYTES, ICRC_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT,
};

/// Where the IPv4 header starts.
pub const IP: usize = ETHERNET_BYTES;
/// Where the IPv4 identification is.
pub const IP_ID: usize = IP + 4;
/// Where the IPv4 header checksum is.
pub const IP_CHECKSUM: usize = IP + 10;
/// Where the UDP header starts.
pub const UDP: usize = IP + IPV4_BYTES;
/// Where the BTH starts.
pub const BTH: usize = UDP + UDP_BYTES;

/// A RoCE frame in the making: right at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Destination and source MAC addresses.
    pub macs: [Mac; 2],
    /// Source and destination IPv4 addresses.
    pub ips: [Ipv4Addr; 2],
    /// UDP source and destination ports.
    pub ports: [u16; 2],
    /// BTH opcode.
    pub opcode: u8,
    /// Destination queue pair.
    pub queue_pair: u32,
    /// PSN.
    pub psn: u32,
    /// Acknowledge request.
    pub ack_request: bool,
    /// P_Key.
    pub pkey: u16,
    /// BTH version.
    pub version: u8,
    /// Extension header and payload.
    pub body: Vec<u8>,
}

impl Frame {
    /// As the VI `from` would send it to the VI `to`.
    pub fn new(from: &ConnectionInfo, to: &ConnectionInfo, opcode: u8, psn: u32, body: &[u8]) -> Self {
        Self {
            macs: [to.mac, from.mac],
            ips: [from.ip, to.ip],
            ports: [0xC123, UDP_PORT],
            opcode,
            queue_pair: to.queue_pair,
            psn: psn & 0xFF_FFFF,
            ack_request: false,
            pkey: DEFAULT_PKEY,
            version: 0,
            body: body.to_vec(),
        }
    }

    /// Its bytes: untagged, padded to 4 bytes, ICRC at the end.
    pub fn bytes(&self) -> Vec<u8> {
        let pad = self.body.len().next_multiple_of(4) - self.body.len();
        let udp = (UDP_BYTES + BTH_BYTES + self.body.len() + pad + ICRC_BYTES) as u16;
        let mut frame = Vec::with_capacity(HEADER_BYTES + self.body.len() + pad + ICRC_BYTES);
        frame.extend(self.macs.iter().flat_map(|mac| mac.0));
        frame.extend([0x08, 0x00, 0x45, 0x00]);
        frame.extend((IPV4_BYTES as u16 + udp).to_be_bytes());
        frame.extend([0x12, 0x34, 0x40, 0x00, 64, 17, 0, 0]);
        frame.extend(self.ips.iter().flat_map(Ipv4Addr::octets));
        frame.extend(self.ports.iter().flat_map(|port| port.to_be_bytes()));
        frame.extend(udp.to_be_bytes());
        frame.extend([0, 0, self.opcode, (pad as u8) << 4 | self.version]);
        frame.extend(self.pkey.to_be_bytes());
        frame.extend(self.queue_pair.to_be_bytes());
        frame.extend((self.psn | u32::from(self.ack_request) << 31).to_be_bytes());
        frame.extend(&self.body);
        frame.extend(&[0; 3][..pad]);
        frame.extend([0; ICRC_BYTES]);
        seal(&mut frame);
        frame
    }
}

/// The IPv4 header checksum that an untagged frame should carry.
pub fn ip_checksum(frame: &[u8]) -> u16 {
    let words = frame[IP..UDP].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let carried = u32::from(u16::from_be_bytes([frame[IP_CHECKSUM], frame[IP_CHECKSUM + 1]]));
    let mut sum = words.sum::<u32>() - carried;
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// The ICRC that an untagged frame should carry in its last four bytes: CRC-32 over eight bytes of
/// ones, then the IPv4 packet, in which ToS, TTL, both checksums and the byte with the congestion bits
/// read as ones.
pub fn icrc(frame: &[u8]) -> [u8; ICRC_BYTES] {
    let mut masked = frame[IP..frame.len() - ICRC_BYTES].to_vec();
    for at in [1, 8, 10, 11, 26, 27, 32] {
        masked[at] = 0xFF;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xFF; 8]);
    crc.update(&masked);
    crc.finalize().to_le_bytes()
}

/// Puts the right IPv4 checksum and ICRC into an untagged frame without trailer.
pub fn seal(frame: &mut [u8]) {
    let checksum = ip_checksum(frame);
    frame[IP_CHECKSUM..IP_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
    let crc = icrc(frame);
    let at = frame.len() - ICRC_BYTES;
    frame[at..].copy_from_slice(&crc);
}

/// Whether a frame is RoCEv2 over IPv4, untagged.
pub fn is_roce(frame: &[u8]) -> bool {
    frame.len() >= HEADER_BYTES + ICRC_BYTES
        && frame[12..15] == [0x08, 0x00, 0x45]
        && frame[IP + 9] == 17
        && frame[UDP + 2..UDP + 4] == UDP_PORT.to_be_bytes()
}

/// A frame without the bytes behind its IPv4 packet.
pub fn untrailed(frame: &[u8]) -> &[u8] {
    let length = usize::from(u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]));
    &frame[..frame.len().min(IP + length)]
}

/// What an untagged RoCE frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Source IPv4 address.
    pub source: Ipv4Addr,
    /// BTH opcode.
    pub opcode: u8,
    /// Solicited event.
    pub solicited: bool,
    /// Destination queue pair.
    pub queue_pair: u32,
    /// PSN.
    pub psn: u32,
    /// Extension headers and payload, without pad.
    pub body: Vec<u8>,
}

impl Reading {
    /// Reads a frame for which [`is_roce`] holds.
    pub fn of(frame: &[u8]) -> Self {
        let frame = untrailed(frame);
        let be = |at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().expect("four bytes"));
        let pad = usize::from(frame[BTH + 1] >> 4 & 3);
        Self {
            source: be(IP + 12).into(),
            opcode: frame[BTH],
            solicited: frame[BTH + 1] & 0x80 != 0,
            queue_pair: be(BTH + 4) & 0xFF_FFFF,
            psn: be(BTH + 8) & 0xFF_FFFF,
            body: frame[HEADER_BYTES..frame.len() - ICRC_BYTES - pad].to_vec(),
        }
    }
}

/// A capture in memory, that can be looked at while it grows.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Vec<u8>>>);

impl Tape {
    /// Bytes so far: it has grown if there are more.
    pub fn bytes(&self) -> usize {
        self.0.lock().expect("no thread panics here").len()
    }

    /// The frames so far, in order.
    pub fn frames(&self) -> Vec<Vec<u8>> {
        untimed(read(&self.0.lock().expect("no thread panics here")[..]))
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no thread panics here").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The frames of a capture, in order.
pub fn capture(path: &Path) -> Vec<Vec<u8>> {
    untimed(timed_capture(path))
}

/// The frames of a capture, in order, and when each was on the wire: cycles of 8 ns.
pub fn timed_capture(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(io::BufReader::new(file))
}

fn untimed(frames: Vec<(u64, Vec<u8>)>) -> Vec<Vec<u8>> {
    frames.into_iter().map(|(_, frame)| frame).collect()
}

fn read(from: impl io::Read) -> Vec<(u64, Vec<u8>)> {
    let mut reader = PcapReader::new(from).expect("a pcap");
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.expect("a whole packet");
        frames.push((packet.timestamp.as_nanos() as u64 / 8, packet.data.into_owned()));
    }
    frames
}
