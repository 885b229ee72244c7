//! Descriptors are posted, and taken off their queues when they are complete.

use std::{ptr::NonNull, time::Duration};

use super::{Direction, Vi};
use viaduct_driver::queues::lock::Held;

use crate::{
    form::RawDescriptor,
    queue::{Queue, Try},
    registered::Found,
    Descriptor, Error, Region,
};

impl Vi {
    /// Posts a send (VipPostSend).
    ///
    /// # Errors
    /// [`Error::Overrun`] when the queue is full; memory of another NIC; the device's errors. The
    /// rest is in the descriptor when it completes.
    pub fn post_send(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.post(&self.send, descriptor)
    }

    /// Posts a receive (VipPostRecv). When it returns, the receive counts as posted: a message that
    /// arrives later finds it.
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    pub fn post_recv(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.post(&self.receive, descriptor)
    }

    /// Takes the oldest send off the queue if it is complete (VipSendDone).
    ///
    /// # Errors
    /// [`Error::NotDone`]; [`Error::Descriptor`] with the descriptor when it completed in error;
    /// [`Error::Empty`] when nothing is posted; now and then, the device's errors.
    pub fn send_done(&self) -> Result<Descriptor, Error> {
        judged(self.done(Direction::Send)?)
    }

    /// Takes the oldest receive off the queue if it is complete (VipRecvDone): as [`Vi::send_done`].
    pub fn recv_done(&self) -> Result<Descriptor, Error> {
        judged(self.done(Direction::Receive)?)
    }

    /// Waits until the oldest send is complete (VipSendWait): [`Vi::wait`].
    ///
    /// # Errors
    /// As [`Vi::send_done`], and [`Error::Timeout`] in place of [`Error::NotDone`]; [`Error::HasCq`]: with a completion
    /// queue one waits for that ([`crate::Cq::wait`]).
    pub fn send_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        judged(self.wait(Direction::Send, timeout)?)
    }

    /// Waits until the oldest receive is complete (VipRecvWait): as [`Vi::send_wait`].
    pub fn recv_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        judged(self.wait(Direction::Receive, timeout)?)
    }

    fn post(&self, queue: &Queue<Descriptor>, descriptor: Descriptor) -> Result<(), Error> {
        if !descriptor.region().nic().is(&self.nic) {
            return Err(Error::OtherNic);
        }
        let flushed = queue.post(&self.vi, descriptor, |sends| self.release(sends))?;
        self.flushed(queue.direction(), flushed.into())
    }
}

impl Vi<RawDescriptor> {
    /// Posts the descriptor at `address` of `region` that the program has written there.
    ///
    /// # Errors
    /// As [`Vi::post_send`]; an address that is not in the region, or no multiple of 64.
    ///
    /// # Safety
    /// Until the descriptor is off the queue again, or its region is deregistered, or the VI is gone, its memory stays mapped and
    /// is the library's and the NIC's.
    pub unsafe fn post_at(
        &self,
        direction: Direction,
        region: &Region,
        address: NonNull<u8>,
    ) -> Result<(), Error> {
        if !region.nic().is(&self.nic) {
            return Err(Error::OtherNic);
        }
        // SAFETY: the caller's promise.
        self.post_raw(direction, unsafe { RawDescriptor::new(region, address) }?)
    }

    /// [`Vi::post_at`], in the region of this VI's NIC that has a handle. A receive may have to wait until the device has its doorbell; the region
    /// may be deregistered meanwhile.
    ///
    /// # Errors
    /// As [`Vi::post_at`]; [`Error::NoRegion`].
    ///
    /// # Safety
    /// As [`Vi::post_at`].
    pub unsafe fn post_in(
        &self,
        direction: Direction,
        handle: u32,
        address: NonNull<u8>,
    ) -> Result<(), Error> {
        let found = self.nic.registered().find(handle).unwrap_or_default();
        // SAFETY: the caller's promise.
        let descriptor = unsafe { RawDescriptor::of(&found, handle, address.as_ptr()) };
        let (descriptor, _) = descriptor.ok_or(Error::NoRegion { handle, address: address.addr().get() })?;
        self.queue(direction).look().found = found;
        self.post_raw(direction, descriptor)
    }

    fn post_raw(&self, direction: Direction, descriptor: RawDescriptor) -> Result<(), Error> {
        let flushed = self.queue(direction).post(&self.vi, descriptor, |sends| self.release(sends))?;
        self.flushed(direction, flushed.into())
    }

    /// [`Vi::post_in`] for a caller that holds the queue's lock: it does the usual, or nothing. `Done(false)`: it is posted, and
    /// [`Vi::wake_poller`] is due.
    ///
    /// # Safety
    /// As [`Vi::post_at`]; `held` is the lock of this queue that the VI was created with, and this is no child of the process that did so.
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

    /// [`Vi::done`] for a caller that holds the queue's lock: it does the usual, or nothing. The descriptor's address, and whether it
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

    /// From now on the caller hears of each post: [`Vi::try_post`] makes none.
    pub fn tell_posts(&self, direction: Direction) {
        self.queue(direction).look().tell();
    }

    /// Wakes the process that polls its doorbells, after a post that found it asleep.
    ///
    /// # Errors
    /// That process is gone.
    #[cold]
    pub fn wake_poller(&self) -> Result<(), Error> {
        Ok(self.vi.wake_poller()?)
    }
}

/// An error of the descriptor's is one of the call's.
fn judged(descriptor: Descriptor) -> Result<Descriptor, Error> {
    if descriptor.status().is_error() {
        return Err(Error::Descriptor(Box::new(descriptor)));
    }
    Ok(descriptor)
}
