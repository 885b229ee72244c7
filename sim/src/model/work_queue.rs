//! A work queue: positions, tokens from doorbell or ring, and the descriptors they name.

use viaduct_spec::doorbell::token;
use viaduct_spec::tables::work_queue;

use super::context::Context;
use super::descriptor::Descriptor;
use super::place::{Access, Place, Right};
use super::posted::Posted;

/// Positions count modulo this.
const POSITIONS: u16 = 1 << 14;

/// Positions of a ring, each counting every descriptor: posted >= fetched >= completed.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkQueue {
    posted: u16,
    fetched: u16,
    completed: u16,
    /// The token of the one descriptor that is posted and not fetched.
    inline: Option<u64>,
    /// More was posted than the ring holds: it is followed to the first slot that is wrong.
    over: bool,
    /// The oldest position that the consumer has not seen complete, if it waits for an interrupt.
    armed: Option<u16>,
}

/// What fetching the next position has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// A descriptor.
    Descriptor(Posted, Descriptor),
    /// None: the slot cannot be read, or does not hold the token of its position, or that names memory that is none of
    /// the VI's.
    Misplaced,
}

fn distance(to: u16, from: u16) -> u16 {
    to.wrapping_sub(from) % POSITIONS
}

impl WorkQueue {
    /// Something is posted and not fetched.
    pub fn has_more(&self) -> bool {
        self.posted != self.fetched
    }

    /// Whether the consumer has not seen all that is complete.
    fn has_unseen(&self, seen: u16) -> bool {
        (1..=POSITIONS / 2).contains(&distance(self.completed, seen))
    }

    /// One more is complete, in order. Whether the queue's interrupt is due.
    pub fn complete(&mut self) -> bool {
        self.completed = (self.completed + 1) % POSITIONS;
        self.armed.take_if(|_| true).is_some_and(|seen| {
            let unseen = self.has_unseen(seen);
            self.armed = (!unseen).then_some(seen);
            unseen
        })
    }

    /// The doorbell: everything up to `position` is posted, in a ring of so many slots. Whether the ring has room: if not, nobody
    /// knows what was posted, and the ring says it.
    pub fn post(&mut self, slots: u32, position: u16, inline: Option<u64>) -> bool {
        let to = (position + 1) % POSITIONS;
        let room = slots.saturating_sub(distance(self.posted, self.completed).into());
        // WQ-6: a position outside the ring. The ring is followed to its first wrong slot.
        if u32::from(distance(to, self.posted)) > room {
            (self.over, self.inline) = (true, None);
            self.posted = (self.completed + slots as u16) % POSITIONS;
            return false;
        }
        self.posted = to;
        self.inline = inline.filter(|_| distance(to, self.fetched) == 1);
        true
    }

    /// The consumer has seen what is before `seen`, and waits for more. Whether there is more already: then it waits no longer.
    pub fn arm(&mut self, seen: u16) -> bool {
        let unseen = self.has_unseen(seen);
        self.armed = (!unseen).then_some(seen);
        unseen
    }

    /// Fetches the descriptor of the next position that is posted; there must be one.
    pub fn fetch(&mut self, receive: bool, context: &mut Context<'_>) -> Fetched {
        let row = context.rows.work_queue(receive);
        let position = self.fetched;
        self.fetched = (position + 1) % POSITIONS;
        let word = match self.inline.take() {
            Some(word) => Some(word),
            None => {
                let slot = u64::from(position) & ((1 << row.get(work_queue::RING_LOG2)) - 1);
                let region = row.get(work_queue::RING_REGION) as u16;
                let offset = 64 * row.get(work_queue::RING_OFFSET) + 8 * slot;
                let access = Access {
                    place: Place::Offset { region, offset },
                    span: 8,
                    tag: row.get(work_queue::SYSTEM_TAG) as u16,
                    right: Right::SystemRead,
                };
                let bytes = context.memory.read(access, 8).ok();
                bytes.and_then(|bytes| bytes.first_chunk().copied()).map(u64::from_le_bytes)
            }
        };
        // WQ-6, WQ-8: a slot that is wrong, or cannot be read.
        // What is not the token of this position is one of region 0, which does not exist.
        let word = word.filter(|word| token::POSITION.get(&[*word]) == u64::from(position)).unwrap_or(0);
        if self.over && token::REGION.get(&[word]) == 0 {
            (self.over, self.posted) = (false, self.fetched);
        }
        let posted = Posted::new(word);
        match Descriptor::read(posted, context.rows.descriptor_tag(receive), &mut context.memory) {
            Ok(descriptor) => Fetched::Descriptor(posted, descriptor),
            Err(_) => Fetched::Misplaced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_armed_queue_asks_once() {
        let mut queue =
            WorkQueue { completed: POSITIONS - 1, armed: Some(POSITIONS - 1), ..WorkQueue::default() };
        assert!(queue.complete());
        assert!(!queue.complete(), "disarmed");
        queue.armed = Some(2);
        assert!(!queue.complete(), "positions 1 and before have been seen");
        assert!(queue.complete());
    }
}
