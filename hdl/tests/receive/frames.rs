//! Frames: the captures that Linux made, frames of our own, and an independent reading of both.

use std::path::Path;

use super::shown::Info;

/// MAC and IPv4 address of the captures' server.
pub const SERVER: ([u8; 6], [u8; 4]) = ([0x52, 0x54, 0, 0, 0, 1], [10, 0, 0, 1]);
/// MAC and IPv4 address of the captures' client.
pub const CLIENT: ([u8; 6], [u8; 4]) = ([0x52, 0x54, 0, 0, 0, 2], [10, 0, 0, 2]);
/// The P_Key of all of them.
pub const PKEY: u16 = 0xffff;

/// All captures by name, each a list of frames.
pub fn captures() -> Vec<(String, Vec<Vec<u8>>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/roce");
    let mut found: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pcap"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, pcap(&std::fs::read(&path).unwrap()))
        })
        .collect();
    found.sort();
    assert!(found.len() > 40, "captures are missing from {}", folder.display());
    found
}

/// The frames of a classic little-endian pcap file.
fn pcap(file: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((word(0), word(20)), (0xa1b2_c3d4, 1), "not an Ethernet pcap");
    let (mut at, mut frames) = (24, Vec::new());
    while at < file.len() {
        let (kept, length) = (word(at + 8), word(at + 12));
        assert_eq!(kept, length, "frame cut short by the capture");
        frames.push(file[at + 16..at + 16 + kept].to_vec());
        at += 16 + kept;
    }
    frames
}

/// What should become of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Taken; and whether it is marked congestion experienced.
    Keep(Info, bool),
    Malformed,
    NotOurs,
    Icrc,
    Bth,
    /// A congestion notification: counted, and nothing else.
    Congestion,
}

impl Fate {
    /// Its place among the six fates, for who counts them.
    pub fn class(&self) -> usize {
        match self {
            Fate::Keep(..) => 0,
            Fate::Malformed => 1,
            Fate::NotOurs => 2,
            Fate::Icrc => 3,
            Fate::Bth => 4,
            Fate::Congestion => 5,
        }
    }
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The ICRC over an untagged frame whose IP packet ends at `end`, ICRC included.
pub fn icrc(frame: &[u8], end: usize) -> u32 {
    const MASKED: [usize; 7] = [15, 22, 24, 25, 40, 41, 46];
    let bytes = (6..end - 4).map(|n| if n < 14 || MASKED.contains(&n) { 0xff } else { frame[n] });
    crc32fast::hash(&bytes.collect::<Vec<_>>())
}

/// The one's complement sum of the IP header, carries folded in: ffff if the checksum is right.
fn header_sum(frame: &[u8]) -> u64 {
    let sum: u64 = frame[14..34].chunks(2).map(be).sum();
    (sum & 0xffff) + (sum >> 16)
}

/// RAW_CHANNEL's fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub open: bool,
    pub broadcast: bool,
    pub multicast: bool,
    pub any: bool,
    pub vi: u64,
}

impl Filter {
    fn wants(&self, to: &[u8], us: [u8; 6]) -> bool {
        let broadcast = to == [0xff; 6];
        self.open
            && (self.any
                || to == us
                || broadcast && self.broadcast
                || !broadcast && to[0] % 2 == 1 && self.multicast)
    }

    /// What is kept of a frame of so many bytes, that has lost a tag or not.
    fn keep(&self, length: usize, tagged: bool) -> Fate {
        let length = (length + 4 * usize::from(tagged)) as u64;
        Fate::Keep(
            Info { opcode: 0x24, queue_pair: self.vi, length, raw: true, tagged, ..Info::default() },
            false,
        )
    }
}

/// Reads a frame as the contract of `receive/parse` says, byte by byte, with the raw channel closed.
pub fn fate(frame: &[u8], bad: bool, us: ([u8; 6], [u8; 4]), pkey: u16) -> Fate {
    fate_raw(frame, bad, us, pkey, Filter::default(), false)
}

