//! The two work queues of a VI, as those have them who post and look.

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use viaduct_driver::{agent::vis::Vi as AgentVi, queues::lock::Held};

use super::Direction;
use crate::{
    form::RawDescriptor,
    queue::{Queue, Try},
    registered::Found,
    Descriptor, Nic, ViId,
};

/// The work queues of a VI, and what posts and looks need beside them. The [`crate::Vi`] has them; so have its completion queues, for
/// [`crate::Cq::poll`], and a table of VIs of the program's own, for the calls here. When the VI is gone nothing is posted by these calls, and
/// nothing is found.
#[derive(Debug)]
pub struct ViQueues<D = Descriptor> {
    pub(super) nic: Nic,
    pub(super) id: ViId,
    /// The program's word.
    pub(super) context: AtomicU64,
    pub(super) vi: AgentVi,
    pub(super) send: Queue<D>,
    pub(super) receive: Queue<D>,
}

impl<D> ViQueues<D> {
    #[inline]
    pub(crate) fn queue(&self, direction: Direction) -> &Queue<D> {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    /// What completion queues call the VI.
    pub(crate) fn id(&self) -> ViId {
        self.id
    }

    /// The word that the program has given the VI.
    pub(crate) fn context(&self) -> u64 {
        self.context.load(Ordering::Acquire)
    }
}

impl ViQueues<RawDescriptor> {
    /// [`crate::Vi::post_in`] for a caller that holds the queue's lock: it does the usual, or nothing. `Done(false)`: it is posted, and
    /// [`crate::Vi::wake_poller`] is due.
    ///
    /// # Safety
    /// As [`crate::Vi::post_at`]; `held` is the lock of this queue that the VI was created with, and this is no child of the process that did so.
    #[inline(always)]
    pub unsafe fn try_post(
        &self,
        direction: Direction,
        held: &mut Held<'_>,
        handle: u32,
        address: *mut u8,
    ) -> Try<bool> {
        // SAFETY: the caller's promise; the queue keeps what a post to this VI has found.
        let describe = |found: &Found| unsafe { RawDescriptor::of(found, handle, address) };
        // SAFETY: as above.
        unsafe { self.queue(direction).try_post(&self.vi, direction, held, describe) }
    }

    /// Finds the region with this handle for the next [`ViQueues::try_post`], whose descriptor is not in the region of the post before. False: there is
    /// none, or another thing stands against a post.
    ///
    /// # Safety
    /// As [`ViQueues::try_done`].
    pub unsafe fn try_find(&self, direction: Direction, held: &mut Held<'_>, handle: u32) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.queue(direction).try_find(held, || self.nic.registered().find(handle)) }
    }

    /// [`crate::Vi::done`] for a caller that holds the queue's lock: it does the usual, or nothing. The descriptor's address, and whether it
    /// completed in error.
    ///
    /// # Safety
    /// `held` is the lock of this queue that the VI was created with, and this is no child of the process that did so.
    #[inline(always)]
    pub unsafe fn try_done(&self, direction: Direction, held: &mut Held<'_>) -> Try<(NonNull<u8>, bool)> {
        // SAFETY: the caller's promise.
        match unsafe { self.queue(direction).try_take(held) } {
            Try::Done(descriptor) => Try::Done((descriptor.address(), descriptor.is_error())),
            Try::Nothing => Try::Nothing,
            Try::Unusual => Try::Unusual,
        }
    }
}
