//! `viaduct stat`: what the NIC of a running viad has counted, and what its sessions have: all of them for root and viad's
//! user, their own for others.

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use viaduct_driver::{
    kernel_agent::KernelAgent,
    viad::{
        report::{QueueReport, SessionReport, ViReport},
        Client,
    },
};

use crate::{
    info::{self, words},
    print,
};

/// The NIC of a viad.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    nic: info::Arguments,
    /// Counters that are 0, too
    #[arg(long)]
    all: bool,
}

/// What there is to tell.
#[derive(Serialize)]
struct Stat {
    nic: String,
    device_time_us: f64,
    counters: Vec<Counter>,
    sessions: Vec<Session>,
}

#[derive(Serialize)]
struct Counter {
    name: &'static str,
    value: u64,
    meaning: &'static str,
}

#[derive(Serialize)]
struct Session {
    #[serde(flatten)]
    session: SessionReport,
    virtual_interfaces: Vec<Vi>,
}

#[derive(Serialize)]
struct Vi {
    #[serde(flatten)]
    vi: ViReport,
    waits_for: Vec<String>,
}

/// `viaduct stat`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let stat = look(arguments)?;
    if arguments.nic.json {
        print(&serde_json::to_string_pretty(&stat)?)
    } else {
        print(&text(&stat).join("\n"))
    }
}

fn look(arguments: &Arguments) -> Result<Stat> {
    let (nic, socket) = arguments.nic.viad()?;
    let viad = Client::open(socket).with_context(|| nic.clone())?;
    let counters = viad.counters()?.into_iter().filter(|(_, value)| arguments.all || *value != 0);
    let counters =
        counters.map(|(code, value)| Counter { name: code.name, value, meaning: code.doc.trim() }).collect();
    let mut sessions = Vec::new();
    for session in viad.sessions()? {
        // One that has ended meanwhile is left out.
        let Ok(vis) = viad.vis(session.session) else { continue };
        let own = session.pid == std::process::id() as i32;
        if !own {
            let vis = vis.into_iter().map(|vi| Vi { waits_for: vi.waits_for(), vi });
            sessions.push(Session { session, virtual_interfaces: vis.collect() });
        }
    }
    Ok(Stat { nic, device_time_us: f64::from(viad.time()?) * 1.024, counters, sessions })
}

fn text(stat: &Stat) -> Vec<String> {
    let mut lines = vec![stat.nic.clone()];
    let width = stat.counters.iter().map(|counter| counter.name.len()).max().unwrap_or_default();
    for Counter { name, value, meaning } in &stat.counters {
        lines.push(format!("  {value:>14}  {name:width$}  {meaning}"));
    }
    if stat.sessions.is_empty() {
        lines.push("  no sessions that this user may know of".into());
    }
    for Session { session, virtual_interfaces } in &stat.sessions {
        let SessionReport { session, pid, uid, seconds, cqs, regions, bytes, .. } = session;
        lines.push(format!(
            "  session {session}: process {pid}, user {uid}, for {seconds} s: {cqs} completion queues, \
             {regions} regions of {bytes} bytes"
        ));
        for Vi { vi, waits_for } in virtual_interfaces {
            lines.push(format!(
                "    VI {} {:?}, {}, messages to {} bytes",
                vi.name.index,
                vi.state,
                words(&vi.service),
                vi.max_transfer
            ));
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
    lines
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
