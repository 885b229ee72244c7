//! libfabric's calls of a completion queue.

use std::{
    ffi::{c_char, c_int, c_void},
    mem::size_of,
    ptr::null_mut,
    sync::Arc,
};

use super::{Cq, Queue};
use crate::via::{
    domain, entry,
    error::Errno,
    ffi::{self, Place},
    object::{self, table},
    operation::Entry,
    unsupported, wait,
};

static FID: ffi::fi_ops = ffi::fi_ops { control: Some(control), ..unsupported::ops(close) };

static OPS: ffi::fi_ops_cq = ffi::fi_ops_cq {
    size: size_of::<ffi::fi_ops_cq>(),
    read: Some(read),
    readfrom: Some(readfrom),
    readerr: Some(readerr),
    sread: Some(sread),
    sreadfrom: Some(sreadfrom),
    signal: Some(signal),
    strerror: Some(strerror),
};

/// libfabric's `cq_open`.
///
/// # Safety
/// As libfabric calls it, with a domain, attributes or NULL, and a place for the queue.
pub unsafe extern "C" fn open(
    domain: *mut ffi::fid_domain,
    attributes: *mut ffi::fi_cq_attr,
    cq: *mut *mut ffi::fid_cq,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(cq) }?;
        // SAFETY: as above.
        let domain = unsafe { domain::Handle::at(domain) }?;
        // SAFETY: as above.
        let own = Cq::new(domain, unsafe { ffi::read(attributes) }?)?;
        let face = ffi::fid_cq { fid: object::fid::<ffi::fid_cq>(context, &FID), ops: table(&OPS) };
        place.put(Queue::give(face, Arc::new(own)));
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with a completion queue that nobody else uses now.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let cq = unsafe { Queue::at(fid.cast()) }?;
        if Arc::strong_count(cq) > 1 {
            return Err(Errno::BUSY);
        }
        // SAFETY: as above.
        drop(unsafe { Queue::take(fid.cast()) }?);
        Ok(())
    })
}

/// Its descriptor to wait on.
///
/// # Safety
/// As libfabric calls it, with a completion queue, and a place for what the command asks for.
unsafe extern "C" fn control(fid: *mut ffi::fid, command: c_int, place: *mut c_void) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let cq = unsafe { Queue::at(fid.cast()) }?;
        if !cq.waits {
            return Err(Errno::NO_CALL);
        }
        // SAFETY: as above.
        unsafe { wait::tell(command, place, cq.queue.fd()?) }
    })
}

/// Where entries go.
struct Output<'a> {
    cq: &'a Cq,
    buffer: *mut c_void,
    /// FI_ADDR_NOTAVAIL of each, if the program asks for addresses: it has one peer.
    addresses: *mut u64,
}

impl Output<'_> {
    /// # Safety
    /// There is room for more than `number` entries, and as many addresses, if there are any.
    unsafe fn put(&self, number: usize, entry: &Entry) {
        let format = self.cq.format;
        // SAFETY: the caller's promise.
        unsafe {
            format.write(self.buffer.byte_add(number * format.bytes()), entry);
            if !self.addresses.is_null() {
                self.addresses.add(number).write(u64::MAX);
            }
        }
    }
}

/// # Safety
/// As libfabric calls it, with a completion queue, and room for so many entries of its form.
unsafe extern "C" fn read(cq: *mut ffi::fid_cq, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: the caller's promise; no addresses are asked for.
    unsafe { readfrom(cq, buffer, count, null_mut()) }
}

/// # Safety
/// As [`read`], with room for so many addresses, or NULL.
unsafe extern "C" fn readfrom(
    cq: *mut ffi::fid_cq,
    buffer: *mut c_void,
    count: usize,
    addresses: *mut u64,
) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let cq = unsafe { Queue::at(cq) }?;
        if buffer.is_null() && count > 0 {
            return Err(Errno::INVALID);
        }
        let output = Output { cq, buffer, addresses };
        // SAFETY: as above.
        cq.take(count, |number, entry| unsafe { output.put(number, entry) })
    })
}

/// # Safety
/// As [`read`].
unsafe extern "C" fn sread(
    cq: *mut ffi::fid_cq,
    buffer: *mut c_void,
    count: usize,
    condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the caller's promise; no addresses are asked for.
    unsafe { sreadfrom(cq, buffer, count, null_mut(), condition, timeout) }
}

/// # Safety
/// As [`readfrom`].
unsafe extern "C" fn sreadfrom(
    cq: *mut ffi::fid_cq,
    buffer: *mut c_void,
    count: usize,
    addresses: *mut u64,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let cq = unsafe { Queue::at(cq) }?;
        if buffer.is_null() || count == 0 {
            return Err(Errno::INVALID);
        }
        let output = Output { cq, buffer, addresses };
        // SAFETY: as above.
        cq.wait(count, timeout, |number, entry| unsafe { output.put(number, entry) })
    })
}

/// # Safety
/// As libfabric calls it, with a completion queue, and room for an error entry.
unsafe extern "C" fn readerr(cq: *mut ffi::fid_cq, place: *mut ffi::fi_cq_err_entry, _: u64) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let cq = unsafe { Queue::at(cq) }?;
        if place.is_null() {
            return Err(Errno::INVALID);
        }
        let (entry, error) = cq.take_error()?;
        // SAFETY: as above.
        unsafe { entry::fail(place, &entry, error) };
        Ok(1)
    })
}

/// # Safety
/// As libfabric calls it, with a completion queue.
unsafe extern "C" fn signal(cq: *mut ffi::fid_cq) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let cq = unsafe { Queue::at(cq) }?;
        cq.lock().is_signaled = true;
        cq.queue.wake();
        Ok(())
    })
}

/// What a descriptor's status means, which `prov_errno` is.
///
/// # Safety
/// As libfabric calls it: `length` bytes at `buffer`, or NULL.
unsafe extern "C" fn strerror(
    _: *mut ffi::fid_cq,
    status: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    length: usize,
) -> *const c_char {
    let words = entry::words(status as u32);
    // SAFETY: the caller's promise.
    unsafe { ffi::copy_text(words, buffer, length) };
    words.as_ptr()
}
