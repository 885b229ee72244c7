//! Beside VIPL: what programs of one maker's NICs call.

use std::{
    ffi::c_ulong,
    ptr::{null_mut, with_exposed_provenance_mut},
};

use via::Return;

use crate::{
    cq::CQS,
    entry::{call, value, Out},
    types::{Boolean, Pvoid, VipReturn},
    vi::VIS,
};

/// The word that a program keeps with a VI, which is the VI's context.
pub fn user_data(context: u64) -> Pvoid {
    with_exposed_provenance_mut(context as usize)
}

#[no_mangle]
pub extern "C" fn VipGetUserData(vi_handle: Pvoid) -> Pvoid {
    value(null_mut(), || Some(user_data(VIS.get(vi_handle).ok()?.vi.context())))
}

#[no_mangle]
pub extern "C" fn VipSetUserData(vi_handle: Pvoid, data: Pvoid) {
    value((), || {
        VIS.get(vi_handle).ok()?.vi.set_context(data.expose_provenance() as u64);
        Some(())
    });
}

#[no_mangle]
pub unsafe extern "C" fn VipPostDeferredSends(
    vi_handle: Pvoid,
    _interrupt: Boolean,
    deferred: *mut Boolean,
) -> VipReturn {
    call(|| {
        VIS.get(vi_handle)?;
        // SAFETY: vipl.h.
        unsafe { Out::new(deferred) }?.put(0);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipAddTagCQ(cq: Pvoid, _event: *mut Pvoid, _tag: c_ulong, _priority: c_ulong) -> VipReturn {
    call(|| CQS.get(cq).and(Err(Return::ErrorNotSupported)))
}

#[no_mangle]
pub extern "C" fn VipRemoveTagCQ(cq: Pvoid, _event: Pvoid, _tag: c_ulong) -> VipReturn {
    call(|| CQS.get(cq).and(Err(Return::ErrorNotSupported)))
}
