//! `viaduct devices`: the NICs among this machine's PCI functions, and what keeps this user from each.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use viaduct_driver::pci::{Function, Machine, Memlock, Node, Remapping};

/// Lists NICs.
#[derive(Args)]
pub struct Arguments {
    /// The same in JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Serialize)]
struct Findings {
    looked_for: String,
    memlock: Memlock,
    devices: Vec<Device>,
}

/// One NIC.
#[derive(Serialize)]
struct Device {
    name: String,
    usable: bool,
    #[serde(flatten)]
    function: Function,
    obstacles: Vec<Trouble>,
}

/// What keeps it from working.
#[derive(Serialize)]
struct Trouble {
    reason: String,
    mend: Vec<String>,
}

/// `viaduct devices`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let findings = look(&Machine::default())?;
    if arguments.json {
        return crate::output::print(&serde_json::to_string_pretty(&findings)?);
    }
    let mut text = Vec::new();
    print(&mut text, &findings)?;
    crate::output::print(String::from_utf8_lossy(&text).trim_end())
}

fn look(machine: &Machine) -> Result<Findings> {
    let functions = machine.functions().with_context(|| machine.looked_for())?;
    let device = |function: Function| {
        let obstacles: Vec<Trouble> = function
            .obstacles(machine)
            .iter()
            .map(|obstacle| Trouble { reason: obstacle.reason(), mend: obstacle.mend() })
            .collect();
        Device { name: function.name(), usable: obstacles.is_empty(), function, obstacles }
    };
    Ok(Findings {
        looked_for: machine.looked_for(),
        memlock: machine.memlock(),
        devices: functions.into_iter().map(device).collect(),
    })
}

fn print(out: &mut impl Write, findings: &Findings) -> io::Result<()> {
    if findings.devices.is_empty() {
        writeln!(out, "no NIC found; looked for {}", findings.looked_for)?;
        return writeln!(out, "simulated NICs need none: `viaduct sim up`");
    }
    for device in &findings.devices {
        print_device(out, device)?;
    }
    let Memlock { limit, locked } = findings.memlock;
    match limit {
        Some(limit) => writeln!(
            out,
            "a program may lock {limit} bytes here (`ulimit -l`, {locked} are locked): registered memory counts"
        ),
        None => writeln!(out, "a program may lock and register all memory here"),
    }
}

fn print_device(out: &mut impl Write, device: &Device) -> io::Result<()> {
    let Function { vendor, device: id, driver, group, interrupt_remapping, .. } = &device.function;
    let state = if device.usable { "ready" } else { "not usable yet" };
    writeln!(out, "{}  {state}", device.name)?;
    writeln!(out, "  function    {vendor:04x}:{id:04x}, driver {}", driver.as_deref().unwrap_or("none"))?;
    match group {
        Some(group) => {
            let others: Vec<String> = group
                .others
                .iter()
                .map(|member| format!("{} ({})", member.name, member.driver.as_deref().unwrap_or("none")))
                .collect();
            let others =
                if others.is_empty() { "alone".into() } else { format!("with {}", others.join(", ")) };
            writeln!(out, "  IOMMU       group {}, {others}", group.number)?;
        }
        None => writeln!(out, "  IOMMU       none")?,
    }
    let remapping = match interrupt_remapping {
        Remapping::Yes => "remapped by the IOMMU",
        Remapping::No => "not remapped",
        Remapping::Unknown => "sysfs does not say whether they are remapped",
    };
    writeln!(out, "  interrupts  {remapping}")?;
    for node in [&device.function.group_node, &device.function.device_node].into_iter().flatten() {
        let Node { path, owner, group, mode, accessible } = node;
        let may = if *accessible { "this user may open it" } else { "this user may not open it" };
        writeln!(out, "  node        {} ({owner}:{group} {mode:04o}): {may}", path.display())?;
    }
    for trouble in &device.obstacles {
        writeln!(out, "  in the way  {}", trouble.reason)?;
        for command in &trouble.mend {
            writeln!(out, "              $ {command}")?;
        }
    }
    Ok(())
}
