//! Doorbell pages and sleepers have a bell in common, and hear from it that viad is gone.

use std::{
    os::fd::OwnedFd,
    sync::{
        atomic::{AtomicU32, Ordering},
        OnceLock,
    },
    time::Duration,
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    io::Errno,
};

use super::{super::sleepers::Words, waiting::Waiting, Leased, Notice, Sleepers};
use crate::device::DeviceError;

/// How often those who sleep are woken when viad has gone: each may be between its look and its sleep.
const LAST_WAKES: u32 = 40;
/// And how long after each other.
const BETWEEN_WAKES: Duration = Duration::from_millis(25);

/// What doorbell pages and sleepers have in common.
pub(super) struct Bell {
    pub(super) place: String,
    pub(super) notice: Notice,
    /// The session's own.
    pub(super) own: Notice,
    pub(super) wake: OwnedFd,
    /// Why viad is gone, once it is.
    pub(super) reason: OnceLock<String>,
    /// Not 0: viad is gone.
    pub(super) gone: AtomicU32,
    pub(super) sleepers: Sleepers,
    /// Those who wait on descriptors.
    pub(super) waiting: Waiting,
}

impl Bell {
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        if self.gone.load(Ordering::Relaxed) == 0 && !self.notice.has_ended() {
            return Ok(());
        }
        let reason = self.reason.get().map_or("viad ended", String::as_str);
        Err(DeviceError::Gone { place: self.place.clone(), reason: reason.into() })
    }

    /// viad is gone: nobody sleeps on.
    pub(super) fn end(&self, reason: String) -> DeviceError {
        // The first reason counts.
        let _ = self.reason.set(reason);
        self.gone.store(1, Ordering::SeqCst);
        for notice in [&self.notice, &self.own] {
            (0..=u8::MAX).take_while(|&n| notice.generation(n).is_some()).for_each(|n| notice.wake(n));
        }
        self.waiting.signal_all();
        let reason = self.reason.get().cloned().unwrap_or_default();
        DeviceError::Gone { place: self.place.clone(), reason }
    }
}

/// Ends with the session. When viad is gone, those who sleep are woken, and the function is let go of, if the session has it.
pub(super) fn watch(socket: &OwnedFd, bell: &Bell, leased: Option<&Leased>) {
    let mut files = [PollFd::new(socket, PollFlags::RDHUP)];
    while let Err(Errno::INTR) = poll(&mut files, None) {}
    let end = || drop(bell.end("viad ended, or closed the session (its log says why)".into()));
    // Posts hear of it first.
    end();
    if let Some(leased) = leased {
        leased.orphaned();
    }
    for _ in 0..LAST_WAKES {
        end();
        std::thread::sleep(BETWEEN_WAKES);
    }
}
