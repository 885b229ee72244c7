//! Packets of any kind, and what must come of them.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;
use viaduct_spec::tlp::{dw0, kind, request_dw1};

use crate::beat::{beats, header, Beat};

/// A store.
#[derive(Debug, PartialEq, Eq)]
pub struct Write {
    pub doorbell: bool,
    pub address: u64,
    /// Bytes with their addresses in the word.
    pub bytes: Vec<(u64, u8)>,
}

/// A load.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    pub doorbell: bool,
    pub address: u64,
    pub pair: bool,
    pub unsupported: bool,
    pub lower: u64,
    pub count: u64,
    pub tag: u64,
    pub requester: u64,
    pub attributes: u64,
}

/// What must come of the packets sent so far.
#[derive(Default)]
pub struct Want {
    pub writes: VecDeque<Write>,
    pub reads: VecDeque<Read>,
    pub completions: VecDeque<Beat>,
    pub dropped: u64,
}

/// A packet on its way to a BAR.
pub struct Made {
    pub packet: Vec<u32>,
    pub bar: u64,
    pub nonposted: bool,
}

/// A packet of any kind, and what must come of it.
pub fn make(rng: &mut ChaCha8Rng, want: &mut Want) -> Made {
    let bar = *[0, 0, 2, 2, 2, 3].choose(rng).unwrap();
    let known = bar != 3;
    let (tag, requester): (u64, u64) = (rng.random_range(0..256), rng.random_range(0..0x10000));
    let (class, attr): (u64, u64) = (rng.random_range(0..8), rng.random_range(0..4));
    let long = rng.random_bool(0.3);
    let length: u64 = *[1, 1, 1, 2, 2, 2, 3, 8, 32].choose(rng).unwrap();
    // The BAR lies anywhere.
    let high: u32 = if long { rng.random() } else { 0 };
    let mut address: u32 = rng.random::<u32>() & !3;
    if length == 2 && rng.random_bool(0.8) {
        address &= !7;
    }
    let first: u64 = rng.random_range(0..16);
    let last: u64 = if length == 1 { 0 } else { rng.random_range(1..16) };
    let request = |code: u8, length: u64| {
        let mut packet = vec![
            header(&[
                (dw0::KIND, u64::from(code) | if long { 0x20 } else { 0 }),
                (dw0::LENGTH, length),
                (dw0::TRAFFIC_CLASS, class),
                (dw0::ATTR, attr),
            ]),
            header(&[
                (request_dw1::FIRST_BE, first),
                (request_dw1::LAST_BE, last),
                (request_dw1::TAG, tag),
                (request_dw1::REQUESTER, requester),
            ]),
        ];
        if long {
            packet.push(high);
        }
        packet.push(address);
        packet
    };
    let astray = length == 2 && address % 8 != 0;
    // What is above a BAR's size is where it lies.
    let size = if bar == 0 { BAR0_BYTES } else { BAR2_BYTES };
    let offset = u64::from(address) & (size - 1);
    let unsupported = |nonposted: Vec<u32>, want: &mut Want| {
        want.reads.push_back(Read {
            doorbell: bar & 2 != 0,
            address: offset,
            pair: false,
            unsupported: true,
            lower: 0,
            count: 4,
            tag,
            requester,
            attributes: class << 2 | attr,
        });
        Made { packet: nonposted, bar, nonposted: true }
    };
    match rng.random_range(0..12) {
        0..=4 => {
            let mut packet = request(kind::WRITE_3DW, length);
            let payload: Vec<u32> = (0..length).map(|_| rng.random()).collect();
            packet.extend(&payload);
            let poisoned = rng.random_bool(0.1);
            if poisoned {
                packet[0] |= 1 << dw0::POISONED.lo;
            }
            let cut = rng.random_bool(0.1);
            if cut {
                let keep = rng.random_range(1..packet.len());
                packet.truncate(keep);
            } else if rng.random_bool(0.1) {
                packet[0] |= 1 << dw0::DIGEST.lo;
                packet.push(rng.random());
            }
            if !known || poisoned || cut || length > 2 || astray {
                want.dropped += 1;
            } else {
                let enables = first | last << 4;
                let bytes: Vec<_> = (0..8)
                    .filter(|k| enables >> k & 1 == 1)
                    .map(|k| (offset % 8 + k, payload[k as usize / 4].to_le_bytes()[k as usize % 4]))
                    .collect();
                if !bytes.is_empty() {
                    want.writes.push_back(Write { doorbell: bar == 2, address: offset & !7, bytes });
                }
            }
            Made { packet, bar, nonposted: false }
        }
        5..=7 => {
            let packet = request(kind::READ_3DW, length);
            if !known || length > 2 || astray {
                return unsupported(packet, want);
            }
            let enables = first | last << 4;
            let low = u64::from(first.trailing_zeros()) % 64 % 4 * u64::from(first != 0);
            let count = if enables == 0 {
                1
            } else if length == 1 {
                u64::from(64 - first.leading_zeros() - first.trailing_zeros())
            } else {
                u64::from(64 - enables.leading_zeros()) - low
            };
            want.reads.push_back(Read {
                doorbell: bar == 2,
                address: offset,
                pair: length == 2,
                unsupported: false,
                lower: (u64::from(address) & 0x7C) | low,
                count,
                tag,
                requester,
                attributes: class << 2 | attr,
            });
            Made { packet, bar, nonposted: true }
        }
        8 => {
            // Locked read, I/O, configuration, atomic operations.
            let codes = [0x01, 0x02, 0x42, 0x04, 0x44, 0x05, 0x45, 0x1B, 0x5B, 0x4C, 0x4D, 0x4E];
            let code = *codes.choose(rng).unwrap();
            let mut packet = request(code, length);
            if code & 0x40 != 0 {
                packet.extend((0..length).map(|_| rng.random::<u32>()));
            }
            unsupported(packet, want)
        }
        9 => {
            let code = if rng.random() { kind::COMPLETION } else { kind::COMPLETION_DATA };
            let mut packet = vec![header(&[(dw0::KIND, code.into()), (dw0::LENGTH, length)])];
            packet.extend((0..2 + length).map(|_| rng.random::<u32>()));
            if code == kind::COMPLETION {
                packet.truncate(3);
            }
            want.completions.extend(beats(&packet));
            Made { packet, bar: rng.random_range(0..8), nonposted: false }
        }
        10 => {
            // A message, with or without data.
            let code = rng.random_range(0x30..0x38) | if rng.random() { 0x40 } else { 0 };
            let mut packet: Vec<u32> = (0..4 + length).map(|_| rng.random()).collect();
            packet[0] = header(&[(dw0::KIND, code), (dw0::LENGTH, length)]);
            Made { packet, bar: 7, nonposted: false }
        }
        _ => {
            // A prefix, a locked completion, and what nobody has defined.
            let code = *[0x80, 0x90, 0x0B, 0x4B, 0x03, 0x19, 0x1A, 0x5F].choose(rng).unwrap();
            let mut packet: Vec<u32> = (0..3 + length).map(|_| rng.random()).collect();
            packet[0] = header(&[(dw0::KIND, code), (dw0::LENGTH, length)]);
            want.dropped += 1;
            Made { packet, bar, nonposted: false }
        }
    }
}

/// Takes more into what must come.
pub fn append(want: &mut Want, more: Want) {
    want.writes.extend(more.writes);
    want.reads.extend(more.reads);
    want.completions.extend(more.completions);
    want.dropped += more.dropped;
}
