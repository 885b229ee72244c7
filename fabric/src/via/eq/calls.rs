//! libfabric's calls of an event queue.

use std::{
    ffi::{c_char, c_int, c_void, CStr},
    mem::size_of,
    sync::Arc,
};

use super::{Eq, Events, State};
use crate::via::{
    error::Errno,
    event::Event,
    fabric::Fabric,
    ffi::{self, Place, FI_PEEK},
    object::{self, table},
    unsupported,
    wait::{self, Deadline},
};

static FID: ffi::fi_ops = ffi::fi_ops { control: Some(control), ..unsupported::ops(close) };

static OPS: ffi::fi_ops_eq = ffi::fi_ops_eq {
    size: size_of::<ffi::fi_ops_eq>(),
    read: Some(read),
    readerr: Some(readerr),
    write: Some(write),
    sread: Some(sread),
    strerror: Some(strerror),
};

/// libfabric's `eq_open`.
///
/// # Safety
/// As libfabric calls it, with a fabric, attributes, and a place for the queue.
pub unsafe extern "C" fn open(
    fabric: *mut ffi::fid_fabric,
    attributes: *mut ffi::fi_eq_attr,
    eq: *mut *mut ffi::fid_eq,
    context: *mut c_void,
) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { Place::at(eq) }?;
        // SAFETY: as above.
        let card = unsafe { Fabric::at(fabric) }?;
        // SAFETY: as above.
        let attributes = unsafe { ffi::read(attributes) }?;
        let own = Arc::new(Eq::new(card, wait::is_wanted(attributes.wait_obj)?)?);
        let face = ffi::fid_eq { fid: object::fid::<ffi::fid_eq>(context, &FID), ops: table(&OPS) };
        place.put(Events::give(face, own));
        Ok(())
    })
}

/// # Safety
/// As libfabric calls it, with an event queue that nobody else uses now.
unsafe extern "C" fn close(fid: *mut ffi::fid) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let eq = unsafe { Events::at(fid.cast()) }?;
        if Arc::strong_count(eq) > 1 {
            return Err(Errno::BUSY);
        }
        // SAFETY: as above.
        drop(unsafe { Events::take(fid.cast()) }?);
        Ok(())
    })
}

/// Its descriptor to wait on.
///
/// # Safety
/// As libfabric calls it, with an event queue, and a place for what the command asks for.
unsafe extern "C" fn control(fid: *mut ffi::fid, command: c_int, place: *mut c_void) -> c_int {
    ffi::answer(|| {
        // SAFETY: the caller's promise.
        let file = unsafe { Events::at(fid.cast()) }?.file()?;
        // SAFETY: as above.
        unsafe { wait::tell(command, place, file) }
    })
}

/// An event queue that is to be read into a place: there must be one, and of the flags only the one that leaves the event where it is.
///
/// # Safety
/// As libfabric calls what reads: with an event queue that nobody takes as long as the reference is used.
unsafe fn to_read<'a, T>(eq: *mut ffi::fid_eq, place: *const T, flags: u64) -> Result<&'a Arc<Eq>, Errno> {
    // SAFETY: the caller's promise.
    let eq = unsafe { Events::at(eq) }?;
    match !place.is_null() && flags & !FI_PEEK == 0 {
        true => Ok(eq),
        false => Err(Errno::INVALID),
    }
}

/// Reads the oldest event. It stays, if the flags say that one only looks.
///
/// # Safety
/// `room` bytes at `place`, and a place for the event's kind.
unsafe fn take(
    state: &mut State,
    what: *mut u32,
    place: *mut c_void,
    room: usize,
    flags: u64,
) -> Result<usize, Errno> {
    let event = state.events.front().ok_or(Errno::AGAIN)?;
    if event.is_failure() {
        return Err(Errno::ERROR_AVAILABLE);
    }
    // SAFETY: the caller's promise.
    let count = unsafe { event.write(place, room) }?;
    // SAFETY: as above.
    unsafe { ffi::put(what, event.what()) }?;
    if flags & FI_PEEK == 0 {
        state.events.pop_front().into_iter().for_each(Event::give);
    }
    Ok(count)
}

