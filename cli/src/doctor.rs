//! `viaduct doctor`: whether this machine and its boards are as they should be.

use anyhow::{bail, Context, Result};
use clap::Args;
use serde::Serialize;
use viaduct_driver::pci::{Function, Group, Machine, Memlock};
use viaduct_spec::profile::REGIONS;

/// Bytes that a program should be able to lock: a small program's memory and the agent's rings.
const MODEST: u64 = 64 << 20;

/// Checks a machine with boards.
#[derive(Args)]
pub struct Arguments {
    /// The same in JSON
    #[arg(long)]
    json: bool,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// As it should be.
    Ok,
    /// It works, and could be better.
    Note,
    /// Nothing works before it is mended.
    Wrong,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    state: State,
    /// What was looked at: the machine, or a NIC's name.
    of: String,
    what: String,
    mend: Vec<String>,
}

/// `viaduct doctor`. Ends with an error if something is wrong.
pub fn run(arguments: &Arguments) -> Result<()> {
    let findings = look(&Machine::default())?;
    if arguments.json {
        crate::output::print(&serde_json::to_string_pretty(&findings)?)?;
    } else {
        crate::output::print(text(&findings).trim_end())?;
    }
    match findings.iter().filter(|finding| finding.state == State::Wrong).count() {
        0 => Ok(()),
        1 => bail!("one thing is wrong"),
        count => bail!("{count} things are wrong"),
    }
}

fn look(machine: &Machine) -> Result<Vec<Finding>> {
    let of = |state, what: String| Finding { state, of: "machine".into(), what, mend: Vec::new() };
    let mut findings = vec![if machine.has_iommu() {
        of(State::Ok, "an IOMMU is in use".into())
    } else {
        of(
            State::Wrong,
            "no IOMMU is in use: VT-d or AMD-Vi in the firmware's set-up, intel_iommu=on for the kernel"
                .into(),
        )
    }];
    findings.push(locked(machine.memlock()));
    findings.extend(machine.dma_entry_limit().map(maps));
    let functions = machine.functions().with_context(|| machine.looked_for())?;
    if functions.is_empty() {
        findings.push(of(State::Wrong, format!("no NIC was found; looked for {}", machine.looked_for())));
    }
    functions.iter().for_each(|function| findings.extend(of_function(machine, function)));
    Ok(findings)
}

fn locked(Memlock { limit, locked }: Memlock) -> Finding {
    let (state, what) = match limit {
        None => (State::Ok, "this user may lock all memory".into()),
        Some(limit) if limit.saturating_sub(locked) >= MODEST => {
            (State::Ok, format!("this user may lock {limit} bytes"))
        }
        Some(limit) => {
            (State::Note, format!("this user may lock {limit} bytes only, and registered memory is locked"))
        }
    };
    let mend = if state == State::Ok {
        Vec::new()
    } else {
        vec![format!("sudo prlimit --pid $$ --memlock={}", 1_u64 << 30)]
    };
    Finding { state, of: "machine".into(), what, mend }
}

/// A registered range takes a map of the IOMMU.
fn maps(limit: u64) -> Finding {
    let state = if limit >= REGIONS as u64 { State::Ok } else { State::Note };
    let what = format!(
        "a program may map {limit} ranges (dma_entry_limit); a NIC has rows for {REGIONS} registered ones"
    );
    Finding { state, of: "machine".into(), what, mend: Vec::new() }
}

/// Whether a function that nothing hinders has its group for itself. `others` are those of the group that are no ports of the bus.
fn alone(number: u32, others: &[&str]) -> (State, String) {
    let usable = "vfio-pci has it, and this user may open it";
    if others.is_empty() {
        return (State::Ok, format!("IOMMU group {number} is its own, {usable}"));
    }
    let others = others.join(", ");
    (
        State::Note,
        format!("{usable}, but IOMMU group {number} also has {others}: one program at a time gets them all"),
    )
}

