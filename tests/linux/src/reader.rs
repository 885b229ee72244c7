//! Lines that somebody says: a thread reads them, so that nobody waits for ever.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{bail, Result};

/// Lines of somebody's: the guest's shell, or a program.
pub struct Reader(Receiver<String>);

impl Reader {
    /// Reads lines from now on.
    pub fn new(from: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
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
    /// None comes in this time; whoever says them has ended.
    pub fn next(&self, limit: Duration) -> Result<String> {
        match self.0.recv_timeout(limit) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => bail!("nothing is said for {} s", limit.as_secs()),
            Err(RecvTimeoutError::Disconnected) => bail!("it has ended"),
        }
    }
}
