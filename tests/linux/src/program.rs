//! A program of ours on the NIC, in a process of its own.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};

use crate::reader::Reader;
use crate::talk::LIMIT;

/// The program. It ends with this value.
pub struct Program {
    process: KillOnDrop,
    lines: Reader,
}

impl Program {
    /// Starts it. Its lines are those that it prints.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut process = spawn(command.stdout(Stdio::piped()))?;
        let lines = Reader::new(process.0.stdout.take().context("a pipe")?);
        Ok(Self { process, lines })
    }

    /// Starts it. Its lines are those of its log, on standard error.
    pub fn start_logged(command: &mut Command) -> Result<Self> {
        let mut process = spawn(command.stderr(Stdio::piped()))?;
        let lines = Reader::new(process.0.stderr.take().context("a pipe")?);
        Ok(Self { process, lines })
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) -> Result<()> {
        self.process.0.kill()?;
        self.process.0.wait()?;
        Ok(())
    }

    /// The next line that it says.
    pub fn line(&self) -> Result<String> {
        self.lines.next(LIMIT)
    }

    /// Waits until it has ended well.
    pub fn finish(mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            match self.process.0.try_wait()? {
                Some(status) if status.success() => break Ok(()),
                Some(status) => bail!("it ended with {status}"),
                None if start.elapsed() > LIMIT => bail!("it does not end"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

fn spawn(command: &mut Command) -> Result<KillOnDrop> {
    let child = command.stdin(Stdio::null()).spawn();
    Ok(KillOnDrop(child.with_context(|| format!("{command:?}"))?))
}

/// A program that is built beside this one.
pub fn beside(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().context("this program is in no folder")?.join(name))
}

/// An example of the library's.
pub fn example(name: &str) -> Result<PathBuf> {
    Ok(beside("examples")?.join(name))
}

/// A process that ends with this value.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