/// vfio-pci lets a function sleep that nobody has open, and some slots take the power away then.
fn power(state: &str) -> (State, String) {
    match state {
        "D0" | "D3hot" => (State::Ok, format!("power state {state}")),
        "D3cold" => (State::Note, "power state D3cold: it has no power until a program opens it".into()),
        _ => (
            State::Wrong,
            format!("power state {state}: the kernel does not know it, or it has left the bus"),
        ),
    }
}

fn of_function(machine: &Machine, function: &Function) -> Vec<Finding> {
    let of = |state, what: String, mend| Finding { state, of: function.name(), what, mend };
    let mut findings: Vec<Finding> = function
        .obstacles(machine)
        .iter()
        .map(|obstacle| of(State::Wrong, obstacle.reason(), obstacle.mend()))
        .collect();
    if findings.is_empty() {
        let (state, what) = function
            .group
            .as_ref()
            .map_or_else(|| alone(0, &[]), |group| alone(group.number, &others(group)));
        findings.push(of(state, what, Vec::new()));
    }
    findings.extend(function.power.as_deref().map(power).map(|(state, what)| of(state, what, Vec::new())));
    if let Some(link) = &function.link {
        let what = format!("link: {} lane(s) at {}", link.width, link.speed);
        findings.push(if link.is_full() {
            of(State::Ok, what, Vec::new())
        } else {
            let what =
                format!("{what}, and it can do {} at {}: try another slot", link.max_width, link.max_speed);
            of(State::Note, what, Vec::new())
        });
    }
    findings
}

/// The other functions of a group, without the ports of PCI Express that lead to them.
fn others(group: &Group) -> Vec<&str> {
    let others = group.others.iter().filter(|member| !member.is_port());
    others.map(|member| member.name.as_str()).collect()
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { state, of, what, mend } in findings {
        let state = match state {
            State::Ok => "ok   ",
            State::Note => "note ",
            State::Wrong => "WRONG",
        };
        text += &format!("{state}  {of}: {what}\n");
        for command in mend {
            text += &format!("         $ {command}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_pci_is_told_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = |name| folder.path().join(name);
        let machine = Machine { sys: root("sys"), dev: root("dev"), proc: root("proc") };
        let findings = look(&machine).expect("nothing there");
        let wrong: Vec<&str> =
            findings.iter().filter(|one| one.state == State::Wrong).map(|one| one.what.as_str()).collect();
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].contains("intel_iommu=on") && wrong[1].contains("1234:5649"), "{wrong:?}");
        assert!(text(&findings).contains("WRONG  machine: no IOMMU"));
    }

    #[test]
    fn little_memory_to_lock_is_noted_and_how_to_have_more() {
        let finding = locked(Memlock { limit: Some(8 << 20), locked: 0 });
        assert_eq!((finding.state, finding.mend.len()), (State::Note, 1));
        assert_eq!(locked(Memlock { limit: None, locked: 0 }).state, State::Ok);
        assert_eq!(locked(Memlock { limit: Some(1 << 30), locked: (1 << 30) - 1 }).state, State::Note);
    }

    #[test]
    fn few_maps_are_noted() {
        assert_eq!(maps(65_535).state, State::Ok);
        assert_eq!(maps(REGIONS as u64 - 1).state, State::Note);
    }

    #[test]
    fn a_group_of_several_is_noted_and_who_is_in_it() {
        assert_eq!(alone(7, &[]).0, State::Ok);
        let (state, what) = alone(7, &["0000:03:00.0", "0000:04:00.0"]);
        assert_eq!(state, State::Note);
        assert!(what.contains("group 7 also has 0000:03:00.0, 0000:04:00.0"), "{what}");
    }

    #[test]
    fn a_function_may_sleep() {
        let states = ["D0", "D3hot", "D3cold", "error"].map(|state| power(state).0);
        assert_eq!(states, [State::Ok, State::Ok, State::Note, State::Wrong]);
    }
}
