//! The control socket: one JSON object a line in, one a line out.
//!
//! ```text
//! {"command":"status"}                    {"ok":true,"status":{...}}
//! {"command":"faults","flip_icrc":[3]}    {"ok":true}
//! {"command":"shutdown"}                  {"ok":true}
//! anything else                           {"ok":false,"error":"..."}
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fabric::Faults;
use crate::live::{Ended, Handle, Status};

/// Longest line that is read; the rest of a longer one is skipped.
const LINE_LIMIT: u64 = 64 << 10;
/// Most connections at once.
const CONNECTIONS: usize = 16;

/// A line from the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// What the simulation is doing.
    Status,
    /// New faults on the wire, in place of the old ones.
    Faults(Faults),
    /// Ends the simulator.
    Shutdown,
}

/// A line to the client.
#[derive(Debug, Serialize)]
struct Answer {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Report>,
}

/// A status, and what only the process knows.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    status: Status,
    pcap: Option<PathBuf>,
    /// Of the Verilog that the NICs are made from, where they are RTL.
    verilog_sha256: &'static str,
}

impl Answer {
    fn done() -> Self {
        Self { ok: true, error: None, status: None }
    }

    fn refused(error: impl ToString) -> Self {
        Self { ok: false, error: Some(error.to_string()), status: None }
    }
}

/// Answers on a control socket, in threads of its own, for as long as the process lives.
pub fn serve(listener: UnixListener, handle: Handle, pcap: Option<PathBuf>) -> io::Result<()> {
    let count = Arc::new(AtomicUsize::new(0));
    let accept = move || loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a control connection could not be accepted");
                thread::sleep(Duration::from_millis(50));
                continue;
            }
        };
        if count.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
            count.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (handle, pcap, place) = (handle.clone(), pcap.clone(), Place(count.clone()));
        let talk = move || {
            let end = converse(&stream, &handle, pcap.as_ref());
            tracing::debug!(?end, "control connection ends");
            drop(place);
        };
        if let Err(error) = thread::Builder::new().name("control-client".into()).spawn(talk) {
            tracing::error!(%error, "no thread for a control connection");
        }
    };
    thread::Builder::new().name("control-accept".into()).spawn(accept)?;
    Ok(())
}

/// One of the connections; counted out however its thread ends.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn converse(stream: &UnixStream, handle: &Handle, pcap: Option<&PathBuf>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        if reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() as u64 == LINE_LIMIT && !line.ends_with(b"\n") {
            reader.skip_until(b'\n')?;
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(command) => obey(command, handle, pcap).unwrap_or_else(Answer::refused),
            Err(error) => Answer::refused(error),
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        let mut writer = stream;
        writer.write_all(&text)?;
    }
}

fn obey(command: Command, handle: &Handle, pcap: Option<&PathBuf>) -> Result<Answer, Ended> {
    match command {
        Command::Status => {
            let (status, pcap) = (handle.status()?, pcap.cloned());
            let report = Report { status, pcap, verilog_sha256: crate::rtl::VERILOG_SHA256 };
            Ok(Answer { status: Some(report), ..Answer::done() })
        }
        Command::Faults(faults) => handle.set_faults(faults).map(|()| Answer::done()),
        Command::Shutdown => {
            handle.stop();
            Ok(Answer::done())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Loss;

    #[test]
    fn commands_are_small_json_objects() {
        let parse = |text| serde_json::from_str::<Command>(text).ok();
        assert_eq!(parse(r#"{"command":"status"}"#), Some(Command::Status));
        let faults = Faults { flip_icrc: [3].into(), ..Faults::default() };
        assert_eq!(parse(r#"{"command":"faults","flip_icrc":[3]}"#), Some(Command::Faults(faults)));
        let faults = Faults { loss: Loss { per_million: 10_000, seed: 0 }, ..Faults::default() };
        let line = r#"{"command":"faults","loss":{"per_million":10000}}"#;
        assert_eq!(parse(line), Some(Command::Faults(faults)));
        assert_eq!(parse(r#"{"command":"dance"}"#), None);
        assert_eq!(parse(r#"{"command":"faults","flip":[3]}"#), None);
    }
}