/// # Safety
/// As libfabric calls it, with an event queue, a place for the kind, and so many bytes.
unsafe extern "C" fn read(
    eq: *mut ffi::fid_eq,
    what: *mut u32,
    place: *mut c_void,
    room: usize,
    flags: u64,
) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let eq = unsafe { to_read(eq, place, flags) }?;
        // SAFETY: as above.
        eq.look(|state| unsafe { take(state, what, place, room, flags) })
    })
}

/// # Safety
/// As [`read`].
unsafe extern "C" fn sread(
    eq: *mut ffi::fid_eq,
    what: *mut u32,
    place: *mut c_void,
    room: usize,
    timeout: c_int,
    flags: u64,
) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let eq = unsafe { to_read(eq, place, flags) }?;
        let (file, deadline) = (eq.file()?, Deadline::of(timeout));
        loop {
            // SAFETY: as above.
            match eq.look(|state| unsafe { take(state, what, place, room, flags) }) {
                Err(Errno::AGAIN) if deadline.is_over() => return Err(Errno::AGAIN),
                Err(Errno::AGAIN) => {}
                result => return result,
            }
            match eq.ready_to_wait() {
                Err(Errno::AGAIN) => {}
                ready => {
                    ready?;
                    deadline.sleep(file)?;
                }
            }
        }
    })
}

/// # Safety
/// As libfabric calls it, with an event queue and a place for an error entry.
unsafe extern "C" fn readerr(eq: *mut ffi::fid_eq, place: *mut ffi::fi_eq_err_entry, flags: u64) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let eq = unsafe { to_read(eq, place, flags) }?;
        eq.look(|state| {
            let Some(Event::Failed { of, context, error, data }) = state.events.front() else {
                return Err(Errno::AGAIN);
            };
            let mut entry = ffi::fi_eq_err_entry {
                fid: of.1 .0.cast(),
                context: context.0,
                data: 0,
                err: error.positive(),
                prov_errno: 0,
                err_data: std::ptr::null_mut(),
                err_data_size: 0,
            };
            state.last.clone_from(data);
            // SAFETY: the caller's promise.
            let (theirs, room) = unsafe { ((*place).err_data, (*place).err_data_size) };
            if room > 0 && !theirs.is_null() {
                (entry.err_data, entry.err_data_size) = (theirs, state.last.len().min(room));
                // SAFETY: as above: so many bytes are there.
                unsafe { theirs.cast::<u8>().copy_from(state.last.as_ptr(), entry.err_data_size) };
            } else {
                // It stays until the queue is read again.
                (entry.err_data, entry.err_data_size) = (state.last.as_mut_ptr().cast(), state.last.len());
            }
            // SAFETY: as above.
            unsafe { ffi::put(place, entry) }?;
            if flags & FI_PEEK == 0 {
                state.events.pop_front();
            }
            Ok(size_of::<ffi::fi_eq_err_entry>())
        })
    })
}

/// # Safety
/// As libfabric calls it, with an event queue and so many bytes.
unsafe extern "C" fn write(
    eq: *mut ffi::fid_eq,
    what: u32,
    bytes: *const c_void,
    count: usize,
    flags: u64,
) -> isize {
    ffi::count(|| {
        // SAFETY: the caller's promise.
        let eq = unsafe { Events::at(eq) }?;
        if flags != 0 {
            return Err(Errno::FLAGS);
        }
        // SAFETY: as above.
        let bytes = unsafe { ffi::slice(bytes.cast::<u8>(), count) }?.to_vec();
        eq.push(Event::Written { what, bytes });
        Ok(count)
    })
}

/// What a provider's number of an error means: this one has none of its own here.
///
/// # Safety
/// As libfabric calls it: `length` bytes at `buffer`, or NULL.
unsafe extern "C" fn strerror(
    _: *mut ffi::fid_eq,
    _: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    length: usize,
) -> *const c_char {
    let words: &'static CStr = c"the connection came to nothing: err says why";
    // SAFETY: the caller's promise.
    unsafe { ffi::copy_text(words, buffer, length) };
    words.as_ptr()
}
