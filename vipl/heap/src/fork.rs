//! A fork. Arenas are memory in common with viad, and would be with children: a child that wrote its heap would write its parent's. So children do not get them
//! (MADV_DONTFORK), and have a copy at the same addresses instead, made in the parent before the fork: only what was written, none of the zeros.
//!
//! Between the fork and this file's part in the child nobody reaches an allocation that lies in an arena: the C library only touches its own, which are
//! small. A child that is made without it (`_Fork`, a bare `clone`) has nothing at these addresses, and ends there; it cannot harm its parent.

use std::ffi::c_void;

use crate::{
    arenas::{Arena, Arenas, Home, PAGE},
    system,
};

/// From now on children of forks have a copy.
pub fn watch() {
    // SAFETY: the handlers do only what is allowed in a child: calls of the system's, and memory of this file's own.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// Nobody allocates or frees until the fork is over.
unsafe extern "C" fn before() {
    let mut arenas = Arenas::lock();
    for arena in arenas.arenas() {
        if matches!(arena.home, Home::File(..)) {
            arena.twin = system::private(arena.bytes()).unwrap_or(0);
            copy(arena);
        }
    }
    arenas.leave_closed();
}

unsafe extern "C" fn in_parent() {
    for arena in Arenas::closed().arenas() {
        if arena.twin != 0 {
            // SAFETY: the copy, which is the child's.
            unsafe { libc::munmap(arena.twin as *mut c_void, arena.bytes()) };
            arena.twin = 0;
        }
    }
}

unsafe extern "C" fn in_child() {
    for arena in Arenas::closed().arenas() {
        let Home::File(file, identity) = arena.home else { continue };
        arena.home = if take_twin(arena) { Home::Private } else { Home::Lost };
        arena.twin = 0;
        if system::identity(file) == Some(identity) {
            // SAFETY: the arena's; nobody needs it here.
            unsafe { libc::close(file) };
        }
    }
}

/// Moves the copy where the arena was.
fn take_twin(arena: &Arena) -> bool {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    let (twin, length, start) = (arena.twin as *mut c_void, arena.bytes(), arena.start as *mut c_void);
    // SAFETY: all of the copy, to addresses that are the arena's, at which this process has nothing.
    arena.twin != 0 && unsafe { libc::mremap(twin, length, length, flags, start) } == start
}

/// Copies what was ever written in an arena; what was freed is a hole again.
fn copy(arena: &Arena) {
    let Home::File(file, identity) = arena.home else { return };
    if arena.twin == 0 {
        return;
    }
    let length = arena.bytes() as libc::off_t;
    // The program may have closed the descriptor: then all is read, holes too.
    let holes = system::identity(file) == Some(identity);
    let seek = |from, what, otherwise| {
        // SAFETY: the position of the file means nothing to anybody.
        let found = if holes { unsafe { libc::lseek(file, from, what) } } else { -1 };
        if found >= 0 {
            found.min(length)
        } else {
            otherwise
        }
    };
    let mut at = 0;
    while at < length {
        let data = seek(at, libc::SEEK_DATA, if holes { length } else { at });
        let end = seek(data, libc::SEEK_HOLE, length).max(data);
        let (from, to) = (
            (arena.start as libc::off_t + data) as *const u64,
            (arena.twin as libc::off_t + data) as *mut u64,
        );
        for word in 0..(end - data) as usize / size_of::<u64>() {
            // SAFETY: in the arena and in the copy. Other threads, and a NIC, may write meanwhile: word by word, then, and what they write
            // may be half there, as what other threads do during a fork may be half done.
            unsafe { to.add(word).write(from.add(word).read_volatile()) };
        }
        at = end.max(data + PAGE as libc::off_t);
    }
}
