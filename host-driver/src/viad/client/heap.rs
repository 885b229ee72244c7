//! Memory of an allocator that was preloaded (`libvipl_heap.so`, docs/viad.md): it lies in memfds, its arenas, which are given to viad as pools are, once each, when memory
//! in them is first registered.

use std::{
    ffi::{c_int, c_void, CStr},
    io,
    mem::{transmute, MaybeUninit},
    os::fd::{AsFd, FromRawFd, OwnedFd},
    sync::{Mutex, PoisonError},
};

use super::{
    super::protocol::{Answer, Request},
    Client,
};
use crate::{device::DeviceError, kernel_agent::AgentError};

/// What the allocator calls its function.
const NAME: &CStr = c"viaduct_heap_arena";

/// Its function: the arena of an address, and 0, or an error number.
type ArenaOf = unsafe extern "C" fn(*const c_void, *mut Arena) -> c_int;

/// An arena, as the allocator tells of it.
#[repr(C)]
struct Arena {
    start: u64,
    length: u64,
    serial: u64,
    /// A descriptor of the caller's.
    file: c_int,
}

/// The arenas that viad has: their serial numbers, and what viad calls them.
#[derive(Debug, Default)]
pub(super) struct Heap(Mutex<Vec<(u64, u32)>>);

/// The arena in which an address lies, and its memfd.
fn arena_of(address: u64) -> Result<Option<(Arena, OwnedFd)>, AgentError> {
    // SAFETY: a name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) };
    if found.is_null() {
        return Ok(None);
    }
    // SAFETY: the allocator's function of this name is such a one.
    let arena_of: ArenaOf = unsafe { transmute(found) };
    let mut arena = MaybeUninit::uninit();
    // SAFETY: there is room for what it writes.
    match unsafe { arena_of(address as *const c_void, arena.as_mut_ptr()) } {
        0 => {}
        libc::ENOENT => return Ok(None),
        errno => {
            let request = format!("to give viad the arena of the preloaded heap in which {address:#x} lies");
            return Err(DeviceError::System { request, source: io::Error::from_raw_os_error(errno) }.into());
        }
    }
    // SAFETY: it is written, for the answer was 0.
    let arena = unsafe { arena.assume_init() };
    // SAFETY: the descriptor is the caller's, which has it nowhere else.
    let file = unsafe { OwnedFd::from_raw_fd(arena.file) };
    Ok(Some((arena, file)))
}

impl Client {
    /// The pool in which a range of the preloaded allocator's lies, and where it begins there.
    pub(super) fn find_in_heap(&self, address: u64, length: u64) -> Result<Option<(u32, u64)>, AgentError> {
        let Some((arena, file)) = arena_of(address)? else { return Ok(None) };
        let offset = address - arena.start;
        if offset.checked_add(length).is_none_or(|end| end > arena.length) {
            return Ok(None);
        }
        // What a thread that panicked left is usable: each change is made when viad has answered.
        let mut heap = self.heap.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, number)) = heap.iter().find(|(serial, _)| *serial == arena.serial) {
            return Ok(Some((*number, offset)));
        }
        match self.call_with(&Request::SharePool(arena.length), &[file.as_fd()])?.0 {
            Answer::Pool(number) => {
                heap.push((arena.serial, number));
                Ok(Some((number, offset)))
            }
            other => Err(self.wrong(&other)),
        }
    }
}
