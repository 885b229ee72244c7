//! The notice page: what viad tells all its clients without being asked. viad writes it, clients can only read it.
//!
//! ```text
//!   0    asleep: the forwarder sleeps, or is about to; who has posted writes its eventfd
//!   4    ended: viad ends
//!   64 + 64 n   generation of vector n, a futex
//! ```
//!
//! Each session has another one, its own: there vector [`EVENTS`] says that it has asynchronous errors, [`CONNECTION_EVENTS`] that its connections have
//! events.

use std::{
    io,
    os::fd::OwnedFd,
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use rustix::{
    fs::{fcntl_add_seals, SealFlags},
    thread::futex,
    time::Timespec,
};
use viaduct_spec::profile::VECTORS;

use super::sleepers::Words;
use crate::{memory::Mapping, queues::poller_state::PollerState};

/// Bytes of the page.
pub const BYTES: usize = 4096;
/// In a session's own page: there are asynchronous errors.
pub const EVENTS: u8 = 0;
/// In a session's own page: its connections have events.
pub const CONNECTION_EVENTS: u8 = 1;

const ASLEEP: usize = 0;
const ENDED: usize = 4;
const FIRST_VECTOR: usize = 64;
/// Each has a cache line of its own.
const STRIDE: usize = 64;

/// The notice page, mapped.
#[derive(Debug)]
pub struct Notice(Mapping);

impl Notice {
    /// viad's: a new page, and the descriptor by which clients can map it for reading only.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (memory, file) = Mapping::shared("viad-notice", BYTES)?;
        // This mapping stays writable; nobody makes another that is.
        fcntl_add_seals(&file, SealFlags::FUTURE_WRITE | SealFlags::SEAL)?;
        Ok((Self(memory), file))
    }

    /// A client's.
    pub fn of(memory: Mapping) -> Option<Self> {
        (memory.length() >= BYTES).then_some(Self(memory))
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        let start: NonNull<u8> = self.0.start();
        // SAFETY: offsets are of this file, aligned and inside the page, which lives as long as `self` and is accessed as atomics
        // only. A client's page is mapped for reading, and only read.
        unsafe { start.add(offset).cast::<AtomicU32>().as_ref() }
    }

    fn vector(&self, vector: u8) -> Option<&AtomicU32> {
        let vector = usize::from(vector);
        (vector < VECTORS).then(|| self.word(FIRST_VECTOR + STRIDE * vector))
    }

    /// What viad says of itself: asleep and ended, which are halves of one word. A client only reads it, whole or half.
    pub fn state(&self) -> &PollerState {
        const { assert!(ASLEEP == 0 && ENDED == 4) };
        // SAFETY: it is such a word, in the page, which lives as long as `self`.
        unsafe { self.0.start().cast().as_ref() }
    }

    /// Not 0: viad has said that it ends.
    pub(super) fn ended(&self) -> &AtomicU32 {
        self.word(ENDED)
    }

    /// Whether viad has said that it ends.
    pub fn has_ended(&self) -> bool {
        self.word(ENDED).load(Ordering::Acquire) != 0
    }

    /// viad: it ends. Everybody wakes.
    pub fn end(&self) {
        self.state().end();
        (0..VECTORS as u8).for_each(|vector| self.raise(vector));
    }

    /// viad: a vector was raised.
    pub fn raise(&self, vector: u8) {
        if let Some(word) = self.vector(vector) {
            word.fetch_add(1, Ordering::AcqRel);
            self.wake(vector);
        }
    }
}

impl Words for Notice {
    fn generation(&self, vector: u8) -> Option<u32> {
        Some(self.vector(vector)?.load(Ordering::Acquire))
    }

    fn wake(&self, vector: u8) {
        if let Some(word) = self.vector(vector) {
            // It fails for no word that is mapped.
            let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
        }
    }

    fn sleep(&self, vector: u8, seen: u32, timeout: Duration) {
        let (Some(word), Ok(time)) = (self.vector(vector), Timespec::try_from(timeout)) else { return };
        let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&time));
    }
}

#[cfg(test)]
mod tests {
    use std::{os::fd::AsFd, sync::Arc};

    use super::*;
    use crate::device::DmaAccess;

    fn both() -> (Notice, Arc<Notice>) {
        let (server, file) = Notice::create().expect("memory");
        assert!(Mapping::of(file.as_fd(), BYTES, DmaAccess::ReadWrite).is_err(), "clients cannot write it");
        let memory = Mapping::of(file.as_fd(), BYTES, DmaAccess::Read).expect("mapped");
        (server, Arc::new(Notice::of(memory).expect("a page")))
    }

    #[test]
    fn no_vector_that_is_raised_is_slept_through() {
        let (server, client) = both();
        let turns = 20_000;
        let sleeper = std::thread::spawn(move || {
            let mut seen = client.generation(3).expect("a vector");
            while seen < turns {
                client.sleep(3, seen, Duration::from_secs(60));
                seen = client.generation(3).expect("a vector");
            }
            client
        });
        (0..turns).for_each(|_| server.raise(3));
        let client = sleeper.join().expect("it woke each time");
        assert_eq!(client.generation(2), Some(0));
        assert_eq!(client.generation(VECTORS as u8), None);
        assert!(!client.has_ended() && client.state().word() == 0);
        let sleep = || assert_ne!(client.state().word(), 0);
        server.state().sleep_unless::<()>(|| Ok(false), sleep).expect("no error of the pass");
        assert_eq!(client.state().word(), 0);
        server.end();
        assert!(client.has_ended() && client.generation(0) == Some(1));
    }
}
