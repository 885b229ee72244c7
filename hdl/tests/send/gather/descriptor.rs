//! Descriptors, right and wrong.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::descriptor::{control, control_segment, data_segment};
use viaduct_spec::handle::memory_handle;

use super::memory::{FAILED, REFUSED};
use super::Context;
use crate::port::{fields, Fields};

pub struct Segment {
    pub address: u64,
    pub region: u64,
    pub key: u64,
    pub length: u64,
}

/// A descriptor, as 64-bit words, and where its region ends.
pub struct Descriptor {
    pub head: Fields,
    pub words: Vec<u64>,
    /// Words that the region holds.
    pub held: usize,
    /// The read of its rest fails on the bus behind what the region holds.
    pub unread: bool,
}

/// A descriptor with its segments and its length.
pub type Made = (Descriptor, Vec<Segment>, u64);

/// A descriptor of any VI.
pub fn any(rng: &mut ChaCha8Rng, contexts: &[Context], wrong: bool) -> Made {
    let vi = rng.random_range(0..64);
    descriptor(rng, &contexts[vi as usize], vi, wrong)
}

fn descriptor(rng: &mut ChaCha8Rng, context: &Context, vi: u64, wrong: bool) -> Made {
    let count = match rng.random_range(0..20) {
        0 => 0,
        1..=9 => 1,
        10..=13 => 2,
        14..=17 => rng.random_range(3..=10),
        18 => rng.random_range(11..=80),
        _ => *[250, 251, 252].choose(rng).unwrap(),
    };
    // An RDMA write's first segment says where to; it has no length.
    let rdma = count > 0 && rng.random_bool(0.3);
    let segments: Vec<Segment> = (0..count)
        .map(|n| Segment {
            address: rng.random(),
            region: match rng.random_range(0..200) {
                0 if wrong => REFUSED,
                1 if wrong => FAILED,
                _ => rng.random_range(1..100),
            },
            key: rng.random_range(0..1 << 16),
            length: match rng.random_range(0..10) {
                _ if rdma && n == 0 => u64::from(wrong && rng.random_bool(0.05)),
                0 => 0,
                1..=4 => rng.random_range(1..20),
                5..=8 => rng.random_range(1..400),
                _ if count < 5 => rng.random_range(1..9000),
                _ => rng.random_range(1..100),
            },
        })
        .map(|s| Segment { address: s.address.min(u64::MAX - s.length), ..s })
        .collect();
    let sum: u64 = segments.iter().map(|s| s.length).sum();
    let mut words = vec![rng.random(), 0, 0, 0];
    let mut length = sum;
    let immediate: u64 = rng.random_range(0..1 << 32);
    let mut flags = u64::from(if rdma { control::OP_RDMAWRITE } else { control::OP_SENDRECV });
    if rng.random() {
        flags |= u64::from(control::IMMEDIATE);
    }
    if rng.random() {
        flags |= u64::from(control::QFENCE);
    }
    let mut seg_count = count as u64;
    let (mut reserved, mut posted_status) = (0, 0);
    let mut held = 4 + 2 * segments.len();
    if wrong && rng.random_bool(0.3) {
        match rng.random_range(0..9) {
            0 => length = length.wrapping_add(1) & 0xffff_ffff,
            1 => length = length.saturating_sub(rng.random_range(1..2000)),
            2 => flags |= 1 << rng.random_range(4..16),
            3 => flags ^= rng.random_range(1..4),
            4 => seg_count = rng.random_range(253..1 << 16),
            5 => reserved = 1 << rng.random_range(0..32),
            6 => posted_status = 1 << rng.random_range(0..32),
            7 => held = rng.random_range(0..held),
            _ => length = rng.random_range(context.max_transfer + 1..1 << 32),
        }
    }
    control_segment::NEXT_HANDLE.put(&mut words, rng.random_range(0..1 << 32));
    control_segment::SEG_COUNT.put(&mut words, seg_count);
    control_segment::CONTROL.put(&mut words, flags);
    control_segment::RESERVED.put(&mut words, reserved);
    control_segment::IMMEDIATE.put(&mut words, immediate);
    control_segment::LENGTH.put(&mut words, length);
    control_segment::STATUS.put(&mut words, posted_status);
    for segment in &segments {
        let mut handle = [0];
        memory_handle::INDEX.put(&mut handle, segment.region);
        memory_handle::KEY.put(&mut handle, segment.key);
        let mut row = [0, 0];
        data_segment::ADDRESS.put(&mut row, segment.address);
        data_segment::HANDLE.put(&mut row, handle[0]);
        data_segment::LENGTH.put(&mut row, segment.length);
        words.extend(row);
    }
    let lost = wrong && rng.random_bool(0.02);
    let head = fields(&[
        ("vi", vi),
        // Sent again, from some packet on; or of an epoch that is past.
        ("restart", rng.random_bool(0.2).into()),
        ("skip", *[0, 0, 1, 2, 5, 1 << 20].choose(rng).unwrap()),
        ("psn", rng.random_range(0..1 << 24)),
        ("epoch", rng.random_bool(0.05).into()),
        ("region", rng.random_range(0..1 << 16)),
        ("offset", rng.random_range(0..1 << 34)),
        ("words", held.min(8) as u64),
        ("lost", lost.into()),
    ]);
    (Descriptor { head, words, held, unread: wrong && rng.random_bool(0.1) }, segments, length)
}
