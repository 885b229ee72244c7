//! Descriptors that are posted, and what comes of them.

use viaduct_spec::doorbell::{self, page};

use super::layout::{ARENA, DATA, DATA_REGION, DESCRIPTORS, RING_BYTES, RING_LOG2};
use super::{Bench, Completion, Descriptor, End};

/// Offsets in a descriptor.
const IMMEDIATE: u64 = 20;
const LENGTH: u64 = 24;
const STATUS: u64 = 28;

impl Bench {
    /// Writes a descriptor and its ring slot; its place and token.
    pub fn prepare(&mut self, (nic, vi): End, receive: bool, descriptor: &Descriptor) -> (u64, u64) {
        let bytes = descriptor.encode();
        let place = self.next_descriptor;
        self.next_descriptor += bytes.len().next_multiple_of(64) as u64;
        if self.next_descriptor >= ARENA - 0x1000 {
            self.next_descriptor = DESCRIPTORS;
        }
        self.write(nic, place, &bytes);
        let position = &mut self.positions[nic][vi][usize::from(receive)];
        let token = doorbell::encode(DATA_REGION, (place - DATA) / 64, *position);
        let slot = u64::from(*position) % (1 << RING_LOG2);
        *position = position.wrapping_add(1) & 0x3FFF;
        let ring = ARENA + (2 * vi as u64 + u64::from(receive)) * RING_BYTES;
        self.write(nic, ring + 8 * slot, &token.to_le_bytes());
        (place, token)
    }

    /// Posts a descriptor; its place.
    pub fn post(&mut self, end: End, receive: bool, descriptor: &Descriptor) -> u64 {
        let (place, token) = self.prepare(end, receive, descriptor);
        let offset = if receive { page::RECEIVE } else { page::SEND };
        self.ring(end.0, end.1, offset, 8, token);
        place
    }

    pub fn send(&mut self, end: End, descriptor: &Descriptor) -> u64 {
        self.post(end, false, descriptor)
    }

    /// Posts a receive, and waits until the NIC has it.
    pub fn receive(&mut self, end: End, descriptor: &Descriptor) -> u64 {
        let place = self.post(end, true, descriptor);
        while self.net.backlog(end.0) != 0 {
            self.net.step(16);
        }
        place
    }

    /// What stands in a descriptor now; its status is 0 while it is not complete.
    pub fn peek(&self, nic: usize, place: u64) -> Completion {
        (self.read_u32(nic, place + LENGTH), self.read_u32(nic, place + STATUS))
    }

    pub fn immediate(&self, nic: usize, place: u64) -> u32 {
        self.read_u32(nic, place + IMMEDIATE)
    }
}
