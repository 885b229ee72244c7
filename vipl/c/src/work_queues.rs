//! Posting descriptors, and taking them when they are complete.

use std::{
    ffi::c_ulong,
    ptr::{null_mut, NonNull},
    sync::{atomic::AtomicBool, Arc},
};

use via::{Direction, Error, RawDescriptor, Return, Try};

use crate::{
    entry::{call, code, timeout, Out},
    notify::{self, Notified, Notifier},
    slots::is_unshared,
    types::{DescriptorPtr, MemHandle, Pvoid, ViCallback, VipReturn},
    vi::{Vi, RECEIVE, SEND, VIS},
};

/// Which queue of a VI it is: [`SEND`] or [`RECEIVE`].
pub const fn direction(queue: usize) -> Direction {
    match queue {
        SEND => Direction::Send,
        _ => Direction::Receive,
    }
}

/// A post, if nothing stands against it. `ELSEWHERE`: its descriptor is in another region than that of the post before.
///
/// # Safety
/// vipl.h. If `IS_UNSHARED`, the handle is that of an unshared VI.
#[inline(always)]
unsafe fn try_post<const QUEUE: usize, const IS_UNSHARED: bool, const ELSEWHERE: bool>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> Option<VipReturn> {
    // SAFETY: the caller's promise.
    let mut entered = unsafe { VIS.try_enter::<IS_UNSHARED>(vi, QUEUE) }?;
    let (queues, held) = entered.parts();
    // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
    if ELSEWHERE && !unsafe { queues.try_find(direction(QUEUE), held, handle) } {
        return None;
    }
    // SAFETY: vipl.h: a posted descriptor is the library's, and its memory stays, until it is taken off the queue. And as above.
    match unsafe { queues.try_post(direction(QUEUE), held, handle, descriptor.cast()) } {
        Try::Done(true) => Some(Return::Success as VipReturn),
        Try::Done(false) => {
            let vi = entered.handle();
            drop(entered);
            Some(wake_poller(vi))
        }
        _ => None,
    }
}

/// A post at once, if nothing stands against it, else [`post_elsewhere`].
///
/// # Safety
/// As [`try_post`].
#[inline(always)]
unsafe fn post_as<const QUEUE: usize, const IS_UNSHARED: bool>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> VipReturn {
    // SAFETY: the caller's promise.
    match unsafe { try_post::<QUEUE, IS_UNSHARED, false>(vi, descriptor, handle) } {
        Some(answer) => answer,
        // SAFETY: the caller's promise. What was entered has been left.
        None => unsafe { post_elsewhere::<QUEUE, IS_UNSHARED>(vi, descriptor, handle) },
    }
}

/// VipPostSend and VipPostRecv.
#[inline(always)]
unsafe fn post<const QUEUE: usize>(vi: Pvoid, descriptor: DescriptorPtr, handle: MemHandle) -> VipReturn {
    if is_unshared(vi) {
        // SAFETY: the caller's promise.
        return unsafe { post_as::<QUEUE, true>(vi, descriptor, handle) };
    }
    // SAFETY: the caller's promise.
    unsafe { post_as::<QUEUE, false>(vi, descriptor, handle) }
}

/// A post that is not like the one before: most likely its descriptor is in another region, which is found, and then it is at once, too. Else
/// [`post_general`].
#[cold]
#[inline(never)]
unsafe extern "C" fn post_elsewhere<const QUEUE: usize, const IS_UNSHARED: bool>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> VipReturn {
    // SAFETY: the caller's promise.
    match unsafe { try_post::<QUEUE, IS_UNSHARED, true>(vi, descriptor, handle) } {
        Some(answer) => answer,
        // SAFETY: as in `post_as`.
        None => unsafe { post_general::<QUEUE>(vi, descriptor, handle) },
    }
}

/// Something was posted: whoever polls its doorbell is woken for it.
#[cold]
#[inline(never)]
extern "C" fn wake_poller(vi: Pvoid) -> VipReturn {
    // Without the VI the descriptor is no longer posted, and nobody sleeps for it.
    call(|| VIS.get(vi).map_or(Ok(()), |vi| vi.vi.wake_poller().map_err(code)))
}

#[cold]
#[inline(never)]
unsafe extern "C" fn post_general<const QUEUE: usize>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi)?;
        let address = NonNull::new(descriptor.cast::<u8>()).ok_or(Return::InvalidParameter)?;
        // SAFETY: vipl.h: a posted descriptor is the library's, and its memory stays, until it is taken off the queue.
        unsafe { vi.vi.post_in(direction(QUEUE), handle, address) }.map_err(code)?;
        vi.notifier(direction(QUEUE)).poke();
        Ok(())
    })
}

/// The descriptor that a queue gave, and what a program hears of it.
fn tell(out: &Out<DescriptorPtr>, taken: Result<RawDescriptor, Error>) -> Result<(), Return> {
    match taken {
        Ok(descriptor) => {
            out.put(descriptor.address().as_ptr().cast());
            (!descriptor.status().is_error()).then_some(()).ok_or(Return::DescriptorError)
        }
        Err(error) => {
            out.put(null_mut());
            Err(code(error))
        }
    }
}

