//! One run of the guest, from QEMU's start to its end.

use super::Monitor;
use crate::command::Cmd;
use crate::guest::console::{each_line, Tail, Verdict};
use crate::guest::running::Running;
use crate::guest::simulator::Simulator;
use crate::project::read;
use anyhow::{anyhow, bail, Context, Result};
use std::path::Path;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often somebody looks whether the simulator is still there.
const LOOK: Duration = Duration::from_millis(500);

/// What a run that passed has shown.
pub struct Shown {
    /// Checks that passed.
    pub passed: usize,
    /// The kernel's log: faults of DMA are in it.
    pub log: String,
}

/// Starts the guest of this name and listens to it until it powers off, or for so long. What it asks for, the monitor does.
pub fn run(
    name: &'static str,
    qemu: &Cmd,
    simulator: &Simulator,
    log: &Path,
    monitor: Option<&Monitor>,
    limit: Duration,
) -> Result<Shown> {
    let start = Instant::now();
    let mut process = Running::start(qemu)?;
    let (output, errors) = process.outputs().context("QEMU has no output")?;
    let (sender, lines) = channel();
    std::thread::spawn(move || each_line(output, |line| drop(sender.send(line))));
    // A dead device makes QEMU write without end: all is read and the last lines kept.
    let errors = std::thread::spawn(move || {
        let mut tail = Tail::default();
        each_line(errors, |line| tail.push(line));
        tail
    });

    let mut verdict = Verdict::of(name);
    let ended = loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                let asked = verdict.take(line).map(|asked| match monitor {
                    Some(monitor) => monitor.perform(&asked),
                    None => bail!("the guest asks for {asked:?} where nobody does it"),
                });
                if let Some(Err(error)) = asked {
                    break Err(error);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        }
        if let Err(error) = simulator.check() {
            break Err(error);
        }
        if start.elapsed() > limit {
            break Err(anyhow!("the guest is not done after {} s", limit.as_secs()));
        }
    };
    let judged = ended.and_then(|()| match process.wait()? {
        Some(status) if status.success() => verdict.judge(),
        Some(status) => bail!("QEMU ended, {status}"),
        None => bail!("QEMU closed its output and does not end"),
    });
    // Ends it, and with it the reader of its errors.
    drop(process);
    let errors = errors.join().map_or_else(|_| String::new(), |tail| tail.text());
    let kernel = read(log).unwrap_or_default();
    judged.map(|passed| Shown { passed, log: kernel.clone() }).with_context(|| {
        let mut kernel_tail = Tail::default();
        each_line(kernel.as_bytes(), |line| kernel_tail.push(line));
        format!(
            "the guest said:\n{}  its kernel:\n{}  QEMU:\n{}  the simulator:\n{}  why",
            verdict.last(),
            kernel_tail.text(),
            errors,
            simulator.errors()
        )
    })
}
