//! Descriptors are posted, and taken off their queues when they are complete.

use std::{collections::VecDeque, iter::once, ptr::NonNull, time::Duration};

use super::Vi;
use crate::{
    form::RawDescriptor,
    queue::{Posted, Progress},
    registered::Found,
    vi_queues::Form,
    Descriptor, Direction, Error, Region,
};

impl Vi {
    /// Posts a send (VipPostSend).
    ///
    /// # Errors
    /// [`Error::Overrun`] when the queue is full; memory of another NIC; the device's errors. The
    /// rest is in the descriptor when it completes.
    pub fn post_send(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.post(Direction::Send, descriptor)
    }

    /// Posts sends, the front one first, with one doorbell for all of them. What is posted is off `descriptors`: after `Ok` nothing is left there.
    ///
    /// An error is of the descriptor at the front of what is left. Those before it are posted, and their doorbell is rung; it and those behind it are
    /// the caller's, as they were. One who posts more than the queue has room for calls again with what is left when something has completed. (If the
    /// doorbell itself fails, because the device is gone, what it was for is off `descriptors`: the NIC may have found it all the same.)
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    pub fn post_send_many(&self, descriptors: &mut VecDeque<Descriptor>) -> Result<(), Error> {
        self.post_many(Direction::Send, descriptors)
    }

    /// Posts a receive (VipPostRecv). When it returns, the receive counts as posted: a message that
    /// arrives later finds it.
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    pub fn post_recv(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.post(Direction::Receive, descriptor)
    }

    /// Posts receives, as [`Vi::post_send_many`] posts sends. When it returns, all that it has posted count as posted: through viad it waits once for
    /// all of them.
    ///
    /// # Errors
    /// As [`Vi::post_send`].
    pub fn post_recv_many(&self, descriptors: &mut VecDeque<Descriptor>) -> Result<(), Error> {
        self.post_many(Direction::Receive, descriptors)
    }

    /// Takes the oldest send off the queue if it is complete (VipSendDone).
    ///
    /// # Errors
    /// [`Error::NotDone`]; [`Error::Descriptor`] with the descriptor when it completed in error;
    /// [`Error::Empty`] when nothing is posted; now and then, the device's errors.
    pub fn send_done(&self) -> Result<Descriptor, Error> {
        self.done(Direction::Send)?.judged()
    }

    /// Takes the oldest receive off the queue if it is complete (VipRecvDone): as [`Vi::send_done`].
    pub fn recv_done(&self) -> Result<Descriptor, Error> {
        self.done(Direction::Receive)?.judged()
    }

    /// Waits until the oldest send is complete (VipSendWait): [`Vi::wait`].
    ///
    /// # Errors
    /// As [`Vi::send_done`], and [`Error::Timeout`] in place of [`Error::NotDone`]; [`Error::HasCq`]: with a completion
    /// queue one waits for that ([`crate::Cq::wait`]).
    pub fn send_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        self.wait(Direction::Send, timeout)?.judged()
    }

    /// Waits until the oldest receive is complete (VipRecvWait): as [`Vi::send_wait`].
    pub fn recv_wait(&self, timeout: Option<Duration>) -> Result<Descriptor, Error> {
        self.wait(Direction::Receive, timeout)?.judged()
    }

    fn post(&self, direction: Direction, descriptor: Descriptor) -> Result<(), Error> {
        if !self.is_of_nic(&descriptor) {
            return Err(Error::OtherNic);
        }
        let mut one = Some(descriptor);
        self.post_next(direction, 1, |_| one.take().map(with_token)).1
    }

    fn post_many(&self, direction: Direction, descriptors: &mut VecDeque<Descriptor>) -> Result<(), Error> {
        let count = descriptors.len();
        let next = |_: &mut Found| match self.is_of_nic(descriptors.front()?) {
            true => descriptors.pop_front().map(with_token),
            false => Some(Err(Error::OtherNic)),
        };
        self.post_next(direction, count, next).1
    }

    /// Whether the memory of a descriptor is registered with the VI's NIC.
    fn is_of_nic(&self, descriptor: &Descriptor) -> bool {
        std::ptr::eq(descriptor.memory().table(), self.queues.nic.registered())
    }
}

