//! The end of the console that is read: a thread does it, so that nobody waits for ever.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{bail, Result};

/// Lines of the console.
pub struct Reader(Receiver<String>);

impl Reader {
    /// Reads lines from now on.
    pub fn new(console: UnixStream) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut console = BufReader::new(console);
            let mut line = Vec::new();
            while console.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_string();
                line.clear();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
        Self(lines)
    }

    /// The next line.
    ///
    /// # Errors
    /// None comes in this time; the guest has ended.
    pub fn next(&self, limit: Duration) -> Result<String> {
        match self.0.recv_timeout(limit) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => bail!("the guest says nothing for {} s", limit.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("the guest has ended"),
        }
    }
}
