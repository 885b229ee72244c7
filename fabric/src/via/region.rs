//! Registered memory.

use std::{
    ffi::{c_int, c_void},
    mem::size_of,
    ptr::{null_mut, NonNull},
    sync::Arc,
};

use vipl::{MemAttributes, Region};

use crate::via::{
    domain::{self, Domain},
    error::Errno,
    ffi::{self, Place, FI_READ, FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_SEND, FI_WRITE},
    message,
    object::{self, Object},
    unsupported,
};

/// What a memory region is behind libfabric's structure. Its descriptor, for operations, is a pointer to itself.
type Handle = Object<ffi::fid_mr, Registered>;

struct Registered {
    /// None of memory without bytes, which the NIC has no region for, and MPI has windows of.
    region: Option<Region>,
    _domain: Arc<Domain>,
}

static FID: ffi::fi_ops = unsupported::ops(close);

/// The functions of a domain that register memory.
pub static OPS: ffi::fi_ops_mr = ffi::fi_ops_mr {
    size: size_of::<ffi::fi_ops_mr>(),
    reg: Some(reg),
    regv: Some(regv),
    regattr: Some(regattr),
};

/// The memory that a descriptor of a program's stands for.
///
/// # Errors
/// NULL, or something else: with FI_MR_LOCAL all that the NIC reaches is registered.
///
/// # Safety
/// NULL, or what `fi_mr_desc` has answered for memory that is not closed.
pub unsafe fn of_descriptor(descriptor: *mut c_void) -> Result<Region, Errno> {
    // SAFETY: the caller's promise.
    unsafe { Handle::at(descriptor.cast()) }?.region.clone().ok_or(Errno::INVALID)
}

/// # Safety
/// As libfabric calls it, with a domain. The memory stays until the region is closed without an error.
unsafe extern "C" fn reg(
    fid: *mut ffi::fid,
    buffer: *const c_void,
    length: usize,
    access: u64,
    _: u64,
    _: u64,
    flags: u64,
    region: *mut *mut ffi::fid_mr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    ffi::answer(|| unsafe { register(fid, (buffer, length), access, flags, region, context) })
}

/// # Safety
/// As [`reg`], with so many pieces of memory.
unsafe extern "C" fn regv(
    fid: *mut ffi::fid,
    pieces: *const ffi::iovec,
    count: usize,
    access: u64,
    _: u64,
    _: u64,
    flags: u64,
    region: *mut *mut ffi::fid_mr,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let memory = unsafe { one(pieces, count) }?;
        // SAFETY: as above.
        unsafe { register(fid, memory, access, flags, region, context) }
    })
}

/// # Safety
/// As [`reg`], with attributes.
unsafe extern "C" fn regattr(
    fid: *mut ffi::fid,
    attributes: *const ffi::fi_mr_attr,
    flags: u64,
    region: *mut *mut ffi::fid_mr,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let attributes = unsafe { ffi::read(attributes) }?;
        // SAFETY: as above.
        let memory = unsafe { one(attributes.mr_iov, attributes.iov_count) }?;
        // SAFETY: as above.
        unsafe { register(fid, memory, attributes.access, flags, region, attributes.context) }
    })
}

/// The only piece of a list.
///
/// # Safety
/// So many pieces.
unsafe fn one(pieces: *const ffi::iovec, count: usize) -> Result<(*const c_void, usize), Errno> {
    // SAFETY: the caller's promise.
    match unsafe { ffi::slice(pieces, count) }? {
        [piece] => Ok((piece.iov_base.cast_const(), piece.iov_len)),
        _ => Err(Errno::INVALID),
    }
}

/// # Safety
/// As [`reg`].
unsafe fn register(
    fid: *mut ffi::fid,
    (start, length): (*const c_void, usize),
    access: u64,
    flags: u64,
    place: *mut *mut ffi::fid_mr,
    context: *mut c_void,
) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    let place = unsafe { Place::at(place) }?;
    message::known(flags, 0)?;
    message::known(access, FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)?;
    // SAFETY: as above.
    let domain = unsafe { domain::Handle::at(fid.cast()) }?;
    let attributes = MemAttributes {
        ptag: domain.ptag.clone(),
        enable_rdma_write: access & FI_REMOTE_WRITE != 0,
        enable_rdma_read: access & FI_REMOTE_READ != 0,
    };
    let region = match length {
        0 => None,
        some => {
            let start = NonNull::new(start.cast_mut().cast()).ok_or(Errno::INVALID)?;
            // SAFETY: the caller's promise: libfabric's programs keep registered memory until they have closed it, and leave it alone while operations
            // are posted. The library copies nothing to or from it: descriptors and what is injected are in memory of the provider's.
            Some(unsafe { domain.card.nic.register(start, some, &attributes) }?)
        }
    };
    // No region's key is 0.
    let key = region.as_ref().map_or(0, |region| region.handle().into());
    let face = ffi::fid_mr { fid: object::fid::<ffi::fid_mr>(context, &FID), mem_desc: null_mut(), key };
    let own = Registered { region, _domain: Arc::clone(domain) };
    let handle = Handle::give(face, own);
    // SAFETY: it is new, and nobody else has it.
    unsafe { (*handle).mem_desc = handle.cast() };
    place.put(handle);
    Ok(())
}

/// # Safety
/// As libfabric calls it, with a memory region that nobody else uses now.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let registered = unsafe { Handle::at(fid.cast()) }?;
        let ended = match &registered.region {
            // What is posted with the memory has clones: when this answers without an error, the program may free it.
            // SAFETY: descriptors lie in memory of the provider's own, and nothing is copied to or from programs' regions.
            Some(region) => unsafe { region.revoke() },
            None => Ok(()),
        };
        match ended {
            Err(error) if error.is_gone() => {
                // There will be no other answer, so this is the end of the handle. But who has heard of an error may try again: the shell stays.
                // SAFETY: as above.
                let (registered, shell) = unsafe { Handle::hollow(fid.cast()) }?;
                drop(registered);
                std::mem::forget(shell);
                Err(error.into())
            }
            ended => {
                ended?;
                // SAFETY: as above.
                drop(unsafe { Handle::take(fid.cast()) }?);
                Ok(())
            }
        }
    })
}
