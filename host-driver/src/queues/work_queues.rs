//! The two work queues of a VI.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
};

use viaduct_spec::doorbell::{arm, page};

use super::{
    doorbells::{Bell, Doorbells},
    ring::Ring,
    Direction,
};
use crate::device::DeviceError;

/// The send and the receive queue of a VI: what posts and looks need.
pub struct WorkQueues {
    send: Ring,
    receive: Ring,
    /// Interrupt vectors of the send and the receive queue.
    vectors: [u8; 2],
    doorbells: Doorbells,
    /// Doorbells of the send and the receive queue that are memory, in `doorbells`.
    bells: [Option<Bell>; 2],
    /// Arm words so far.
    arms: AtomicU32,
}

/// A doorbell of a VI's that is memory.
#[derive(Debug, Clone, Copy)]
pub struct ViBell<'a>(&'a Bell);

impl ViBell<'_> {
    /// Rings. Whether somebody has heard it.
    #[inline]
    pub fn ring(self, token: u64) -> bool {
        // SAFETY: its page is the work queues', which are borrowed.
        unsafe { self.0.ring(token) }
    }
}

impl WorkQueues {
    /// Of these rings and this doorbell page; `vectors` are the interrupt vectors of the send and the receive queue.
    pub fn new(send: Ring, receive: Ring, vectors: [u8; 2], doorbells: Doorbells) -> Self {
        let bells = [page::SEND, page::RECEIVE].map(|offset| doorbells.bell(offset));
        Self { send, receive, vectors, doorbells, bells, arms: AtomicU32::new(0) }
    }

    /// One of the rings.
    #[inline]
    pub fn ring(&self, direction: Direction) -> &Ring {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    /// A queue's doorbell, if it is memory: ringing it is a store, and waits for nothing. If nobody hears it, [`WorkQueues::wake_poller`] is
    /// due.
    #[inline]
    pub fn bell(&self, direction: Direction) -> Option<ViBell<'_>> {
        Some(ViBell(self.bells[usize::from(direction == Direction::Receive)].as_ref()?))
    }

    /// Wakes whoever looks at the doorbells.
    ///
    /// # Errors
    /// Nobody does any more.
    #[cold]
    pub fn wake_poller(&self) -> Result<(), DeviceError> {
        self.doorbells.wake()
    }

    /// Whether this is the process that they were made in, and no child of a fork.
    ///
    /// # Errors
    /// It is a child.
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.doorbells.check_process()
    }

    /// Rings a doorbell: one 8-byte store to the VI's page. The ring slot is written before.
    ///
    /// # Errors
    /// The device's.
    pub fn ring_doorbell(&self, direction: Direction, token: u64) -> Result<(), DeviceError> {
        match direction {
            Direction::Send => self.doorbells.store(page::SEND, token),
            // A receive counts as posted from now on: a peer that hears of it must find it.
            Direction::Receive => self.doorbells.store_taken(page::RECEIVE, token),
        }
    }

    /// Asks for one interrupt of a queue's [`WorkQueues::vector`]: when the descriptor at `position` is complete, or at
    /// once if it is. Whoever sleeps has read the vector's generation before: [`crate::wait::Vectors::sleep`].
    ///
    /// # Errors
    /// The device's.
    pub fn arm(&self, direction: Direction, position: u16) -> Result<(), DeviceError> {
        let offset = match direction {
            Direction::Send => page::SEND_ARM,
            Direction::Receive => page::RECEIVE_ARM,
        };
        let mut word = [0];
        arm::POSITION.put(&mut word, u64::from(position) & arm::POSITION.mask());
        arm::SEQUENCE.put(&mut word, self.arms.fetch_add(1, Ordering::Relaxed).wrapping_add(1).into());
        self.doorbells.store(offset, word[0])
    }

    /// The interrupt vector of a queue's completions.
    pub fn vector(&self, direction: Direction) -> u8 {
        self.vectors[usize::from(direction == Direction::Receive)]
    }
}

impl fmt::Debug for WorkQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueues").field("vectors", &self.vectors).finish_non_exhaustive()
    }
}
