//! Counts the system calls of a thread, by the kernel's own account: the trace point at the entry of each (perf_event_open(2)). The thread is not
//! stopped, and needs no debugger.

use std::{
    fs, io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use anyhow::{Context, Result};

/// The number of the trace point, where tracefs is mounted.
const POINT: &str = "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id";
/// `perf_event_attr` in linux/perf_event.h, its first version: 64 bytes, of which the first three numbers count here.
const ATTRIBUTES: usize = 8;
/// PERF_TYPE_TRACEPOINT.
const TRACE_POINT: u64 = 2;
/// PERF_FLAG_FD_CLOEXEC.
const CLOEXEC: u64 = 1 << 3;

/// The system calls of one thread.
pub struct SystemCalls(OwnedFd);

impl SystemCalls {
    /// Those of this thread, from now on.
    ///
    /// # Errors
    /// The kernel has no such trace point, or this user may not count by it.
    pub fn of_this_thread() -> Result<Self> {
        let point = fs::read_to_string(POINT).context(POINT)?;
        let point: u64 = point.trim().parse().context("the number of a trace point")?;
        let mut attributes = [0u64; ATTRIBUTES];
        // The kind is the low half of the first word, the size of all of it the high half.
        attributes[0] = TRACE_POINT | (size_of_val(&attributes) as u64) << 32;
        attributes[1] = point;
        let (this_thread, any_processor, no_group) = (0i64, -1i64, -1i64);
        // SAFETY: the kernel reads the attributes, which are as long as they say, and makes a new descriptor.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                attributes.as_ptr(),
                this_thread,
                any_processor,
                no_group,
                CLOEXEC,
            )
        };
        let file = i32::try_from(file).ok().filter(|file| *file >= 0);
        let file = file.ok_or_else(io::Error::last_os_error).context("perf_event_open")?;
        // SAFETY: it is new, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(file) }))
    }

    /// How many there were, the one that asks among them.
    fn now(&self) -> Result<u64> {
        let mut count = [0; 8];
        // SAFETY: the kernel writes at most 8 bytes into `count`.
        let read = unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        (read == 8).then(|| u64::from_ne_bytes(count)).ok_or_else(io::Error::last_os_error).context("a count")
    }

    /// Does something: what came of it, and its system calls.
    ///
    /// # Errors
    /// Its own; no count.
    pub fn during<T, E: Into<anyhow::Error>>(&self, call: impl FnOnce() -> Result<T, E>) -> Result<(T, u64)> {
        let before = self.now()?;
        let done = call().map_err(Into::into)?;
        // The second question is one itself.
        Ok((done, self.now()? - before - 1))
    }
}
