//! Receive descriptors, and the queues that they are posted on.

use super::events::Event;
use super::World;

/// A receive descriptor as it lies in memory, and where.
#[derive(Clone, Debug)]
pub struct Descriptor {
    pub words: Vec<u64>,
    /// Words that the region holds of the first eight.
    pub held: u64,
    pub lost: bool,
}

impl Descriptor {
    /// A receive with these segments: address, handle, length.
    pub fn new(segments: &[(u64, u64, u64)]) -> Self {
        let mut words = vec![0, (segments.len() as u64) << 32, 0, 0];
        for (address, handle, length) in segments {
            words.extend([*address, handle | length << 32]);
        }
        let held = (words.len() as u64).min(8);
        Self { words, held, lost: false }
    }
}

/// One VI's receive queue: what is posted, and what fetch has brought.
#[derive(Default)]
pub(super) struct Queue {
    pub posted: Vec<Descriptor>,
    /// Descriptors that fetch may bring; the others are posted but slow.
    pub fetchable: usize,
    pub filled: usize,
    pub state: u8,
}

impl World {
    /// Posts a receive descriptor; with `fetched` it is brought at once.
    pub fn post(&mut self, vi: u64, descriptor: Descriptor, fetched: bool) {
        let queue = &mut self.queues[vi as usize];
        let place = self.regions[&self.descriptors].base + Self::offset(vi as usize, queue.posted.len()) * 64;
        for (n, word) in descriptor.words.iter().enumerate() {
            for (k, byte) in word.to_le_bytes().into_iter().enumerate() {
                self.memory.insert(place + n as u64 * 8 + k as u64, byte);
            }
        }
        queue.posted.push(descriptor);
        if fetched {
            queue.fetchable = queue.posted.len();
        }
    }

    /// Lets fetch bring whatever is posted.
    pub fn fetch_all(&mut self, vi: u64) {
        let queue = &mut self.queues[vi as usize];
        queue.fetchable = queue.posted.len();
    }

    /// Offset of a descriptor in the descriptors' region, in units of 64 bytes: room for 4096 bytes each.
    pub(super) fn offset(vi: usize, position: usize) -> u64 {
        (vi * 64 + position) as u64 * 64
    }

    /// Descriptors of a VI's receive queue that are done, lost ones included.
    pub fn consumed(&self, vi: u64) -> u64 {
        self.events
            .iter()
            .filter(|event| matches!(event, Event::Complete { vi: of, .. } if *of == vi))
            .count() as u64
            + self.lost_before(vi)
    }

    /// Lost descriptors in front of the next one to complete.
    fn lost_before(&self, vi: u64) -> u64 {
        let done = self
            .events
            .iter()
            .filter(|event| matches!(event, Event::Complete { vi: of, .. } if *of == vi))
            .count();
        let (mut good, mut lost) = (0, 0);
        for descriptor in &self.queues[vi as usize].posted {
            if descriptor.lost {
                lost += 1;
            } else if good == done {
                break;
            } else {
                good += 1;
            }
        }
        lost
    }
}
