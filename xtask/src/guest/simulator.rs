//! The simulator with the NICs, and what it has to say of them at the end.

use super::console::{each_line, Tail};
use super::running::Running;
use crate::project::Project;
use anyhow::{bail, ensure, Context, Result};
use clap::ValueEnum;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long it may take to start: it resets its NICs first.
const START: Duration = Duration::from_secs(60);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// What simulated NICs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Functional models
    Model,
    /// The RTL, Verilated
    Rtl,
}

impl Kind {
    /// As the simulator's option `--nic` has it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Model => "model",
            Kind::Rtl => "rtl",
        }
    }
}

/// A simulator.
pub struct Simulator {
    /// Several guests look after it.
    process: Mutex<Running>,
    folder: PathBuf,
    nics: usize,
    errors: Arc<Mutex<Tail>>,
}

impl Simulator {
    /// Starts one with so many NICs of a kind, its sockets in `folder`, and waits until it is there.
    pub fn start(
        project: &Project,
        folder: &Path,
        (nics, kind): (usize, Kind),
        args: &[&str],
    ) -> Result<Simulator> {
        let cmd = project.built("viaduct-sim")?.arg("--dir").arg(folder).args(["--nic", kind.name()]);
        let cmd = cmd.arg("--nics").arg(nics.to_string()).args(args).ambient("VIADUCT_LOG", "warn");
        let mut process = Running::start(&cmd)?;
        let errors = Arc::new(Mutex::new(Tail::default()));
        if let Some((output, stderr)) = process.outputs() {
            // Both are read, or a simulator that says much would stop when a pipe is full.
            let tail = Arc::clone(&errors);
            std::thread::spawn(move || each_line(stderr, |line| keep(&tail, line)));
            let tail = Arc::clone(&errors);
            std::thread::spawn(move || each_line(output, |line| keep(&tail, line)));
        }
        let (process, folder) = (Mutex::new(process), folder.to_path_buf());
        let simulator = Simulator { process, folder, nics, errors };
        let start = Instant::now();
        while !(simulator.sockets().iter().all(|socket| socket.exists()) && simulator.status().is_ok()) {
            simulator.check().with_context(|| format!("it said:\n{}  and", simulator.errors()))?;
            ensure!(start.elapsed() < START, "the simulator does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(simulator)
    }

    /// The NICs' sockets.
    pub fn sockets(&self) -> Vec<PathBuf> {
        (0..self.nics).map(|nic| self.folder.join(format!("nic{nic}.sock"))).collect()
    }

    /// Fails when it has ended.
    pub fn check(&self) -> Result<()> {
        if let Some(status) = self.process.lock().unwrap_or_else(PoisonError::into_inner).ended()? {
            bail!("the simulator ended, {status}");
        }
        Ok(())
    }

    /// What it has said of faults.
    pub fn errors(&self) -> String {
        self.errors.lock().map_or_else(|_| String::new(), |tail| tail.text())
    }

    fn status(&self) -> Result<Value> {
        Ok(self.ask("status")?["status"].take())
    }

    /// What it answers to a command.
    fn ask(&self, command: &str) -> Result<Value> {
        let stream = UnixStream::connect(self.folder.join("control.sock"))?;
        stream.set_read_timeout(Some(ANSWER))?;
        (&stream).write_all(format!("{{\"command\":\"{command}\"}}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["ok"] == true, "the simulator answers {line:?}");
        Ok(answer)
    }

    /// Ends it; then its capture is whole.
    pub fn end(self) -> Result<()> {
        self.ask("shutdown")?;
        let ended = self.process.lock().unwrap_or_else(PoisonError::into_inner).wait()?;
        let status = ended.context("the simulator does not end")?;
        ensure!(status.success(), "the simulator ended, {status}; it said:\n{}", self.errors());
        Ok(())
    }

    /// Bytes of frames that each NIC has sent.
    pub fn sent_bytes(&self) -> Result<Vec<u64>> {
        let status = self.status().context("the simulator's status")?;
        let nics = status["nics"].as_array().context("the status has no NICs")?;
        nics.iter()
            .map(|nic| nic["link"]["sent_bytes"].as_u64().context("a NIC without sent_bytes"))
            .collect()
    }

    /// The cycles simulated; fails if a NIC broke a rule of the bus.
    pub fn judge(&self) -> Result<u64> {
        let status = self.status().context("the simulator's status")?;
        let nics = status["nics"].as_array().map_or(&[][..], Vec::as_slice);
        ensure!(nics.len() == self.nics, "the simulator tells of {} NICs", nics.len());
        for (i, nic) in nics.iter().enumerate() {
            let violations = nic["violations"].as_array().context("the status has no violations")?;
            ensure!(violations.is_empty(), "NIC {i} broke rules of the bus: {}", nic["violations"]);
        }
        status["cycles"].as_u64().context("the status has no cycles")
    }
}

fn keep(tail: &Mutex<Tail>, line: String) {
    if let Ok(mut tail) = tail.lock() {
        tail.push(line);
    }
}
