//! Completion queues.

use std::{
    ffi::c_ulong,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
};

use via::{CqEntry, Error, Return, Try};

use crate::{
    entry::{call, code, timeout, Out},
    nic::{keep, OpenNic, NICS},
    notify::{self, Notified, Notifier},
    slots::{is_unshared, Reserved, Slots},
    types::{Boolean, CqCallback, Pvoid, VipReturn},
};

/// The kind of the handles of completion queues, in [`Slots`].
const KIND: usize = 3;
/// Completion queues that a process may have at a time.
const COUNT: usize = 1024;
/// It is one queue.
const QUEUES: usize = 1;
/// What VipCreateCQ gave. Looks have all of it.
pub static CQS: Slots<Cq, Arc<Cq>, KIND, QUEUES, COUNT> = Slots::new();
/// The queue in [`CQS`] whose door looks go through, with its lock.
pub const LOOK: usize = 0;

/// A completion queue.
pub struct Cq {
    pub handle: Pvoid,
    pub open: Arc<OpenNic>,
    pub cq: via::Cq,
    notifier: Notifier<CqCallback>,
    dead: AtomicBool,
    /// The queue has it, too: its lock is there. A VI that is about to end may keep the queue for a moment longer than this.
    slot: Arc<Reserved<Cq, Arc<Cq>, KIND, QUEUES, COUNT>>,
}

// SAFETY: the pointer in it is a handle.
unsafe impl Send for Cq {}
// SAFETY: as above.
unsafe impl Sync for Cq {}

impl Cq {
    /// The program has promised that no two threads are in its calls at one time.
    pub fn is_unshared(&self) -> bool {
        is_unshared(self.handle)
    }

    /// It is destroyed: who waits waits no longer.
    fn end(&self) {
        self.dead.store(true, Ordering::Release);
        self.notifier.stop(|| self.cq.wake());
    }
}

