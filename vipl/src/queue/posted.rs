//! The descriptors on a work queue.

use viaduct_driver::{consumer::Vi as AgentVi, queues::Direction};
use viaduct_spec::doorbell::token;

use crate::{form::OnQueue, registered::Found, ring::Ring};

/// What is posted, in order, and where the next one goes.
#[derive(Debug)]
pub(crate) struct Posted<D> {
    /// Ring position of the next one: counts every descriptor. A token has the low bits of it.
    pub(super) position: u64,
    pub(super) descriptors: Ring<D>,
    /// The VI is being connected: the NIC gets nothing, and what is posted is flushed.
    pub(super) held: bool,
    /// Somebody is to hear of each post.
    pub(super) told: bool,
    /// The first that was not complete when it began to be connected: its number in `descriptors`.
    pub(super) begun: usize,
    /// What the last post has found of registered memory.
    pub(super) found: Found,
}

impl<D: OnQueue> Posted<D> {
    /// Whether the VI is being connected: the NIC gets nothing, and what is posted is flushed.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// The VI is being connected, or not any more.
    pub(crate) fn hold(&mut self, vi: &AgentVi, direction: Direction, is_held: bool) {
        self.held = is_held;
        self.weigh(vi, direction);
    }

    /// Somebody is to hear of each post: none is made by [`super::Queue::try_post`] any more.
    pub(crate) fn tell(&mut self) {
        self.told = true;
        self.descriptors.close(true);
    }

    /// The VI is gone: nothing is on the queue, nor comes there any more.
    pub(crate) fn close(&mut self) {
        self.tell();
        self.descriptors.clear();
    }

    /// The ring is open as long as the usual is all that a post has to do: the doorbell is memory, the queue is not held, and nobody is told.
    pub(super) fn weigh(&mut self, vi: &AgentVi, direction: Direction) {
        self.descriptors.close(self.held || self.told || vi.queues().bell(direction).is_none());
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

    /// The VI begins to be connected: what is complete is so for good.
    pub(crate) fn begin(&mut self) {
        let old = self.descriptors.iter().take_while(|descriptor| descriptor.is_complete()).count();
        self.begun = self.descriptors.taken().wrapping_add(old);
    }

    /// How many have been flushed since.
    pub(crate) fn flushed(&self) -> usize {
        let numbered = self.descriptors.iter().enumerate();
        let since = numbered.filter(|(n, _)| is_from(self.begun, self.descriptors.taken().wrapping_add(*n)));
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
