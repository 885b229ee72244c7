//! Room in an end's memory for descriptors and for data, and the registrations that hold it.

use rand::Rng;
use viaduct_spec::descriptor::{CONTROL_SEGMENT_BYTES, SEGMENT_BYTES};

use super::Generator;
use crate::memory::{DATA_BYTES, SLICE, SLOTS};
use crate::operation::End;

impl Generator {
    /// Where a descriptor of so many segments goes.
    pub(super) fn place(&mut self, end: End, segments: usize) -> Option<u32> {
        let bytes = (CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * segments).next_multiple_of(64) as u32;
        let place = self.free[end].1;
        (place + bytes <= SLICE).then(|| {
            self.free[end].1 += bytes;
            place
        })
    }

    /// Bytes of the end's that nothing else is written to, and in front of them some that nothing is.
    pub(super) fn room(&mut self, end: End, bytes: u32) -> Option<u32> {
        let at = self.free[end].0 + self.random.random_range(0..20);
        (at + bytes <= DATA_BYTES).then(|| {
            self.free[end].0 = at + bytes;
            at
        })
    }

    /// A registration that holds these bytes; rarely one that might not.
    pub(super) fn slot(&mut self, end: End, at: u32, length: u32) -> usize {
        if !self.flawless && self.chance(30) {
            return self.random.random_range(0..SLOTS);
        }
        let holds = |slot: &usize| {
            self.slots[end][*slot].is_some_and(|made| {
                made.at <= at && at + length <= made.at + made.length && !made.foreign && !made.read_only
            })
        };
        let found: Vec<usize> = (1..SLOTS).filter(holds).collect();
        match found.len() {
            0 => 0,
            _ if self.random.random() => 0,
            count => found[self.random.random_range(0..count)],
        }
    }

    /// The same for what the peer reaches: only number 0 has every right for certain.
    pub(super) fn remote_slot(&mut self, end: End, at: u32, length: u32) -> usize {
        if self.flawless {
            0
        } else {
            self.slot(end, at, length)
        }
    }
}