/// Ends the completion queues that were made with a handle of a NIC.
pub fn close(nic_handle: Pvoid) {
    for cq in CQS.remove_all(|cq| cq.open.handle == nic_handle) {
        cq.end();
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipCreateCQ(
    nic_handle: Pvoid,
    entries: c_ulong,
    cq_handle: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(cq_handle) }?;
        let slot = Arc::new(CQS.reserve(open.is_unshared())?);
        let handle = slot.handle();
        let cq = open.device.nic.create_cq_at(entries as usize, slot.place(LOOK)).map_err(code)?;
        let dead = AtomicBool::new(false);
        let cq = Arc::new(Cq { handle, open, cq, notifier: Notifier::new(), dead, slot });
        cq.slot.fill(&cq, &cq);
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipDestroyCQ(cq_handle: Pvoid) -> VipReturn {
    call(|| {
        let used = |cq: &Arc<Cq>| (!cq.cq.is_used()).then_some(()).ok_or(Return::ErrorResource);
        let cq = CQS.remove(cq_handle, used)?;
        cq.end();
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipResizeCQ(cq_handle: Pvoid, entries: c_ulong) -> VipReturn {
    call(|| CQS.get(cq_handle)?.cq.resize(entries as usize).map_err(code))
}

/// The handle of an entry's VI.
fn handle_of(entry: CqEntry) -> Pvoid {
    std::ptr::without_provenance_mut(entry.vi.number() as usize)
}

/// Where an entry goes.
struct Entry(Out<Pvoid>, Out<Boolean>);

impl Entry {
    /// # Safety
    /// As [`Out::new`].
    unsafe fn new(vi: *mut Pvoid, receive: *mut Boolean) -> Result<Self, Return> {
        // SAFETY: the caller's promise.
        unsafe { Ok(Self(Out::new(vi)?, Out::new(receive)?)) }
    }

    fn put(&self, entry: CqEntry) {
        self.0.put(handle_of(entry));
        self.1.put(entry.receive.into());
    }
}

/// VipCQDone: at once, if nothing stands against it, else [`done_general`].
///
/// # Safety
/// vipl.h. If `IS_UNSHARED`, the handle is that of an unshared queue.
#[inline(always)]
unsafe fn done<const IS_UNSHARED: bool>(
    cq_handle: Pvoid,
    vi: *mut Pvoid,
    receive: *mut Boolean,
) -> VipReturn {
    if !vi.is_null() && !receive.is_null() {
        // SAFETY: the caller's promise.
        if let Some(mut entered) = unsafe { CQS.try_enter::<IS_UNSHARED>(cq_handle, LOOK) } {
            let (thing, held) = entered.parts();
            // SAFETY: the door's lock is the queue's, and handles name nothing in a child.
            let taken = unsafe { thing.cq.try_done(held) };
            // Before the program's memory is touched: where that faults, its handler may use the queue.
            drop(entered);
            match taken {
                Try::Done(entry) => {
                    // SAFETY: vipl.h: places for them, which need not be aligned.
                    unsafe {
                        vi.write_unaligned(handle_of(entry));
                        receive.write_unaligned(entry.receive.into());
                    }
                    return Return::Success as VipReturn;
                }
                Try::Nothing => return Return::NotDone as VipReturn,
                Try::Unusual => {}
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { done_general(cq_handle, vi, receive) }
}

/// [`done`] of an unshared queue: a function of its own, with which a look at a shared queue is three instructions shorter.
#[inline(never)]
unsafe extern "C" fn done_unshared(cq_handle: Pvoid, vi: *mut Pvoid, receive: *mut Boolean) -> VipReturn {
    // SAFETY: the caller's promise.
    unsafe { done::<true>(cq_handle, vi, receive) }
}

#[no_mangle]
pub unsafe extern "C" fn VipCQDone(cq_handle: Pvoid, vi: *mut Pvoid, receive: *mut Boolean) -> VipReturn {
    if is_unshared(cq_handle) {
        // SAFETY: the caller's promise.
        return unsafe { done_unshared(cq_handle, vi, receive) };
    }
    // SAFETY: the caller's promise.
    unsafe { done::<false>(cq_handle, vi, receive) }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn done_general(cq_handle: Pvoid, vi: *mut Pvoid, receive: *mut Boolean) -> VipReturn {
    call(|| {
        let cq = CQS.get(cq_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Entry::new(vi, receive) }?;
        out.put(cq.cq.done().map_err(code)?);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipCQWait(
    cq_handle: Pvoid,
    time: c_ulong,
    vi: *mut Pvoid,
    receive: *mut Boolean,
) -> VipReturn {
    call(|| {
        let cq = CQS.get(cq_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Entry::new(vi, receive) }?;
        out.put(cq.cq.wait_unless(timeout(time), &cq.dead).map_err(code)?);
        Ok(())
    })
}

impl Notified for Arc<Cq> {
    type Handler = CqCallback;
    type Item = CqEntry;

    fn notifier(&self) -> &Notifier<CqCallback> {
        &self.notifier
    }

    fn serve(&self) {
        // Nothing is posted to it.
    }

    fn look(&self) -> Result<CqEntry, Error> {
        self.cq.done()
    }

    fn wait(&self, stopped: &AtomicBool) -> Result<CqEntry, Error> {
        self.cq.wait_unless(None, stopped)
    }

    fn call(&self, handler: CqCallback, context: Pvoid, entry: CqEntry) {
        // SAFETY: the program gave it: vipl.h.
        unsafe { handler(context, self.open.handle, handle_of(entry), entry.receive.into()) };
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipCQNotify(
    cq_handle: Pvoid,
    context: Pvoid,
    handler: Option<CqCallback>,
) -> VipReturn {
    call(|| {
        let cq = CQS.get(cq_handle)?;
        let handler = handler.ok_or(Return::InvalidParameter)?;
        // A thread of the library's would be in its calls.
        if cq.is_unshared() {
            return Err(Return::ErrorNotSupported);
        }
        notify::notify(cq, handler, context)
    })
}
