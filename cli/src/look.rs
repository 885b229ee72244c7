//! What a viad says of its NIC and of its sessions at one time: `viaduct stat` prints it, `viaduct top` compares two.
//!
//! Root and viad's own user hear of all sessions. Others hear of their own, and of the rest how much they have together.

use std::fs;

use anyhow::Result;
use serde::Serialize;
use viaduct_driver::{
    kernel_agent::KernelAgent,
    viad::{
        report::{QueueReport, SessionReport, Totals, ViReport},
        Client,
    },
};

use crate::info::words;

/// What there is to tell.
#[derive(Serialize)]
pub struct Look {
    /// The NIC.
    pub nic: String,
    /// Its time base, in ticks; it wraps.
    #[serde(skip)]
    pub ticks: u32,
    device_time_us: f64,
    /// What it has counted.
    pub counters: Vec<Counter>,
    /// What all sessions have together.
    pub all_sessions: Totals,
    /// The sessions that this user may know of.
    pub sessions: Vec<Session>,
}

/// A counter of the NIC's.
#[derive(Serialize)]
pub struct Counter {
    /// Its name in the specification.
    pub name: &'static str,
    /// What it has counted since the NIC was reset.
    pub value: u64,
    /// What it counts.
    pub meaning: &'static str,
}

/// A client of viad's.
#[derive(Serialize)]
pub struct Session {
    /// What viad says of it.
    #[serde(flatten)]
    pub session: SessionReport,
    /// The name of its process, if that can be seen from here.
    pub program: Option<String>,
    /// Its VIs.
    pub virtual_interfaces: Vec<Vi>,
}

/// A virtual interface.
#[derive(Serialize)]
pub struct Vi {
    /// What viad says of it.
    #[serde(flatten)]
    pub vi: ViReport,
    /// What has to happen before it goes on.
    pub waits_for: Vec<String>,
}

/// Microseconds of a tick.
pub const TICK_US: f64 = 1.024;

impl Look {
    /// Asks.
    ///
    /// # Errors
    /// viad or its NIC is gone.
    pub fn take(viad: &Client, nic: &str) -> Result<Self> {
        let mut sessions = Vec::new();
        for session in viad.sessions()? {
            // This one is nothing that one wants to know of.
            if session.pid == std::process::id() as i32 {
                continue;
            }
            // One that has ended meanwhile is left out.
            let Ok(vis) = viad.vis(session.session) else { continue };
            let vis = vis.into_iter().map(|vi| Vi { waits_for: vi.waits_for(), vi });
            sessions.push(Session {
                program: program(session.pid),
                virtual_interfaces: vis.collect(),
                session,
            });
        }
        let counters = viad.counters()?.into_iter();
        let counters =
            counters.map(|(code, value)| Counter { name: code.name, value, meaning: code.doc.trim() });
        let counters = counters.collect();
        let all_sessions = viad.totals()?;
        let ticks = viad.time()?;
        let device_time_us = f64::from(ticks) * TICK_US;
        Ok(Self { nic: nic.into(), ticks, device_time_us, counters, all_sessions, sessions })
    }

    /// The sessions and their VIs, for people.
    pub fn lines(&self) -> Vec<String> {
        let Totals { sessions, vis, cqs, regions, bytes } = self.all_sessions;
        let mut lines = vec![format!(
            "  all {sessions} sessions together: {vis} VIs, {cqs} completion queues, {regions} regions of {bytes} bytes"
        )];
        if self.sessions.is_empty() {
            lines.push("  no sessions that this user may know of".into());
        }
        self.sessions.iter().for_each(|session| session.lines(&mut lines));
        lines
    }
}

impl Session {
    fn lines(&self, lines: &mut Vec<String>) {
        let SessionReport { session, pid, uid, seconds, cqs, regions, bytes, trusted, .. } = self.session;
        let program = self.program.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        lines.push(format!(
            "  session {session}: process {pid}{program}, user {uid}{}, for {seconds} s: {cqs} completion queues, \
             {regions} regions of {bytes} bytes",
            if trusted { ", trusted" } else { "" }
        ));
        self.virtual_interfaces.iter().for_each(|vi| vi.lines(lines));
    }
}

impl Vi {
    fn lines(&self, lines: &mut Vec<String>) {
        let Self { vi, waits_for } = self;
        let (index, state, level) = (vi.name.index, vi.state, words(&vi.service));
        lines.push(format!("    VI {index} {state:?}, {level}, messages to {} bytes", vi.max_transfer));
        if let Some(progress) = &vi.connection {
            let host = progress.host.map_or("unknown".into(), |host| host.ip.to_string());
            let (from, to) = (progress.from, progress.to);
            lines.push(format!("      peer     {host} {to:?}, from {from:?}: {:?}", progress.phase));
        }
        lines.push(format!("      send     {}", queue(&vi.send)));
        lines.push(format!("      receive  {}", queue(&vi.receive)));
        lines.extend(waits_for.iter().map(|what| format!("      waits for {what}")));
    }
}

fn queue(queue: &QueueReport) -> String {
    let open = match queue.open {
        Some(open) => format!("{open} posted and not complete"),
        None => "its memory cannot be read".into(),
    };
    match queue.last {
        Some(last) => format!("{} slots, last position {last}, {open}", queue.slots),
        None => format!("{} slots, nothing posted since it began", queue.slots),
    }
}

/// The name of a process. It has given that to itself, and it goes to a terminal: so control characters are written out.
fn program(pid: i32) -> Option<String> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').escape_debug().to_string())
}

#[cfg(test)]
impl Look {
    /// A NIC at this time, with nothing but counters.
    pub fn example(ticks: u32, counters: Vec<Counter>) -> Self {
        let (nic, device_time_us) = ("viad:/example".into(), f64::from(ticks) * TICK_US);
        Self { nic, ticks, device_time_us, counters, all_sessions: Totals::default(), sessions: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_name_without_control_characters() {
        rustix::thread::set_name(c"a\x1b[2Jb").expect("short");
        let task = rustix::thread::gettid().as_raw_nonzero().get();
        // A thread is in /proc, too.
        assert_eq!(program(task).as_deref(), Some("a\\u{1b}[2Jb"));
        assert_eq!(program(-1), None);
    }
}
