//! A process beside a case: it ends when its owner does, and the last that it has said is kept.

use crate::command::Cmd;
use crate::guest::console::{each_line, Tail};
use crate::guest::running::Running;
use anyhow::{ensure, Result};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A process.
pub struct Process {
    running: Running,
    said: Arc<Mutex<Tail>>,
    /// They end with its outputs.
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts `cmd`.
    pub fn start(cmd: &Cmd) -> Result<Process> {
        let mut running = Running::start(cmd)?;
        let said = Arc::new(Mutex::new(Tail::default()));
        let mut readers = Vec::new();
        if let Some((output, errors)) = running.outputs() {
            // Both are read, or a process that says much would stop when a pipe is full.
            let (one, other) = (keep(&said), keep(&said));
            readers.push(std::thread::spawn(move || each_line(output, one)));
            readers.push(std::thread::spawn(move || each_line(errors, other)));
        }
        Ok(Process { running, said, readers })
    }

    /// The last lines that it has written.
    pub fn said(&self) -> String {
        self.said.lock().map_or_else(|_| String::new(), |said| said.text())
    }

    /// Kills it.
    pub fn kill(&mut self) -> Result<()> {
        self.running.kill()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.running.ended()
    }

    /// How it ended, which it must do by then. All that it has written is read then: it has no children that could write more.
    pub fn end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                for reader in self.readers.drain(..) {
                    ensure!(reader.join().is_ok(), "xtask itself failed: see above");
                }
                return Ok(status);
            }
            ensure!(start.elapsed() < limit, "it has not ended after {limit:?}; it said:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// What keeps the lines that it is given.
fn keep(said: &Arc<Mutex<Tail>>) -> impl FnMut(String) + Send + 'static {
    let said = Arc::clone(said);
    move |line| {
        if let Ok(mut said) = said.lock() {
            said.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No figure: a machine that is busy takes its time.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_it_said_last_is_kept_of_both_its_pipes() {
        let mut process =
            Process::start(&Cmd::new("sh").args(["-c", "echo one; echo two >&2; exit 3"])).unwrap();
        assert_eq!(process.end(LONG).unwrap().code(), Some(3));
        assert!(process.said().contains("one") && process.said().contains("two"), "{}", process.said());
    }

    #[test]
    fn when_it_has_ended_all_that_it_said_is_there() {
        for _ in 0..20 {
            // What a pipe holds is left to be read when it ends.
            let script = "seq 20000; echo last";
            let mut process = Process::start(&Cmd::new("sh").args(["-c", script])).unwrap();
            process.end(LONG).unwrap();
            assert!(process.said().lines().any(|line| line.trim() == "last"), "{}", process.said());
        }
    }

    #[test]
    fn one_that_does_not_end_is_an_error_and_can_be_killed() {
        let mut process = Process::start(&Cmd::new("sleep").arg("600")).unwrap();
        assert!(process.end(Duration::from_millis(50)).unwrap_err().to_string().contains("has not ended"));
        process.kill().unwrap();
        assert!(!process.end(LONG).unwrap().success());
    }
}
