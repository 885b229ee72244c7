//! The descriptors on a work queue.

use viaduct_driver::queues::Direction;
use viaduct_spec::doorbell::token;

use crate::{form::OnQueue, registered::Found, ring::Ring};

/// What is posted, in order, and where the next one goes.
#[derive(Debug)]
pub(crate) struct Posted<D> {
    /// Ring position of the next one: counts every descriptor. A token has the low bits of it.
    pub(super) position: u64,
    pub(super) descriptors: Ring<D>,
    /// What becomes of a post.
    stage: Stage,
    /// [`super::Queue::try_post`] may make posts: the doorbell is memory, and nobody is to hear of each.
    is_usual: bool,
    /// What the last post has found of registered memory.
    pub(super) found: Found,
}

/// What becomes of what is posted to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The NIC gets it.
    Open,
    /// Of the send queue: the VI is being connected. The NIC gets nothing, and what is posted is flushed. If it comes to nothing, the receives
    /// from this number on, which were not complete when it began, are posted as they were ([`Posted::incomplete`]).
    Held {
        /// A number of [`Ring::taken`].
        receives: usize,
    },
    /// The VI is gone: nothing is on the queue, nor comes there.
    Closed,
}

impl<D: OnQueue> Posted<D> {
    /// Nothing, on a queue that is open.
    pub(super) fn new(slots: usize, is_usual: bool) -> Self {
        let (descriptors, found) = (Ring::new(slots), Found::default());
        let mut posted = Self { position: 0, descriptors, stage: Stage::Open, is_usual, found };
        posted.enter(Stage::Open);
        posted
    }

    /// What becomes of a post.
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether the VI is being connected: [`Stage::Held`], of the send queue.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.stage, Stage::Held { .. })
    }

    /// From now on this becomes of a post. The ring is open to [`super::Queue::try_post`] as long as the usual is all that a post has to do.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.descriptors.close(!self.is_usual || stage != Stage::Open);
        if stage == Stage::Closed {
            self.descriptors.clear();
        }
    }

    /// Somebody is to hear of each post: none is made by [`super::Queue::try_post`] any more.
    pub(crate) fn tell(&mut self) {
        self.is_usual = false;
        self.enter(self.stage);
    }

    /// Nothing is posted.
    pub(crate) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// Ring position of the head, if that is not complete. After a reset complete descriptors of the
    /// old ring may be left before those of the new one: positions are of the latter only.
    pub(super) fn oldest(&self) -> u16 {
        (self.position.wrapping_sub(self.descriptors.len() as u64) & token::POSITION.mask()) as u16
    }

    /// The number of the first that is not complete: what is complete is so for good.
    pub(crate) fn incomplete(&self) -> usize {
        let old = self.descriptors.iter().take_while(|descriptor| descriptor.is_complete()).count();
        self.descriptors.taken().wrapping_add(old)
    }

    /// How many from this number on have been flushed.
    pub(crate) fn flushed(&self, first: usize) -> usize {
        let numbered = self.descriptors.iter().enumerate();
        let since = numbered.filter(|(n, _)| is_from(first, self.descriptors.taken().wrapping_add(*n)));
        since.filter(|(_, descriptor)| descriptor.is_flushed()).count()
    }

    /// Everything posted is complete. The NIC completes in order: the last one tells.
    pub(crate) fn is_complete(&self) -> bool {
        self.descriptors.iter().next_back().is_none_or(|last| last.is_complete())
    }

    /// The NIC has forgotten the queue: what it did not complete is flushed, and the ring starts
    /// anew. How many it did not complete.
    pub(crate) fn reset(&mut self, direction: Direction) -> usize {
        let mut flushed = 0;
        for descriptor in self.descriptors.iter().filter(|descriptor| !descriptor.is_complete()) {
            descriptor.flush(direction);
            flushed += 1;
        }
        self.position = 0;
        flushed
    }
}

/// Whether a descriptor with this number is the one with the number `first`, or came later.
pub(super) fn is_from(first: usize, number: usize) -> bool {
    number.wrapping_sub(first) <= usize::MAX / 2
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A descriptor that is complete when the test says so.
    #[derive(Debug, Default)]
    struct Plain {
        complete: Cell<bool>,
        flushed: Cell<bool>,
    }

    impl OnQueue for Plain {
        fn is_complete(&self) -> bool {
            self.complete.get()
        }

        fn flush(&self, _direction: Direction) {
            self.complete.set(true);
            self.flushed.set(true);
        }

        fn token(&self) -> u64 {
            0
        }

        fn shortened(&self, token: u64) -> u64 {
            token
        }

        fn prepare(&mut self) {}

        fn finish(&mut self) -> bool {
            self.is_complete()
        }

        fn is_flushed(&self) -> bool {
            self.flushed.get()
        }

        fn renew(&mut self) {
            *self = Self::default();
        }
    }

    const HELD: Stage = Stage::Held { receives: 7 };

    fn open(posted: &Posted<Plain>) -> bool {
        posted.descriptors.is_open()
    }

    #[test]
    fn the_ring_is_open_where_the_usual_is_all_that_a_post_has_to_do() {
        let mut posted = Posted::<Plain>::new(4, true);
        assert!(open(&posted) && !posted.is_held());
        posted.enter(HELD);
        assert!(!open(&posted) && posted.is_held() && posted.stage() == HELD);
        posted.enter(Stage::Open);
        assert!(open(&posted));
        // Whoever is told is told through a connection, too.
        posted.enter(HELD);
        posted.tell();
        assert!(!open(&posted) && posted.is_held());
        posted.enter(Stage::Open);
        assert!(!open(&posted) && !posted.is_held());
        let mut doorbell_is_a_call = Posted::<Plain>::new(4, false);
        doorbell_is_a_call.enter(Stage::Open);
        assert!(!open(&doorbell_is_a_call));
    }

    #[test]
    fn nothing_is_on_the_queue_of_a_vi_that_is_gone() {
        let mut posted = Posted::<Plain>::new(4, true);
        posted.descriptors.push(Plain::default());
        posted.enter(Stage::Closed);
        assert!(posted.is_empty() && !open(&posted));
        posted.tell();
        assert_eq!(posted.stage(), Stage::Closed);
    }

    #[test]
    fn what_is_flushed_is_counted_from_the_first_that_was_not_complete() {
        let mut posted = Posted::<Plain>::new(4, true);
        for _ in 0..3 {
            posted.descriptors.push(Plain::default());
        }
        posted.reset(Direction::Receive);
        // The number outlives that the head is taken.
        let first = posted.incomplete();
        posted.descriptors.push(Plain::default());
        posted.descriptors.pop_if(|_| true);
        assert_eq!((first, posted.incomplete(), posted.flushed(first)), (3, 3, 0));
        assert_eq!((posted.reset(Direction::Receive), posted.flushed(first)), (1, 1));
    }
}
