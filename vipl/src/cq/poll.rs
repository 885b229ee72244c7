//! Descriptors that are complete, by a completion queue, several at a time.

use std::sync::Arc;

use viaduct_driver::queues::lock::Held;

use super::{entry::Taken, state::State, Cq};
use crate::{
    queue::Try,
    ring::Popped,
    vi_queues::{Form, ViQueues},
    Descriptor, Direction, Error, ViId,
};

/// A descriptor that is complete and off its work queue.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion<D = Descriptor> {
    /// The VI: [`crate::Vi::id`].
    pub vi: ViId,
    /// The word that the program has given the VI: [`crate::ViAttributes::context`].
    pub context: u64,
    /// The work queue that it was on.
    pub direction: Direction,
    /// The descriptor, also if it completed in error, which its status says.
    pub descriptor: D,
}

impl Completion {
    /// The descriptor as `send_done` or `recv_done` gives it.
    ///
    /// # Errors
    /// [`Error::Descriptor`], with the descriptor, if it completed in error.
    pub fn into_result(self) -> Result<Descriptor, Error> {
        self.descriptor.judged()
    }
}

impl Cq {
    /// Takes entries and the descriptors that they tell of, the oldest first, until `out` is full or nothing more is complete. How many: they are at the
    /// beginning of `out`, and None is behind them. What was in `out` is dropped. It does not wait for the NIC.
    ///
    /// Each descriptor is off its work queue, as if `send_done` or `recv_done` had taken it; one that completed in error, or flushed, is there like any
    /// other, and its status says so. A VI's descriptors come in the order in which they were posted to each of its queues, as long as one
    /// thread takes them.
    ///
    /// * Of an entry whose descriptor somebody has taken by `send_done` or `recv_done` nothing is left to give: it is passed over. Who mixes
    ///   the two ways hears of each descriptor once, and gives the completion queue room for the entries that stay meanwhile.
    /// * Of a VI that has been dropped there is nothing, as its entries have gone with it; a call that is under way beside the drop may still have
    ///   taken some.
    /// * While another thread works on a VI for long (it connects or disconnects it, say), the call waits for that VI, and not with the completion
    ///   queue's lock: other calls on the queue go on.
    ///
    /// ```no_run
    /// # use vipl::{Completion, Cq, Error};
    /// # fn turn(cq: &Cq) -> Result<(), Error> {
    /// let mut found: [Option<Completion>; 32] = [const { None }; 32];
    /// let count = cq.poll(&mut found)?;
    /// for completion in found[..count].iter_mut().filter_map(Option::take) {
    ///     let client = completion.context;
    ///     let descriptor = completion.into_result()?;
    ///     println!("client {client}: {} bytes", descriptor.length());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Only if it has taken nothing: [`Error::OtherForm`] when the oldest entry is of a VI whose descriptors have another form than `D`: the entry stays,
    /// for a call with that form or for [`Cq::done`]; now and then, the device's errors.
    pub fn poll<D: Form>(&self, out: &mut [Option<Completion<D>>]) -> Result<usize, Error> {
        // Before the lock is taken: a descriptor may be the last that keeps its memory registered.
        out.fill_with(|| None);
        let most = out.len();
        let mut places = out.iter_mut();
        self.poll_each(most, |completion| {
            if let Some(place) = places.next() {
                *place = Some(completion);
            }
        })
    }

    /// [`Cq::poll`], which gives each completion to `each`, `most` at most. `each` runs with the queue's lock held: it calls nothing of the library's.
    ///
    /// # Errors
    /// As [`Cq::poll`].
    pub fn poll_each<D: Form>(
        &self,
        most: usize,
        mut each: impl FnMut(Completion<D>),
    ) -> Result<usize, Error> {
        let inner = &*self.0;
        let mut found = 0;
        let outcome = loop {
            let filled = inner.state.lock().fill(most, &mut found, &mut each);
            match filled {
                Ok(Some(Busy { queues, taken })) => {
                    // No lock is held: whoever has the work queue may want the completion queue's.
                    let popped = queues.queue(taken.direction()).pop();
                    give(&mut each, &mut found, &queues, taken.direction(), popped);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if found != 0 {
            // An error comes again, when there is nothing before it.
            inner.backoff.end();
            return Ok(found);
        }
        outcome?;
        match inner.backoff.count::<()>(&**inner.nic.agent(), None) {
            Err(Error::NotDone) | Ok(()) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// [`Cq::poll_each`] for a caller that holds the queue's lock: it does the usual, or nothing.
    ///
    /// # Safety
    /// `held` is the lock that the queue was created with, and this is no child of the process that did so.
    #[inline]
    pub unsafe fn try_poll_each<D: Form>(
        &self,
        held: &mut Held<'_>,
        most: usize,
        mut each: impl FnMut(Completion<D>),
    ) -> Try<usize> {
        let inner = &*self.0;
        // SAFETY: the caller's promise.
        let state = unsafe { inner.state.held(held) };
        let mut found = 0;
        match state.fill(most, &mut found, &mut each) {
            Ok(None) if found == 0 => {
                // SAFETY: the queue has the NIC, which has the agent.
                let is_silent = !unsafe { inner.ends.have_come() } && inner.backoff.is_silent();
                return if is_silent { Try::Nothing } else { Try::Unusual };
            }
            // Somebody has the work queue, and may want the lock that the caller holds: its entry is the next call's.
            Ok(Some(Busy { taken, .. })) => state.entries.push_front(taken),
            // An error comes again, when there is nothing before it.
            Ok(None) | Err(_) => {}
        }
        if found == 0 {
            return Try::Unusual;
        }
        inner.backoff.end();
        Try::Done(found)
    }
}

/// An entry has been taken, and its work queue is somebody else's at the moment.
struct Busy<D> {
    queues: Arc<ViQueues<D>>,
    taken: Taken,
}

impl State {
    /// Gives what is complete to `each`, until `found` is `most` or nothing more is complete: None. It waits for no work queue: [`Busy`].
    ///
    /// # Errors
    /// As [`Cq::poll`].
    #[inline]
    fn fill<D: Form>(
        &mut self,
        most: usize,
        found: &mut usize,
        each: &mut impl FnMut(Completion<D>),
    ) -> Result<Option<Busy<D>>, Error> {
        self.cq.check_process()?;
        while *found < most {
            let taken = match self.try_take() {
                Try::Done(taken) => taken,
                Try::Nothing => break,
                Try::Unusual => match self.take()? {
                    Some(taken) => taken,
                    None => break,
                },
            };
            let Some(member) = self.members.get(usize::from(taken.index)).and_then(Option::as_ref) else {
                continue;
            };
            let Some(queues) = D::of_member(member) else {
                self.entries.push_front(taken);
                return Err(Error::OtherForm);
            };
            let Some(popped) = queues.queue(taken.direction()).try_pop() else {
                return Ok(Some(Busy { queues: Arc::clone(queues), taken }));
            };
            give(each, found, queues, taken.direction(), popped);
        }
        Ok(None)
    }
}

/// Gives what was at the head of a queue to `each`, if it is complete.
#[inline(always)]
fn give<D>(
    each: &mut impl FnMut(Completion<D>),
    found: &mut usize,
    queues: &ViQueues<D>,
    direction: Direction,
    popped: Popped<D>,
) {
    if let Popped::Thing(descriptor) = popped {
        let (vi, context) = (queues.id(), queues.context());
        each(Completion { vi, context, direction, descriptor });
        *found += 1;
    }
}
