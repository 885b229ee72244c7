//! The domain: a protection tag of the NIC, which its endpoints and its memory have in common.

use std::{
    ffi::{c_int, c_void},
    mem::{size_of, zeroed},
    sync::Arc,
};

use vipl::Ptag;

use crate::via::{
    card::Card,
    cq, endpoint,
    error::Errno,
    fabric::Fabric,
    ffi::{self, Place},
    object::{self, table, Object},
    offer::Offer,
    region, unsupported,
};

/// What a domain is behind libfabric's structure.
pub type Handle = Object<ffi::fid_domain, Arc<Domain>>;

/// What all that is made in a domain has.
#[derive(Debug)]
pub struct Domain {
    /// The NIC.
    pub card: Arc<Card>,
    /// The tag of its VIs and regions.
    pub ptag: Ptag,
}

static FID: ffi::fi_ops = unsupported::ops(close);

static OPS: ffi::fi_ops_domain = ffi::fi_ops_domain {
    size: size_of::<ffi::fi_ops_domain>(),
    av_open: Some(unsupported::av_open),
    cq_open: Some(cq::open),
    endpoint: Some(endpoint::open),
    scalable_ep: Some(unsupported::scalable_ep),
    cntr_open: Some(unsupported::cntr_open),
    poll_open: Some(unsupported::poll_open),
    stx_ctx: Some(unsupported::stx_ctx),
    srx_ctx: Some(unsupported::srx_ctx),
    ..NOTHING
};

/// A table without functions.
// SAFETY: a number and optional functions, of which nothing but zeros is a value.
const NOTHING: ffi::fi_ops_domain = unsafe { zeroed() };

/// libfabric's `domain`.
///
/// # Safety
/// As libfabric calls it, with a fabric, an information and a place for the domain.
pub unsafe extern "C" fn open(
    fabric: *mut ffi::fid_fabric,
    info: *mut ffi::fi_info,
    domain: *mut *mut ffi::fid_domain,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(domain) }?;
        // SAFETY: as above.
        let card = unsafe { Fabric::at(fabric) }?;
        // SAFETY: as above. What cannot be offered is an error here, too.
        unsafe { Offer::of(ffi::read(info)?) }?;
        let ptag = card.nic.create_ptag()?;
        let face = ffi::fid_domain {
            fid: object::fid::<ffi::fid_domain>(context, &FID),
            ops: table(&OPS),
            mr: table(&region::OPS),
        };
        let own = Arc::new(Domain { card: Arc::clone(card), ptag });
        place.put(Handle::give(face, own));
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with a domain that nobody else uses now.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let domain = unsafe { Handle::at(fid.cast()) }?;
        if Arc::strong_count(domain) > 1 {
            return Err(Errno::BUSY);
        }
        // SAFETY: as above.
        drop(unsafe { Handle::take(fid.cast()) }?);
        Ok(())
    })
}
