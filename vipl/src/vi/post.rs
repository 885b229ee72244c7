//! Descriptors are posted, and taken off their queues when they are complete.

use std::{ptr::NonNull, time::Duration};

use super::{Direction, Vi};
use crate::{form::RawDescriptor, queue::Queue, Descriptor, Error, Region};

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
        // SAFETY: the caller's promise.
        unsafe { self.post_raw(direction, self.describe_at(region, address)?) }
    }

    /// The first half of [`Vi::post_at`]: nothing is waited for, and the region may be let go of.
    ///
    /// # Errors
    /// As [`Vi::post_at`]; of the queue and the device [`Vi::post_raw`] speaks.
    ///
    /// # Safety
    /// As [`Vi::post_at`], from now on.
    pub unsafe fn describe_at(&self, region: &Region, address: NonNull<u8>) -> Result<RawDescriptor, Error> {
        if !region.nic().is(&self.nic) {
            return Err(Error::OtherNic);
        }
        // SAFETY: the caller's promise.
        unsafe { RawDescriptor::new(region, address) }
    }

    /// The second half: posts it. A receive may have to wait until the device has its doorbell.
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    ///
    /// # Safety
    /// As [`Vi::post_at`]; [`Vi::describe_at`] of this VI has just made it.
    pub unsafe fn post_raw(&self, direction: Direction, descriptor: RawDescriptor) -> Result<(), Error> {
        let flushed = self.queue(direction).post(&self.vi, descriptor, |sends| self.release(sends))?;
        self.flushed(direction, flushed.into())
    }
}

/// An error of the descriptor's is one of the call's.
fn judged(descriptor: Descriptor) -> Result<Descriptor, Error> {
    if descriptor.status().is_error() {
        return Err(Error::Descriptor(Box::new(descriptor)));
    }
    Ok(descriptor)
}
