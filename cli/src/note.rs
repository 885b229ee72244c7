//! What `viaduct send` and `viaduct receive` tell: to a person, or, line by line in JSON, to the
//! demo that started them.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal, Write},
};

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use vipl::{Nic, NicKind};

/// One line of an application's standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// So many bytes are through.
    Progress(u64),
    /// The end of a transfer.
    Report(Report),
    /// Why there is no report.
    Failure(String),
}

/// What an application saw of a transfer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// Its process.
    pub pid: u32,
    /// What carried it: the KIND register of its NIC.
    pub kind: String,
    /// SHA-256 of the bytes as the application had them.
    pub sha256: String,
    /// Bytes.
    pub bytes: u64,
    /// Messages with data.
    pub messages: u64,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Wall time in seconds, from connected to the last completion.
    pub seconds: f64,
    /// Device time in microseconds, the same span.
    pub device_us: f64,
    /// The NIC's counters that are not 0.
    pub counters: BTreeMap<String, u64>,
}

impl Report {
    /// A counter's value.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

/// The name of a kind of NIC.
pub fn kind(kind: NicKind) -> &'static str {
    match kind {
        NicKind::Rtl => "RTL",
        NicKind::Model => "functional model",
    }
}

/// The NIC's counters that are not 0.
pub fn counters(nic: &Nic) -> Result<BTreeMap<String, u64>, vipl::Error> {
    let all = nic.counters()?;
    Ok(all.into_iter().filter(|(_, value)| *value != 0).map(|(code, n)| (code.name.into(), n)).collect())
}

/// What the NIC has to say about a transfer that failed: the frames that it dropped and why, and
/// its asynchronous errors. Empty when it is gone or has nothing to say.
pub fn reasons(nic: &Nic) -> String {
    let mut reasons = Vec::new();
    for (code, value) in nic.counters().unwrap_or_default() {
        let tells = ["DROP_", "NAKS_", "ACCESS_", "TLP_", "EVENT_LOST"];
        if value != 0 && tells.iter().any(|start| code.name.starts_with(start)) {
            reasons.push(format!("{} {value} ({})", code.name, code.doc.trim().trim_end_matches('.')));
        }
    }
    for event in nic.take_events().unwrap_or_default() {
        let (name, doc) = event.meaning().map_or(("unknown event", ""), |code| (code.name, code.doc.trim()));
        let broke = if event.broke { ", which broke the VI" } else { "" };
        reasons.push(format!("{name} on VI {}{broke} ({})", event.vi, doc.trim_end_matches('.')));
    }
    reasons.join("; ")
}

/// Where an application's notes go.
pub enum Voice {
    /// A person: a progress bar, if it is a terminal.
    Person(ProgressBar),
    /// The demo.
    Json,
}

impl Voice {
    /// For a transfer of `bytes`.
    pub fn new(json: bool, bytes: u64) -> Self {
        if json {
            Self::Json
        } else {
            Self::Person(bar(bytes))
        }
    }

    /// So many bytes are through.
    pub fn progress(&self, bytes: u64) {
        match self {
            Self::Person(bar) => bar.set_position(bytes),
            Self::Json => say(&Note::Progress(bytes)),
        }
    }

    /// The end.
    pub fn report(&self, verb: &str, report: &Report) {
        match self {
            Self::Person(bar) => {
                bar.finish_and_clear();
                let Report { kind, sha256, bytes, messages, seconds, .. } = report;
                println!("{verb} {bytes} bytes in {messages} messages, {seconds:.2} s, by the {kind}");
                println!("sha256 {sha256}");
            }
            Self::Json => say(&Note::Report(report.clone())),
        }
    }
}

/// Says a note to the demo. If nobody listens any more, the transfer goes on all the same.
pub fn say(note: &Note) {
    if let Ok(line) = serde_json::to_string(note) {
        let _ = writeln!(io::stdout().lock(), "{line}");
    }
}

/// A progress bar for `bytes`; invisible where there is no terminal.
pub fn bar(bytes: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
