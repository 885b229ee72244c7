//! Threads of the library's in programs that know nothing of them: a program's signal handlers do not run there.

use std::{io, mem::MaybeUninit, thread::JoinHandle};

/// Signals that a thread raises itself, by what it does. They stay as they are: a handler of the program's may run on a thread of the
/// library's, and meet what it mends by a signal (a page that is to be fetched, say).
const OWN: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Starts a thread in which all signals are blocked but those that it raises itself: what is sent to the process goes to the program's own
/// threads, and interrupts no call of the library's.
///
/// # Errors
/// The system's: no thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // A thread begins with the mask of the one that starts it: so there is no moment in which it has another.
    let before = block()?;
    let thread = std::thread::Builder::new().name(name.into()).spawn(body);
    restore(before);
    thread
}

/// Blocks signals in this thread: the mask that it had.
fn block() -> io::Result<Option<libc::sigset_t>> {
    // Miri knows no signals.
    if cfg!(miri) {
        return Ok(None);
    }
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: `sigfillset` makes the first a mask, of which then some signals are taken; `pthread_sigmask` reads that, and writes the
    // other one when it succeeds.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for signal in OWN {
            libc::sigdelset(all.as_mut_ptr(), signal);
        }
        match libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) {
            0 => Ok(Some(before.assume_init())),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

fn restore(before: Option<libc::sigset_t>) {
    if let Some(before) = before {
        // SAFETY: a mask that this thread had. It fails for no mask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    /// What signals the calling thread blocks: bit n - 1 for signal n.
    fn blocked() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("readable");
        let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a line");
        u64::from_str_radix(line.trim(), 16).expect("a mask")
    }

    #[test]
    fn a_thread_blocks_what_it_does_not_raise_itself_and_its_starter_does_not() {
        let before = blocked();
        let there = super::spawn("quiet", blocked).expect("a thread").join().expect("no panic");
        assert_eq!(blocked(), before);
        // SIGKILL, SIGSTOP, and two of the C library's cannot be blocked.
        let free = super::OWN.into_iter().chain([libc::SIGKILL, libc::SIGSTOP, 32, 33]);
        let free = free.fold(0, |mask, signal| mask | 1u64 << (signal - 1));
        assert_eq!(there | free, u64::MAX);
        assert_eq!(there & free & !(3 << 31), 0);
    }
}