impl<D: Form> Vi<D> {
    /// Posts what `next` makes, `count` at most, with one doorbell. How many are posted, also beside an error: those before it.
    fn post_next(
        &self,
        direction: Direction,
        count: usize,
        next: impl FnMut(&mut Found) -> Option<Result<(D, u64), Error>>,
    ) -> (usize, Result<(), Error>) {
        let mut progress = Progress::default();
        let queue = self.queues.queue(direction);
        let release = |sends: &mut Posted<D>| self.release(sends);
        let posted = queue.post(&self.queues.vi, direction, count, next, release, &mut progress);
        let told = self.flushed(direction, progress.flushed);
        (progress.posted, posted.and(told))
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
        if !region.nic().is(&self.queues.nic) {
            return Err(Error::OtherNic);
        }
        // SAFETY: the caller's promise.
        let mut one = Some(unsafe { region.raw_descriptor(address) }?);
        self.post_next(direction, 1, |_| one.take().map(with_token)).1
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
        // SAFETY: the caller's promise.
        unsafe { self.post_in_many(direction, once((handle, address.as_ptr()))) }.1
    }

    /// [`Vi::post_in`] for each handle and address, in this order, with one doorbell for all of them. How many are posted: all, or those before the one
    /// that the error is of. (If the doorbell itself fails, because the device is gone, what it was for is posted all the same.)
    ///
    /// # Errors
    /// As [`Vi::post_in`], in the second part of the result.
    ///
    /// # Safety
    /// As [`Vi::post_at`], of each address that is posted.
    pub unsafe fn post_in_many(
        &self,
        direction: Direction,
        mut places: impl ExactSizeIterator<Item = (u32, *mut u8)>,
    ) -> (usize, Result<(), Error>) {
        self.post_next(direction, places.len(), |found| {
            let (handle, address) = places.next()?;
            // SAFETY: the caller's promise; the queue keeps what a post to this VI has found.
            Some(unsafe { self.describe(found, handle, address) })
        })
    }

    /// The descriptor at an address, with its token, in the registration that was found, or in another one, which is the one that was found then.
    ///
    /// # Safety
    /// As [`Vi::post_at`]; what was found is of this VI's NIC.
    #[inline(always)]
    unsafe fn describe(
        &self,
        found: &mut Found,
        handle: u32,
        address: *mut u8,
    ) -> Result<(RawDescriptor, u64), Error> {
        // SAFETY: the caller's promise.
        match unsafe { RawDescriptor::of(found, handle, address) } {
            Some(described) => Ok(described),
            // SAFETY: as above.
            None => unsafe { self.describe_elsewhere(found, handle, address) },
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn describe_elsewhere(
        &self,
        found: &mut Found,
        handle: u32,
        address: *mut u8,
    ) -> Result<(RawDescriptor, u64), Error> {
        let other = self.queues.nic.registered().find(handle).unwrap_or_default();
        // SAFETY: the caller's promise.
        let described = unsafe { RawDescriptor::of(&other, handle, address) };
        let described = described.ok_or(Error::NoRegion { handle, address: address.addr() })?;
        *found = other;
        Ok(described)
    }

    /// From now on the caller hears of each post: [`crate::ViQueues::try_post`] makes none.
    pub fn tell_posts(&self, direction: Direction) {
        self.queues.queue(direction).look().tell();
    }

    /// Wakes the process that polls its doorbells, after a post that found it asleep.
    ///
    /// # Errors
    /// That process is gone.
    #[cold]
    pub fn wake_poller(&self) -> Result<(), Error> {
        Ok(self.queues.vi.queues().wake_poller()?)
    }
}

/// A descriptor, with its token at ring position 0.
fn with_token<D: Form>(descriptor: D) -> Result<(D, u64), Error> {
    let token = descriptor.token();
    Ok((descriptor, token))
}