/// The same with a raw channel, of a frame that has lost a tag or not.
pub fn fate_raw(
    frame: &[u8],
    bad: bool,
    us: ([u8; 6], [u8; 4]),
    pkey: u16,
    filter: Filter,
    tagged: bool,
) -> Fate {
    // A field counts if the frame has it whole.
    let there = |end: usize| frame.len() >= end;
    let at = |range: std::ops::Range<usize>| be(&frame[range]);
    if bad || !(14..=4224).contains(&frame.len()) {
        return Fate::Malformed;
    }
    let foreign = frame[..6] != us.0
        || at(12..14) != 0x800
        || there(15) && frame[14] != 0x45
        || there(22) && at(20..22) & 0x3fff != 0
        || there(24) && frame[23] != 17
        || there(34) && frame[30..34] != us.1
        || there(38) && at(36..38) != 4791;
    let wanted = filter.wants(&frame[..6], us.0);
    if foreign {
        return if wanted { filter.keep(frame.len(), tagged) } else { Fate::NotOurs };
    }
    if frame.len() < 58 {
        return Fate::Malformed;
    }
    let length = at(16..18) as usize;
    let opcode = frame[42];
    let agents = at(47..50) == 1;
    let reth = if matches!(opcode, 0x06 | 0x0a..=0x0c | 0x26 | 0x2a | 0x2b) { 16 } else { 0 };
    let immediate = matches!(opcode, 3 | 5 | 9 | 0xb | 0xd | 0xf..=0x11 | 0x23 | 0x25 | 0x29 | 0x2b);
    let extension = if immediate { 4 } else { 0 };
    let deth = if opcode == 0x64 { 8 } else { 0 };
    let headers = 44 + reth + extension + deth;
    let pad = usize::from(frame[43] >> 4 & 3);
    let end = 14 + length;
    if length % 4 != 0
        || !(44..=44 + 20 + 4096).contains(&length)
        || length < headers + pad
        || at(38..40) as usize != length - 20
        || frame.len() < end
        || header_sum(frame) != 0xffff
    {
        return Fate::Malformed;
    }
    if icrc(frame, end).to_le_bytes() != frame[end - 4..end] {
        return Fate::Icrc;
    }
    let known = agents && opcode == 0x64 || matches!(opcode, 0x00..=0x11 | 0x20..=0x2b | 0x81);
    if frame[43] & 0xf != 0 || (at(44..46) as u16 ^ pkey) & 0x7fff != 0 || !known {
        return Fate::Bth;
    }
    if agents && wanted {
        return filter.keep(frame.len(), tagged);
    }
    if opcode == 0x81 {
        return Fate::Congestion;
    }
    let info = Info {
        opcode: opcode.into(),
        queue_pair: at(47..50),
        psn: at(51..54),
        ack_request: frame[50] >> 7 == 1,
        extension: if extension == 4 { at(54 + reth..58 + reth) } else { 0 },
        source_ip: at(26..30),
        extended: extension == 4,
        reth: reth == 16,
        address: if reth == 16 { at(54..62) } else { 0 },
        rkey: if reth == 16 { at(62..66) } else { 0 },
        size: if reth == 16 { at(66..70) } else { 0 },
        length: (length - headers - pad) as u64,
        raw: false,
        tagged,
        start: 0,
        place: 0,
    };
    Fate::Keep(info, frame[15] & 3 == 3)
}

/// A frame of our own.
#[derive(Clone, Debug)]
pub struct Frame {
    pub to: ([u8; 6], [u8; 4]),
    pub from: ([u8; 6], [u8; 4]),
    pub opcode: u8,
    pub queue_pair: u32,
    pub psn: u32,
    pub ack_request: bool,
    /// Address, handle and length of an RDMA write.
    pub reth: Option<(u64, u32, u32)>,
    pub extension: Option<u32>,
    pub payload: Vec<u8>,
}

/// The RETH that an opcode has.
pub fn reth(opcode: u8, fields: (u64, u32, u32)) -> Option<(u64, u32, u32)> {
    (matches!(opcode & 0x1f, 0x06 | 0x0a | 0x0b) || opcode == 0x0c).then_some(fields)
}

/// The immediate data, or AETH, that an opcode has.
pub fn immediate(opcode: u8, data: u32) -> Option<u32> {
    (matches!(opcode & 0x1f, 3 | 5 | 9 | 11) || matches!(opcode, 13 | 15 | 16)).then_some(data)
}

impl Frame {
    /// The frame's bytes, checksum and ICRC right.
    pub fn bytes(&self) -> Vec<u8> {
        let mut extension = Vec::new();
        if let Some((address, rkey, size)) = self.reth {
            extension.extend(address.to_be_bytes());
            extension.extend(rkey.to_be_bytes());
            extension.extend(size.to_be_bytes());
        }
        extension.extend(self.extension.iter().flat_map(|e| e.to_be_bytes()));
        let pad = self.payload.len().wrapping_neg() % 4;
        let length = 44 + extension.len() + self.payload.len() + pad;
        let mut frame = [&self.to.0[..], &self.from.0, &[8, 0, 0x45, 0x20]].concat();
        frame.extend((length as u16).to_be_bytes());
        frame.extend([0x12, 0x34, 0x40, 0, 64, 17, 0, 0]);
        frame.extend(self.from.1);
        frame.extend(self.to.1);
        frame.extend([0xc0, 0x11, 0x12, 0xb7]);
        frame.extend((length as u16 - 20).to_be_bytes());
        frame.extend([0, 0, self.opcode, (pad as u8) << 4, 0xff, 0xff, 0]);
        frame.extend(&self.queue_pair.to_be_bytes()[1..]);
        frame.push(u8::from(self.ack_request) << 7);
        frame.extend(&self.psn.to_be_bytes()[1..]);
        frame.extend(extension);
        frame.extend(&self.payload);
        frame.extend(vec![0; pad + 4]);
        repair(&mut frame);
        frame
    }
}

/// Makes IP checksum and ICRC right again.
pub fn repair(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum = !(header_sum(frame) as u16);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let end = 14 + be(&frame[16..18]) as usize;
    if (58..=frame.len()).contains(&end) {
        let icrc = icrc(frame, end);
        frame[end - 4..end].copy_from_slice(&icrc.to_le_bytes());
    }
}
