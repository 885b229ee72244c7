//! Descriptors that become readable when something may have happened, for programs that wait for many things at once: by poll(2), epoll(7) or
//! an event loop of theirs.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};

/// A descriptor that is readable from when it is signalled until it is cleared: an eventfd that never blocks. Whoever may signal it keeps a weak
/// reference, so it is closed when its owner lets go of it.
#[derive(Debug)]
pub struct Wakeup(OwnedFd);

impl Wakeup {
    /// One that is not signalled.
    ///
    /// # Errors
    /// The system's: the process has as many descriptors as it may have.
    pub fn new() -> io::Result<Arc<Self>> {
        let file = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Self(file)))
    }

    /// It is readable from now on.
    pub fn signal(&self) {
        // A counter that has no room for another 1 is readable already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// It is not readable any more, until it is signalled again.
    pub fn clear(&self) {
        // Where there is nothing to read, it is clear.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether a descriptor is readable now. It does not wait, and takes nothing from the descriptor.
pub fn is_readable(file: impl AsFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&now)), Ok(1))
}

/// Those who are to be woken by one thing.
#[derive(Debug, Default)]
pub struct Wakeups(Mutex<Vec<Weak<Wakeup>>>);

impl Wakeups {
    /// One more, for as long as it lives.
    pub fn add(&self, wakeup: &Arc<Wakeup>) {
        let mut all = self.lock();
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(wakeup));
    }

    /// Signals all.
    pub fn signal(&self) {
        self.lock().iter().filter_map(Weak::upgrade).for_each(|wakeup| wakeup.signal());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Wakeup>>> {
        // A list: what a thread that panicked left is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_live_are_signalled_and_each_is_cleared_for_itself() {
        let wakeups = Wakeups::default();
        let [one, other] = [(); 2].map(|()| Wakeup::new().expect("a descriptor"));
        wakeups.add(&one);
        wakeups.add(&other);
        assert!(!is_readable(&*one) && !is_readable(&*other));
        wakeups.signal();
        wakeups.signal();
        assert!(is_readable(&*one) && is_readable(&*other));
        one.clear();
        assert!(!is_readable(&*one) && is_readable(&*other), "one clear for any number of signals");
        // Nothing is there to clear: it does not block.
        one.clear();
        drop(other);
        wakeups.signal();
        assert!(is_readable(&*one));
        wakeups.add(&one);
        assert_eq!(wakeups.lock().len(), 2, "who is gone is forgotten");
    }
}