/// A look, at once, if nothing stands against it, else [`done_general`].
///
/// # Safety
/// vipl.h. If `IS_UNSHARED`, the handle is that of an unshared VI.
#[inline(always)]
unsafe fn done_as<const QUEUE: usize, const IS_UNSHARED: bool>(
    vi: Pvoid,
    descriptor: *mut DescriptorPtr,
) -> VipReturn {
    if !descriptor.is_null() {
        // SAFETY: the caller's promise.
        if let Some(mut entered) = unsafe { VIS.try_enter::<IS_UNSHARED>(vi, QUEUE) } {
            let (queues, held) = entered.parts();
            // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
            let taken = unsafe { queues.try_done(direction(QUEUE), held) };
            // Before the program's memory is touched: where that faults, its handler may use the queue.
            drop(entered);
            let (taken, code) = match taken {
                Try::Done((taken, false)) => (taken.as_ptr().cast(), Return::Success),
                Try::Done((taken, true)) => (taken.as_ptr().cast(), Return::DescriptorError),
                Try::Nothing => {
                    // SAFETY: vipl.h: a place for it, which need not be aligned.
                    unsafe { descriptor.write_unaligned(null_mut()) };
                    return Return::NotDone as VipReturn;
                }
                Try::Unusual => {
                    // SAFETY: the caller's promise.
                    return unsafe { done_general::<QUEUE>(vi, descriptor) };
                }
            };
            // SAFETY: as above.
            unsafe { descriptor.write_unaligned(taken) };
            return code as VipReturn;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { done_general::<QUEUE>(vi, descriptor) }
}

/// VipSendDone and VipRecvDone.
#[inline(always)]
unsafe fn done<const QUEUE: usize>(vi: Pvoid, descriptor: *mut DescriptorPtr) -> VipReturn {
    if is_unshared(vi) {
        // SAFETY: the caller's promise.
        return unsafe { done_as::<QUEUE, true>(vi, descriptor) };
    }
    // SAFETY: the caller's promise.
    unsafe { done_as::<QUEUE, false>(vi, descriptor) }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn done_general<const QUEUE: usize>(
    vi: Pvoid,
    descriptor: *mut DescriptorPtr,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(descriptor) }?;
        tell(&out, vi.vi.done(direction(QUEUE)))
    })
}

unsafe fn wait_for(
    direction: Direction,
    vi: Pvoid,
    time: c_ulong,
    descriptor: *mut DescriptorPtr,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(descriptor) }?;
        tell(&out, vi.vi.wait_unless(direction, timeout(time), &vi.dead))
    })
}

/// A work queue whose head is waited for.
struct Queue {
    vi: Arc<Vi>,
    direction: Direction,
}

impl Notified for Queue {
    type Handler = ViCallback;
    type Item = RawDescriptor;

    fn notifier(&self) -> &Notifier<ViCallback> {
        self.vi.notifier(self.direction)
    }

    fn serve(&self) {
        self.vi.vi.tell_posts(self.direction);
    }

    fn look(&self) -> Result<RawDescriptor, Error> {
        self.vi.vi.done(self.direction)
    }

    fn wait(&self, stopped: &AtomicBool) -> Result<RawDescriptor, Error> {
        self.vi.vi.wait_unless(self.direction, None, stopped)
    }

    fn call(&self, handler: ViCallback, context: Pvoid, descriptor: RawDescriptor) {
        let pointer = descriptor.address().as_ptr().cast();
        // SAFETY: the program gave it: vipl.h.
        unsafe { handler(context, self.vi.open.handle, self.vi.handle, pointer) };
    }
}

fn notify_of(direction: Direction, vi: Pvoid, context: Pvoid, handler: Option<ViCallback>) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi)?;
        let handler = handler.ok_or(Return::InvalidParameter)?;
        // A thread of the library's would be in its calls.
        if vi.is_unshared() {
            return Err(Return::ErrorNotSupported);
        }
        // Of a queue with a completion queue, that one is waited for.
        let attributes = vi.vi.attributes();
        let cq = match direction {
            Direction::Send => attributes.send_cq,
            Direction::Receive => attributes.receive_cq,
        };
        if cq.is_some() {
            return Err(Return::InvalidParameter);
        }
        notify::notify(Queue { vi, direction }, handler, context)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipPostSend(vi: Pvoid, descriptor: DescriptorPtr, handle: MemHandle) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { post::<SEND>(vi, descriptor, handle) }
}

#[no_mangle]
pub unsafe extern "C" fn VipPostRecv(vi: Pvoid, descriptor: DescriptorPtr, handle: MemHandle) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { post::<RECEIVE>(vi, descriptor, handle) }
}

#[no_mangle]
pub unsafe extern "C" fn VipSendDone(vi: Pvoid, descriptor: *mut DescriptorPtr) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { done::<SEND>(vi, descriptor) }
}

#[no_mangle]
pub unsafe extern "C" fn VipRecvDone(vi: Pvoid, descriptor: *mut DescriptorPtr) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { done::<RECEIVE>(vi, descriptor) }
}

#[no_mangle]
pub unsafe extern "C" fn VipSendWait(
    vi: Pvoid,
    timeout: c_ulong,
    descriptor: *mut DescriptorPtr,
) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { wait_for(Direction::Send, vi, timeout, descriptor) }
}

#[no_mangle]
pub unsafe extern "C" fn VipRecvWait(
    vi: Pvoid,
    timeout: c_ulong,
    descriptor: *mut DescriptorPtr,
) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { wait_for(Direction::Receive, vi, timeout, descriptor) }
}

#[no_mangle]
pub unsafe extern "C" fn VipSendNotify(vi: Pvoid, context: Pvoid, handler: Option<ViCallback>) -> VipReturn {
    notify_of(Direction::Send, vi, context, handler)
}

#[no_mangle]
pub unsafe extern "C" fn VipRecvNotify(vi: Pvoid, context: Pvoid, handler: Option<ViCallback>) -> VipReturn {
    notify_of(Direction::Receive, vi, context, handler)
}
