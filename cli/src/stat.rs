//! `viaduct stat`: what the NIC of a running viad has counted, and what its sessions have.

use anyhow::Result;
use clap::Args;

use crate::{
    info,
    look::{Counter, Look},
    output::print,
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

/// `viaduct stat`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (nic, viad) = arguments.nic.session()?;
    let mut look = Look::take(&viad, &nic)?;
    look.counters.retain(|counter| arguments.all || counter.value != 0);
    match arguments.nic.json {
        true => print(&serde_json::to_string_pretty(&look)?),
        false => print(&text(&look).join("\n")),
    }
}

fn text(look: &Look) -> Vec<String> {
    let mut lines = vec![look.nic.clone()];
    let width = look.counters.iter().map(|counter| counter.name.len()).max().unwrap_or_default();
    for Counter { name, value, meaning } in &look.counters {
        lines.push(format!("  {value:>14}  {name:width$}  {meaning}"));
    }
    lines.extend(look.lines());
    lines
}
