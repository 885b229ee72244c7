//! The two work queues of a VI, as those have them who post and look: the VI, and its completion queues.

use std::{
    num::NonZeroU64,
    ptr::NonNull,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc,
    },
};

use viaduct_driver::{consumer::Vi as AgentVi, queues::lock::Held};

use crate::{
    form::{OnQueue, RawDescriptor},
    queue::{Queue, Try},
    registered::Found,
    Descriptor, Direction, Nic,
};

/// Tells a VI from every other one that this process has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViId(NonZeroU64);

impl ViId {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MAX))
    }

    /// A number of the caller's, who gives no other VI of a completion queue the same: [`crate::ViSlot`].
    pub fn of(number: NonZeroU64) -> Self {
        Self(number)
    }

    /// The number; never 0.
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

/// The work queues of a VI, and what posts and looks need beside them. The [`crate::Vi`] has them; so have its completion queues, for
/// [`crate::Cq::poll`], and a table of VIs of the program's own, for the calls here. When the VI is gone nothing is posted by these calls, and
/// nothing is found.
#[derive(Debug)]
pub struct ViQueues<D = Descriptor> {
    pub(crate) nic: Nic,
    pub(crate) id: ViId,
    /// The program's word.
    pub(crate) context: AtomicU64,
    pub(crate) vi: AgentVi,
    pub(crate) send: Queue<D>,
    pub(crate) receive: Queue<D>,
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

/// The work queues of a VI, by the form of its descriptors.
#[derive(Debug)]
pub enum Member {
    /// They own their memory.
    Owned(Arc<ViQueues<Descriptor>>),
    /// The program writes them.
    Raw(Arc<ViQueues<RawDescriptor>>),
}

/// The form of the descriptors of a VI: [`Descriptor`] or [`RawDescriptor`]. Nobody else implements it.
pub trait Form: sealed::Listed {}

impl<D: sealed::Listed> Form for D {}

mod sealed {
    use super::{Arc, Member, OnQueue, ViQueues};

    pub trait Listed: OnQueue {
        /// The work queues of a VI with descriptors of this form, for a list of VIs with descriptors of any.
        fn member(queues: Arc<ViQueues<Self>>) -> Member
        where
            Self: Sized;
        /// Those in such a list, if their descriptors have this form.
        fn of_member(member: &Member) -> Option<&Arc<ViQueues<Self>>>
        where
            Self: Sized;
    }
}

impl sealed::Listed for Descriptor {
    fn member(queues: Arc<ViQueues<Self>>) -> Member {
        Member::Owned(queues)
    }

    fn of_member(member: &Member) -> Option<&Arc<ViQueues<Self>>> {
        match member {
            Member::Owned(queues) => Some(queues),
            Member::Raw(_) => None,
        }
    }
}

impl sealed::Listed for RawDescriptor {
    fn member(queues: Arc<ViQueues<Self>>) -> Member {
        Member::Raw(queues)
    }

    #[inline]
    fn of_member(member: &Member) -> Option<&Arc<ViQueues<Self>>> {
        match member {
            Member::Raw(queues) => Some(queues),
            Member::Owned(_) => None,
        }
    }
}
