//! `viaduct bind` and `viaduct unbind`: a board goes to vfio-pci and back.

use anyhow::{Context, Result};
use clap::Args;
use viaduct_driver::pci::{Address, Change, Machine};

use crate::output::print;

/// Where the groups of users are.
const GROUPS: &str = "/etc/group";

/// Gives a NIC to vfio-pci.
#[derive(Args)]
pub struct BindArguments {
    /// The NIC's PCI address, as `viaduct devices` lists it: 0000:01:00.0
    address: Address,
    /// Lets the users of this group open the NIC: a name out of /etc/group, or a number
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

/// Takes a NIC from vfio-pci.
#[derive(Args)]
pub struct UnbindArguments {
    /// The NIC's PCI address
    address: Address,
}

/// `viaduct bind`: prints each change, and what is still in the way.
pub fn bind(arguments: &BindArguments) -> Result<()> {
    let machine = Machine::default();
    let group = arguments.group.as_deref().map(number_of).transpose()?;
    changed(|note| machine.bind(arguments.address, group, note))?;
    let function = machine.function(arguments.address).context("the function")?;
    for obstacle in function.iter().flat_map(|function| function.obstacles(&machine)) {
        print(&format!("still in the way: {obstacle}"))?;
    }
    Ok(())
}

/// `viaduct unbind`: prints each change.
pub fn unbind(arguments: &UnbindArguments) -> Result<()> {
    changed(|note| Machine::default().unbind(arguments.address, note))
}

/// Prints changes as they are made: also those before one that fails.
fn changed<E: std::error::Error + Send + Sync + 'static>(
    change: impl FnOnce(&mut dyn FnMut(Change)) -> std::result::Result<(), E>,
) -> Result<()> {
    let mut printed = Ok(());
    let done = change(&mut |change| {
        if printed.is_ok() {
            printed = print(&change.to_string());
        }
    });
    printed?;
    Ok(done?)
}

/// A group's number.
fn number_of(group: &str) -> Result<u32> {
    if let Ok(number) = group.parse() {
        return Ok(number);
    }
    let text = std::fs::read_to_string(GROUPS).context(GROUPS)?;
    number_in(&text, group)
        .with_context(|| format!("{GROUPS} has no group {group}: `groupadd --system {group}` makes it"))
}

fn number_in(groups: &str, name: &str) -> Option<u32> {
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_their_names() {
        let groups = "root:x:0:\nvfio:x:997:ann,ben\nvf:x:5:\nbad:x\n";
        assert_eq!(number_in(groups, "vfio"), Some(997));
        assert_eq!(number_in(groups, "root"), Some(0));
        assert_eq!(number_in(groups, "bad"), None);
        assert_eq!(number_in(groups, "kvm"), None);
        assert_eq!(number_of("12").ok(), Some(12));
    }
}
