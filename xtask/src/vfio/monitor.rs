//! QEMU's monitor: what the guest cannot do to its own machine, a job of its asks for, and QEMU does it. The protocol is QMP
//! (docs/interop/qmp-spec.rst of QEMU): a line of JSON for each command and each answer.
//!
//! Nothing here unplugs a card: QEMU 11.1 aborts when `device_del` takes a vfio-user-pci away (`memory_region_del_subregion`).

use super::qemu;
use anyhow::{bail, ensure, Context, Result};
use serde_json::{json, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long QEMU has for an answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Data Link Protocol Error, in QEMU's word: an error that PCI Express cannot correct, and fatal by default.
const BUS_ERROR: &str = "DLP";

/// The monitor of a machine.
pub struct Monitor {
    socket: PathBuf,
    nics: usize,
}

impl Monitor {
    /// Of a machine that has its monitor at `socket`, and so many NICs.
    pub fn new(socket: &Path, nics: usize) -> Monitor {
        Monitor { socket: socket.to_path_buf(), nics }
    }

    /// Does what the guest asks for: `bus-error N`, the root port of NIC N finds an error of its link.
    pub fn perform(&self, asked: &str) -> Result<()> {
        let nic: Option<usize> = asked.strip_prefix("bus-error ").and_then(|nic| nic.parse().ok());
        let nic = nic.with_context(|| {
            format!("the guest asks for {asked:?}; there is bus-error, with a NIC's number")
        })?;
        ensure!(nic < self.nics, "{asked}: there are {} NICs", self.nics);
        let mut line = Line::connect(&self.socket)?;
        line.call(&json!({"execute": "qmp_capabilities"}))?;
        let words = format!("pcie_aer_inject_error {} {BUS_ERROR}", qemu::port(nic));
        let command = json!({"execute": "human-monitor-command", "arguments": {"command-line": words}});
        let answer = line.call(&command).with_context(|| asked.to_string())?;
        // A command for people answers in words. This one says "OK id: ..." when it has done what it should.
        let text = answer.as_str().unwrap_or_default();
        ensure!(text.starts_with("OK "), "{asked}: {text:?}");
        Ok(())
    }
}

/// A connection to it.
struct Line(BufReader<UnixStream>);

impl Line {
    /// Connects; QEMU greets first.
    fn connect(socket: &Path) -> Result<Line> {
        let stream =
            UnixStream::connect(socket).with_context(|| format!("no monitor at {}", socket.display()))?;
        stream.set_read_timeout(Some(ANSWER))?;
        let mut line = Line(BufReader::new(stream));
        let greeting = line.read()?;
        ensure!(greeting.get("QMP").is_some(), "QEMU's monitor does not greet: {greeting}");
        Ok(line)
    }

    /// What a command returns. Events in between are for others.
    fn call(&mut self, command: &Value) -> Result<Value> {
        self.0.get_mut().write_all(format!("{command}\n").as_bytes())?;
        loop {
            let mut answer = self.read()?;
            if let Some(error) = answer.get("error") {
                bail!("QEMU refuses {command}: {error}");
            }
            if let Some(returned) = answer.get_mut("return") {
                return Ok(returned.take());
            }
        }
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.0.read_line(&mut line).context("QEMU's monitor")? > 0, "QEMU's monitor has closed");
        serde_json::from_str(&line).with_context(|| format!("QEMU's monitor says {line:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// What a monitor does that answers so to the command behind the greeting.
    fn performed(asked: &str, answers: &'static str) -> (Result<()>, Option<Value>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("monitor");
        let listener = UnixListener::bind(&socket).unwrap();
        let monitor = Monitor::new(&socket, 1);
        std::thread::scope(|scope| {
            let qemu = scope.spawn(move || {
                let (mut stream, _) = listener.accept().ok()?;
                stream.write_all(b"{\"QMP\": {}}\n").ok()?;
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                lines.next()?.ok()?;
                stream.write_all(b"{\"return\": {}}\n").ok()?;
                let command = serde_json::from_str(&lines.next()?.ok()?).ok();
                stream.write_all(answers.as_bytes()).ok()?;
                command
            });
            let outcome = monitor.perform(asked);
            if outcome.is_err() {
                // Nobody may have come.
                drop(UnixStream::connect(&socket));
            }
            (outcome, qemu.join().unwrap())
        })
    }

    #[test]
    fn a_deed_is_a_command_of_qemu_s() {
        let said = "{\"event\": \"SOMETHING\"}\n{\"return\": \"OK id: port0\\r\\n\"}\n";
        let (outcome, command) = performed("bus-error 0", said);
        outcome.unwrap();
        assert_eq!(command.unwrap()["arguments"]["command-line"], "pcie_aer_inject_error port0 DLP");
    }

    #[test]
    fn what_is_refused_or_unknown_is_named() {
        let why =
            |asked: &str, answers: &'static str| format!("{:#}", performed(asked, answers).0.unwrap_err());
        assert!(why("bus-error 0", "{\"error\": {\"desc\": \"no\"}}\n").contains("\"no\""));
        assert!(why("bus-error 0", "{\"return\": \"Error: no\"}\n").contains("Error: no"));
        assert!(why("bus-error 0", "{\"return\": \"device not found\"}\n").contains("not found"));
        assert!(why("bus-error 1", "").contains("there are 1 NICs"));
        assert!(why("shake 0", "").contains("there is bus-error"));
        assert!(why("bus-error 0", "").contains("has closed"));
    }
}
