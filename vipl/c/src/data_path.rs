//! Extensions of the data path: several descriptors in one call.

use std::{ffi::c_ulong, mem::MaybeUninit};

use via::{Completion, Direction, RawDescriptor, Return, Try};

use crate::{
    cq::{CQS, LOOK},
    entry::{call, code, value, Out},
    extras::user_data,
    slots::is_unshared,
    types::{DescriptorPtr, ExtCompletion, MemHandle, Pvoid, VipReturn},
    vi::{RECEIVE, SEND, VIS},
    work_queues::direction,
};

/// Completions that are taken under one hold of a completion queue's lock: they are put into the program's memory when nothing is locked any more.
const TURN: usize = 16;

/// VipExtPostSendMany and VipExtPostRecvMany.
///
/// # Safety
/// vipl_ext.h: `count` descriptors and handles, a place for a number, and what VipPostSend wants of each descriptor.
unsafe fn post_many<const QUEUE: usize>(
    vi: Pvoid,
    descriptors: *const DescriptorPtr,
    handles: *const MemHandle,
    count: c_ulong,
    posted: *mut c_ulong,
) -> VipReturn {
    call(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(posted) }?;
        out.put(0);
        let vi = VIS.get(vi)?;
        if count > 0 && (descriptors.is_null() || handles.is_null()) {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: the caller's promise: there are so many of both, which need not be aligned.
        let handle = |n: usize| unsafe { handles.add(n).read_unaligned() };
        // SAFETY: as above.
        let descriptor = |n: usize| unsafe { descriptors.add(n).read_unaligned() }.cast();
        let places = (0..count as usize).map(|n| (handle(n), descriptor(n)));
        // SAFETY: vipl.h: a posted descriptor is the library's, and its memory stays, until it is taken off the queue.
        let (count, outcome) = unsafe { vi.vi.post_in_many(direction(QUEUE), places) };
        out.put(count as c_ulong);
        if count > 0 {
            vi.notifier(direction(QUEUE)).poke();
        }
        outcome.map_err(code)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtPostSendMany(
    vi: Pvoid,
    descriptors: *const DescriptorPtr,
    handles: *const MemHandle,
    count: c_ulong,
    posted: *mut c_ulong,
) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { post_many::<SEND>(vi, descriptors, handles, count, posted) }
}

#[no_mangle]
pub unsafe extern "C" fn VipExtPostRecvMany(
    vi: Pvoid,
    descriptors: *const DescriptorPtr,
    handles: *const MemHandle,
    count: c_ulong,
    posted: *mut c_ulong,
) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { post_many::<RECEIVE>(vi, descriptors, handles, count, posted) }
}

/// Completions that were taken, and how many.
struct Found {
    completions: [MaybeUninit<ExtCompletion>; TURN],
    count: usize,
}

impl Found {
    /// One more, of [`TURN`] at most.
    #[inline(always)]
    fn put(&mut self, completion: &Completion<RawDescriptor>) {
        if let Some(place) = self.completions.get_mut(self.count) {
            place.write(ExtCompletion {
                // The VI is called by its handle.
                vi: std::ptr::without_provenance_mut(completion.vi.number() as usize),
                context: user_data(completion.context),
                descriptor: completion.descriptor.address().as_ptr().cast(),
                receive: (completion.direction == Direction::Receive).into(),
            });
            self.count += 1;
        }
    }

    /// Copies them to memory of the program's.
    ///
    /// # Safety
    /// There is room for all, which need not be aligned.
    #[inline(always)]
    unsafe fn copy(&self, to: *mut ExtCompletion) {
        for (n, completion) in self.completions.iter().take(self.count).enumerate() {
            // SAFETY: it has been put there; and the caller's promise.
            unsafe { to.add(n).write_unaligned(completion.assume_init()) };
        }
    }
}

/// Takes up to `most` completions: at once, if nothing stands against it, else by [`poll_general`].
///
/// # Safety
/// If `IS_UNSHARED`, the handle is that of an unshared queue.
#[inline(always)]
unsafe fn poll_as<const IS_UNSHARED: bool>(cq: Pvoid, most: usize, found: &mut Found) -> Result<(), Return> {
    // SAFETY: the caller's promise.
    if let Some(mut entered) = unsafe { CQS.try_enter::<IS_UNSHARED>(cq, LOOK) } {
        let (thing, held) = entered.parts();
        // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
        let polled = unsafe { thing.cq.try_poll_each(held, most, |completion| found.put(&completion)) };
        drop(entered);
        if polled != Try::Unusual {
            return Ok(());
        }
    }
    poll_general(cq, most, found)
}

/// [`poll_as`] of an unshared queue.
///
/// # Safety
/// The handle is that of one.
#[inline(never)]
unsafe fn poll_unshared(cq: Pvoid, most: usize, found: &mut Found) -> Result<(), Return> {
    // SAFETY: the caller's promise.
    unsafe { poll_as::<true>(cq, most, found) }
}

#[inline(always)]
fn poll(cq: Pvoid, most: usize, found: &mut Found) -> Result<(), Return> {
    match is_unshared(cq) {
        // SAFETY: so the handle says.
        true => unsafe { poll_unshared(cq, most, found) },
        // SAFETY: nothing is promised of it.
        false => unsafe { poll_as::<false>(cq, most, found) },
    }
}

#[cold]
#[inline(never)]
fn poll_general(cq: Pvoid, most: usize, found: &mut Found) -> Result<(), Return> {
    value(Err(Return::ErrorResource), || {
        let polled = CQS
            .get(cq)
            .and_then(|cq| cq.cq.poll_each(most, |completion| found.put(&completion)).map_err(code));
        Some(polled.map(drop))
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtCQPoll(
    cq: Pvoid,
    completions: *mut ExtCompletion,
    room: c_ulong,
    count: *mut c_ulong,
) -> VipReturn {
    if completions.is_null() || count.is_null() || room == 0 {
        return Return::InvalidParameter as VipReturn;
    }
    let room = room as usize;
    let (mut taken, mut answer) = (0, Return::Success);
    while taken < room {
        let mut found = Found { completions: [const { MaybeUninit::uninit() }; TURN], count: 0 };
        let most = TURN.min(room - taken);
        if let Err(error) = poll(cq, most, &mut found) {
            // It comes again, when there is nothing before it.
            answer = if taken == 0 { error } else { Return::Success };
            break;
        }
        // SAFETY: vipl_ext.h: there is room for so many.
        unsafe { found.copy(completions.add(taken)) };
        taken += found.count;
        if found.count < most {
            break;
        }
    }
    if taken == 0 && answer == Return::Success {
        answer = Return::NotDone;
    }
    // SAFETY: vipl_ext.h: a place for it, which need not be aligned.
    unsafe { count.write_unaligned(taken as c_ulong) };
    answer as VipReturn
}
