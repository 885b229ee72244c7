//! Extensions of the data path: several descriptors in one call.

use std::ffi::c_ulong;

use via::{Direction, Return};

use crate::{
    entry::{call, code, Out},
    types::{DescriptorPtr, MemHandle, Pvoid, VipReturn},
    vi::VIS,
};

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
