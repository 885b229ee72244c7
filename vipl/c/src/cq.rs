//! Completion queues.

use std::{
    ffi::c_ulong,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
};

use via::{CqEntry, Error, Return};

use crate::{
    entry::{call, code, timeout, Out},
    handles::Table,
    nic::{keep, OpenNic, NICS},
    notify::{self, Notified, Notifier},
    types::{Boolean, CqCallback, Pvoid, VipReturn},
    vi::VIS,
};

/// What VipCreateCQ gave.
pub static CQS: Table<Cq> = Table::new(3);

/// A completion queue.
pub struct Cq {
    pub handle: Pvoid,
    pub open: Arc<OpenNic>,
    pub cq: via::Cq,
    notifier: Notifier<CqCallback>,
    dead: AtomicBool,
}

// SAFETY: the pointer in it is a handle.
unsafe impl Send for Cq {}
// SAFETY: as above.
unsafe impl Sync for Cq {}

impl Cq {
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
        let cq = open.device.nic.create_cq(entries as usize).map_err(code)?;
        let handle = CQS.next();
        let dead = AtomicBool::new(false);
        CQS.insert(handle, Arc::new(Cq { handle, open, cq, notifier: Notifier::new(), dead }))?;
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
        self.0.put(VIS.of(entry.vi.number()));
        self.1.put(entry.receive.into());
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipCQDone(cq_handle: Pvoid, vi: *mut Pvoid, receive: *mut Boolean) -> VipReturn {
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

    fn look(&self) -> Result<CqEntry, Error> {
        self.cq.done()
    }

    fn wait(&self, stopped: &AtomicBool) -> Result<CqEntry, Error> {
        self.cq.wait_unless(None, stopped)
    }

    fn call(&self, handler: CqCallback, context: Pvoid, entry: CqEntry) {
        // SAFETY: the program gave it: vipl.h.
        unsafe { handler(context, self.open.handle, VIS.of(entry.vi.number()), entry.receive.into()) };
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
        notify::notify(cq, handler.ok_or(Return::InvalidParameter)?, context)
    })
}
