//! How calls wait: for a descriptor, and for no longer than the NIC lives.

use std::{
    ffi::{c_int, c_void},
    os::fd::{AsRawFd, BorrowedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    io::retry_on_intr,
    time::Timespec,
};

use crate::via::{error::Errno, ffi};

/// How long one sleeps before one asks whether the NIC lives.
const SLICE: Duration = Duration::from_secs(1);

/// Whether a queue is to have a descriptor to wait on, by the wait object that a program asks for.
///
/// # Errors
/// [`Errno::NO_CALL`]: a wait object that is not offered.
pub fn is_wanted(object: ffi::fi_wait_obj) -> Result<bool, Errno> {
    match object {
        ffi::FI_WAIT_NONE => Ok(false),
        ffi::FI_WAIT_UNSPEC | ffi::FI_WAIT_FD => Ok(true),
        _ => Err(Errno::NO_CALL),
    }
}

/// Answers what a program asks of a queue's descriptor to wait on.
///
/// # Errors
/// [`Errno::NO_CALL`]: another question.
///
/// # Safety
/// NULL, or a place for what the command asks for.
pub unsafe fn tell(command: c_int, place: *mut c_void, file: BorrowedFd<'_>) -> Result<(), Errno> {
    match command as u32 {
        // SAFETY: the caller's promise.
        ffi::FI_GETWAIT => unsafe { ffi::put(place.cast::<c_int>(), file.as_raw_fd()) },
        // SAFETY: as above.
        ffi::FI_GETWAITOBJ => unsafe { ffi::put(place.cast::<ffi::fi_wait_obj>(), ffi::FI_WAIT_FD) },
        _ => Err(Errno::NO_CALL),
    }
}

/// Until when a call may wait.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// As libfabric says it: milliseconds, without end if they are negative.
    pub fn of(milliseconds: i32) -> Self {
        let time = u64::try_from(milliseconds).ok().map(Duration::from_millis);
        Self(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// Whether it has come.
    pub fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    /// How long one may sleep at once.
    fn slice(self) -> Duration {
        self.0.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE))
    }

    /// Sleeps until the descriptor is readable, or for a while: whether it is.
    ///
    /// # Errors
    /// The system's.
    pub fn sleep(self, file: BorrowedFd<'_>) -> Result<bool, Errno> {
        let limit = Timespec::try_from(self.slice()).map_err(|_| Errno::INVALID)?;
        let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut files, Some(&limit)))? > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use viaduct_driver::wakeup::Wakeup;

    use super::*;

    #[test]
    fn who_waits_for_no_time_does_not_sleep_and_who_waits_without_end_sleeps_in_slices() {
        assert!(Deadline::of(0).is_over() && !Deadline::of(60_000).is_over() && !Deadline::of(-1).is_over());
        assert_eq!((Deadline::of(0).slice(), Deadline::of(-1).slice()), (Duration::ZERO, SLICE));
        let wakeup = Wakeup::new().expect("a descriptor");
        assert_eq!(Deadline::of(1).sleep(wakeup.as_fd()), Ok(false));
        wakeup.signal();
        assert_eq!(Deadline::of(-1).sleep(wakeup.as_fd()), Ok(true));
    }
}
