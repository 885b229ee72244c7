//! The fabric: the NIC, as programs open it.

use std::{
    ffi::{c_int, c_void, CStr},
    mem::{size_of, zeroed},
    sync::Arc,
};

use crate::via::{
    card::Card,
    cq::Queue,
    domain,
    eq::{self, Events},
    error::Errno,
    ffi::{self, Place},
    info, listener,
    object::{self, is_of, table, Object},
    unsupported,
};

/// What a fabric is behind libfabric's structure. Whatever is made with it has a clone.
pub type Fabric = Object<ffi::fid_fabric, Arc<Card>>;

static FID: ffi::fi_ops = unsupported::ops(close);

static OPS: ffi::fi_ops_fabric = ffi::fi_ops_fabric {
    size: size_of::<ffi::fi_ops_fabric>(),
    domain: Some(domain::open),
    passive_ep: Some(listener::open),
    eq_open: Some(eq::open),
    wait_open: Some(unsupported::wait_open),
    trywait: Some(trywait),
    ..NOTHING
};

/// A table without functions.
// SAFETY: a number and optional functions, of which nothing but zeros is a value.
const NOTHING: ffi::fi_ops_fabric = unsafe { zeroed() };

/// libfabric's `fabric`.
///
/// # Safety
/// As libfabric calls it: attributes with a text of C's or NULL, and a place for the fabric.
pub unsafe extern "C" fn open(
    attributes: *mut ffi::fi_fabric_attr,
    fabric: *mut *mut ffi::fid_fabric,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(fabric) }?;
        // SAFETY: as above.
        let attributes = unsafe { ffi::read(attributes) }?;
        // SAFETY: as above.
        let is_ours = attributes.name.is_null()
            || unsafe { CStr::from_ptr(attributes.name) }.to_bytes() == info::FABRIC.as_bytes();
        if !is_ours {
            return Err(Errno::NO_DATA);
        }
        let card = Card::open()?;
        let face = ffi::fid_fabric {
            fid: object::fid::<ffi::fid_fabric>(context, &FID),
            ops: table(&OPS),
            api_version: attributes.api_version,
        };
        place.put(Fabric::give(face, card));
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with a fabric.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise. What was made with it keeps the NIC, and needs nothing else of it.
        drop(unsafe { Fabric::take(fid.cast()) }?);
        Ok(())
    })
}

/// Whether one may wait for the descriptors of all these: they say when something comes from now on, and nothing has come before.
///
/// # Safety
/// As libfabric calls it, with so many event and completion queues.
unsafe extern "C" fn trywait(_: *mut ffi::fid_fabric, fids: *mut *mut ffi::fid, count: c_int) -> c_int {
    ffi::answer(|| {
        let count = usize::try_from(count).map_err(|_| Errno::INVALID)?;
        // SAFETY: the caller's promise.
        for fid in unsafe { ffi::slice(fids, count) }? {
            // SAFETY: as above.
            let [is_cq, is_eq] =
                [ffi::FI_CLASS_CQ, ffi::FI_CLASS_EQ].map(|class| unsafe { is_of(*fid, class as usize) });
            if is_cq {
                // SAFETY: as above.
                unsafe { Queue::at((*fid).cast()) }?.ready_to_wait()?;
            } else if is_eq {
                // SAFETY: as above.
                unsafe { Events::at((*fid).cast()) }?.ready_to_wait()?;
            } else {
                return Err(Errno::INVALID);
            }
        }
        Ok(())
    })
}
