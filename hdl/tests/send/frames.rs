//! Frames written by hand: the headers of a VI, and a builder that shares nothing with the hardware.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// What the agent knows of a connection.
#[derive(Clone, Debug)]
pub struct Headers {
    /// Ethernet, IPv4, UDP and BTH, 54 bytes; what the hardware patches is 0.
    pub bytes: [u8; 54],
    /// 802.1Q tag in wire order, or none. The blocks do not look into it.
    pub vlan: [u8; 4],
}

/// What one frame adds.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    pub opcode: u8,
    pub ack_request: bool,
    pub psn: u32,
    /// RETH: address, rkey, length.
    pub reth: Option<(u64, u32, u32)>,
    pub extension: Option<u32>,
    pub payload: Vec<u8>,
}

fn ones_complement(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Headers {
    pub fn random(rng: &mut ChaCha8Rng) -> Self {
        let mut bytes: [u8; 54] = std::array::from_fn(|_| rng.random());
        bytes[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        bytes[22..24].copy_from_slice(&[64, 17]);
        bytes[36..38].copy_from_slice(&4791_u16.to_be_bytes());
        for patched in [16, 17, 24, 25, 38, 39, 40, 41, 42, 50, 51, 52, 53] {
            bytes[patched] = 0;
        }
        bytes[43] &= 0xcf;
        Self { bytes, vlan: if rng.random() { [0; 4] } else { rng.random() } }
    }

    /// The template's eight words; what the hardware patches is arbitrary.
    pub fn template(&self, rng: &mut ChaCha8Rng) -> [u64; 8] {
        let mut bytes = [0; 64];
        bytes[..54].copy_from_slice(&self.bytes);
        let rest = ones_complement(&self.bytes[14..34]);
        bytes[24..26].copy_from_slice(&rest.to_be_bytes());
        for patched in [16, 17, 38, 39, 40, 41, 42, 50, 51, 52, 53] {
            bytes[patched] = rng.random();
        }
        bytes[43] |= rng.random::<u8>() & 0x30;
        bytes[56..60].copy_from_slice(&self.vlan);
        std::array::from_fn(|n| u64::from_le_bytes(bytes[8 * n..8 * n + 8].try_into().unwrap()))
    }

    /// The whole frame, untagged.
    pub fn frame(&self, fields: &Fields) -> Vec<u8> {
        let mut frame = self.bytes.to_vec();
        let pad = fields.payload.len().wrapping_neg() % 4;
        let behind = fields.reth.map_or(0, |_| 16)
            + fields.extension.map_or(0, |_| 4)
            + fields.payload.len()
            + pad
            + 4;
        frame[16..18].copy_from_slice(&((40 + behind) as u16).to_be_bytes());
        let checksum = !ones_complement(&frame[14..34]);
        frame[24..26].copy_from_slice(&checksum.to_be_bytes());
        frame[38..40].copy_from_slice(&((20 + behind) as u16).to_be_bytes());
        frame[42] = fields.opcode;
        frame[43] |= (pad as u8) << 4;
        frame[50..54].copy_from_slice(&(fields.psn | u32::from(fields.ack_request) << 31).to_be_bytes());
        if let Some((address, rkey, length)) = fields.reth {
            frame.extend(address.to_be_bytes());
            frame.extend(rkey.to_be_bytes());
            frame.extend(length.to_be_bytes());
        }
        if let Some(extension) = fields.extension {
            frame.extend(extension.to_be_bytes());
        }
        frame.extend(&fields.payload);
        frame.resize(frame.len() + pad, 0);
        let mut masked = [&[0xff; 8], &frame[14..]].concat();
        // Counted from the IP header at 8: ToS, TTL, checksum, UDP checksum, the fifth byte of the BTH.
        for byte in [9, 16, 18, 19, 34, 35, 40] {
            masked[byte] = 0xff;
        }
        frame.extend(crc32fast::hash(&masked).to_le_bytes());
        frame
    }
}
