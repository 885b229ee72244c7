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
    types::{DescriptorPtr, MemHandle, Pvoid, ViCallback, VipReturn},
    vi::{Vi, RECEIVE, SEND, VIS},
};

/// The queue behind a door of a VI: [`SEND`] or [`RECEIVE`].
const fn queue(door: usize) -> Direction {
    match door {
        SEND => Direction::Send,
        _ => Direction::Receive,
    }
}

/// A post, if nothing stands against it. `ELSEWHERE`: its descriptor is in another region than that of the post before.
#[inline(always)]
unsafe fn try_post<const DOOR: usize, const ELSEWHERE: bool>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> Option<VipReturn> {
    let mut entered = VIS.try_enter(vi, DOOR)?;
    let (thing, held) = entered.parts();
    // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
    if ELSEWHERE && !unsafe { thing.queues.try_find(queue(DOOR), held, handle) } {
        return None;
    }
    // SAFETY: vipl.h: a posted descriptor is the library's, and its memory stays, until it is taken off the queue. And as above.
    match unsafe { thing.queues.try_post(queue(DOOR), held, handle, descriptor.cast()) } {
        Try::Done(true) => Some(Return::Success as VipReturn),
        Try::Done(false) => {
            let vi = entered.handle();
            drop(entered);
            Some(wake_poller(vi))
        }
        _ => None,
    }
}

/// VipPostSend and VipPostRecv: at once, if nothing stands against it, else [`post_elsewhere`].
#[inline(always)]
unsafe fn post<const DOOR: usize>(vi: Pvoid, descriptor: DescriptorPtr, handle: MemHandle) -> VipReturn {
    // SAFETY: the caller's promise.
    match unsafe { try_post::<DOOR, false>(vi, descriptor, handle) } {
        Some(answer) => answer,
        // SAFETY: the caller's promise. What was entered has been left.
        None => unsafe { post_elsewhere::<DOOR>(vi, descriptor, handle) },
    }
}

/// A post that is not like the one before: most likely its descriptor is in another region, which is found, and then it is at once, too. Else
/// [`post_general`].
#[cold]
#[inline(never)]
unsafe extern "C" fn post_elsewhere<const DOOR: usize>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> VipReturn {
    // SAFETY: the caller's promise.
    match unsafe { try_post::<DOOR, true>(vi, descriptor, handle) } {
        Some(answer) => answer,
        // SAFETY: as in `post`.
        None => unsafe { post_general::<DOOR>(vi, descriptor, handle) },
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
unsafe extern "C" fn post_general<const DOOR: usize>(
    vi: Pvoid,
    descriptor: DescriptorPtr,
    handle: MemHandle,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi)?;
        let address = NonNull::new(descriptor.cast::<u8>()).ok_or(Return::InvalidParameter)?;
        // SAFETY: vipl.h: a posted descriptor is the library's, and its memory stays, until it is taken off the queue.
        unsafe { vi.vi.post_in(queue(DOOR), handle, address) }.map_err(code)?;
        vi.notifier(queue(DOOR)).poke();
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

/// VipSendDone and VipRecvDone.
#[inline(always)]
unsafe fn done<const DOOR: usize>(vi: Pvoid, descriptor: *mut DescriptorPtr) -> VipReturn {
    if !descriptor.is_null() {
        if let Some(mut entered) = VIS.try_enter(vi, DOOR) {
            let (thing, held) = entered.parts();
            // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
            let taken = unsafe { thing.queues.try_done(queue(DOOR), held) };
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
                    return unsafe { done_general::<DOOR>(vi, descriptor) };
                }
            };
            // SAFETY: as above.
            unsafe { descriptor.write_unaligned(taken) };
            return code as VipReturn;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { done_general::<DOOR>(vi, descriptor) }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn done_general<const DOOR: usize>(vi: Pvoid, descriptor: *mut DescriptorPtr) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(descriptor) }?;
        tell(&out, vi.vi.done(queue(DOOR)))
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
