//! VIs and completion queues that no two threads use at one time: their calls take no atomic exchange, which is most of what a post takes.
//!
//! They are of the same types as others, and so [`Sync`]: a VI that one thread has may be connected by a queue of connections in another one, and a
//! completion queue leads to its VIs. No type says which of these calls go on at one time. So the program promises it, by `unsafe`.

use viaduct_driver::queues::locked::Place;

use crate::{Cq, Error, Nic, Vi, ViAttributes, ViId, ViSlot};

/// The place of a lock of its own.
///
/// # Safety
/// As [`Place::unshared`].
unsafe fn unshared() -> Place {
    // SAFETY: the caller's promise.
    unsafe { Place::default().unshared() }
}

impl Nic {
    /// [`Nic::create_vi`], for a VI that no two threads use at one time. A call that finds another one in a queue of the VI ends the process with a
    /// message; not every such call does.
    ///
    /// # Errors
    /// As [`Nic::create_vi`].
    ///
    /// # Safety
    /// No two threads are in calls of the VI at one time, until it is dropped; the drop is a call, too. One thread may hand it over to another in any way
    /// that orders memory. These are calls of the VI:
    ///
    /// * those of [`Vi`], but not [`Vi::wake`];
    /// * [`Cq::poll`] of a completion queue that the VI has;
    /// * those that connect it: they are given it, or belong to what was ([`crate::connections::PeerRequest`]: also its drop);
    /// * if a [`crate::connections::ConnectionQueue`] connects it, [`crate::connections::ConnectionQueue::next`] and the queue's drop, until
    ///   [`Connected`](crate::connections::ConnectionEvent::Connected) or [`Failed`](crate::connections::ConnectionEvent::Failed) has been taken of it.
    ///
    /// The library's own threads make none of them.
    pub unsafe fn create_vi_unshared(&self, attributes: &ViAttributes) -> Result<Vi, Error> {
        // SAFETY: the caller's promise: the queues are reached by these calls alone.
        let locks = unsafe { [unshared(), unshared()] };
        self.create_vi_at(attributes, ViSlot { id: ViId::new(), locks })
    }

    /// [`Nic::create_cq`], for a completion queue that no two threads use at one time, as [`Nic::create_vi_unshared`].
    ///
    /// # Errors
    /// As [`Nic::create_cq`].
    ///
    /// # Safety
    /// No two threads are in calls of the queue at one time, until it is dropped; the last drop is a call, too. One thread may hand it over to another in any way
    /// that orders memory. These are calls of the queue:
    ///
    /// * those of [`Cq`], but not [`Cq::wake`];
    /// * of a VI that has it those that create, connect, disconnect and drop the VI, that set its attributes, and that post to it while it is being
    ///   connected.
    pub unsafe fn create_cq_unshared(&self, entries: usize) -> Result<Cq, Error> {
        // SAFETY: the caller's promise: the queue is reached by these calls alone.
        self.create_cq_at(entries, unsafe { unshared() })
    }
}
