//! Descriptors to wait on.

use std::{
    ffi::c_int,
    os::fd::{AsFd, AsRawFd},
};

use via::Return;

use crate::{
    cq::CQS,
    entry::{call, code, lock, Out},
    nic::NICS,
    types::{ErrorDescriptor, Pvoid, VipReturn},
    waiting::Waiting,
};

#[no_mangle]
pub unsafe extern "C" fn VipExtCQFd(cq_handle: Pvoid, fd: *mut c_int) -> VipReturn {
    call(|| {
        let cq = CQS.get(cq_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(fd) }?;
        out.put(cq.cq.fd().map_err(code)?.as_raw_fd());
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipExtCQArm(cq_handle: Pvoid) -> VipReturn {
    call(|| CQS.get(cq_handle)?.cq.arm().map_err(code))
}

#[no_mangle]
pub unsafe extern "C" fn VipExtNicEventFd(nic_handle: Pvoid, fd: *mut c_int) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(fd) }?;
        let mut waiting = lock(&open.waiting);
        let waiting = match &mut *waiting {
            Some(waiting) => waiting,
            none => none.insert(Waiting::new().map_err(|_| Return::ErrorResource)?),
        };
        out.put(waiting.as_fd().as_raw_fd());
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtNicEventDone(nic_handle: Pvoid, error: *mut ErrorDescriptor) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(error) }?;
        let mut waiting = lock(&open.waiting);
        let waiting = waiting.as_mut().ok_or(Return::InvalidState)?;
        out.put(waiting.take().ok_or(Return::NotDone)?);
        Ok(())
    })
}
