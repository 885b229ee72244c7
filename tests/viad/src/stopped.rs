//! A process that a test stops, and that goes on later.

use std::{
    io,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{kill_process, Pid, Signal};

/// How long the threads of a process may take to stop.
const LIMIT: Duration = Duration::from_secs(60);

/// Stops a process, and returns when each of its threads has stopped: the signal takes a moment to reach those on other processors.
///
/// # Errors
///
/// The process has ended, or has threads that run on for a minute ([`io::ErrorKind::TimedOut`]).
pub fn stop(process: Pid) -> io::Result<()> {
    kill_process(process, Signal::STOP)?;
    let start = Instant::now();
    while !has_stopped(process)? {
        if start.elapsed() > LIMIT {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a stopped process has threads that run"));
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Whether each of its threads has stopped.
fn has_stopped(process: Pid) -> io::Result<bool> {
    for thread in std::fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()))? {
        // A thread may end meanwhile.
        let stat = std::fs::read_to_string(thread?.path().join("stat")).unwrap_or_default();
        // Behind the name, which is in brackets: the state, T for one that has stopped (proc_pid_stat(5)).
        let state = stat.rsplit(") ").next().and_then(|behind| behind.chars().next());
        if state.is_some_and(|state| state != 'T') {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_busy_process_stops() {
        // It is likely to be on another processor when the signal comes.
        let mut busy = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .expect("a shell");
        let process = Pid::from_child(&busy);
        assert!(!has_stopped(process).expect("it lives"));
        stop(process).expect("it stops");
        assert!(has_stopped(process).expect("it lives"));
        busy.kill().expect("it lives");
        busy.wait().expect("it ends");
        assert!(stop(process).is_err(), "it has ended");
    }
}
