//! Extensions of the data path: several descriptors in one call.

use std::ffi::c_ulong;

use via::{Completion, Direction, RawDescriptor, Return, Try};

use crate::{
    cq::{CQS, LOOK},
    entry::{call, code, value, Out},
    extras::user_data,
    types::{DescriptorPtr, ExtCompletion, MemHandle, Pvoid, VipReturn},
    vi::VIS,
};

/// Completions that are taken under one hold of a completion queue's lock: they are put into the program's memory when nothing is locked any more.
const TURN: usize = 16;

/// VipExtPostSendMany and VipExtPostRecvMany.
///
/// # Safety
/// vipl_ext.h: `count` descriptors and handles, a place for a number, and what VipPostSend wants of each descriptor.
unsafe fn post_many(
    direction: Direction,
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
        let (count, outcome) = unsafe { vi.vi.post_in_many(direction, places) };
        out.put(count as c_ulong);
        if count > 0 {
            vi.notifier(direction).poke();
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
    unsafe { post_many(Direction::Send, vi, descriptors, handles, count, posted) }
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
    unsafe { post_many(Direction::Receive, vi, descriptors, handles, count, posted) }
}

/// Completions into `found`: at once, if nothing stands against it, else [`poll_general`].
fn poll(cq: Pvoid, found: &mut [Option<Completion<RawDescriptor>>]) -> Result<usize, Return> {
    if let Some(mut entered) = CQS.try_enter(cq, LOOK) {
        let (thing, held) = entered.parts();
        // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
        let polled = unsafe { thing.cq.try_poll(held, found) };
        drop(entered);
        match polled {
            Try::Done(count) => return Ok(count),
            Try::Nothing => return Ok(0),
            Try::Unusual => {}
        }
    }
    poll_general(cq, found)
}

#[cold]
#[inline(never)]
fn poll_general(cq: Pvoid, found: &mut [Option<Completion<RawDescriptor>>]) -> Result<usize, Return> {
    value(Err(Return::ErrorResource), || Some(CQS.get(cq).and_then(|cq| cq.cq.poll(found).map_err(code))))
}

/// A completion as programs have it.
fn told(completion: &Completion<RawDescriptor>) -> ExtCompletion {
    ExtCompletion {
        // The VI is called by its handle.
        vi: std::ptr::without_provenance_mut(completion.vi.number() as usize),
        context: user_data(completion.context),
        descriptor: completion.descriptor.address().as_ptr().cast(),
        receive: (completion.direction == Direction::Receive).into(),
    }
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
    let (mut taken, mut answer) = (0, Return::Success);
    while taken < room as usize {
        let mut found = [const { None }; TURN];
        let turn = TURN.min(room as usize - taken);
        let new = match poll(cq, &mut found[..turn]) {
            Ok(new) => new,
            // It comes again, when there is nothing before it.
            Err(_) if taken > 0 => break,
            Err(error) => {
                answer = error;
                break;
            }
        };
        for completion in found[..new].iter().flatten() {
            // SAFETY: vipl_ext.h: there is room for so many, which need not be aligned.
            unsafe { completions.add(taken).write_unaligned(told(completion)) };
            taken += 1;
        }
        if new < turn {
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
