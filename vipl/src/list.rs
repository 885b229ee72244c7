//! The NICs that a program may open, and what is known of each without taking it.

use std::{collections::BTreeSet, fs, path::Path};

use viaduct_driver::{
    name::Place,
    pci::{Function, Machine, Obstacle},
};

use crate::{
    names::{self, Target},
    Error, Nic, NicAttributes,
};

/// Where viads have their sockets.
const SOCKETS: &str = "/run";

/// A NIC that a program may open by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NicEntry {
    /// What [`Nic::open`] takes: an alias, where it has one.
    pub name: String,
    /// The name without an alias.
    pub full_name: String,
    /// What is known of it.
    pub state: NicState,
}

/// What is known of a NIC that one has not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NicState {
    /// A viad serves it, and has told what this process may have of it.
    Served(Box<NicAttributes>),
    /// A function, or a simulator's socket, that nothing keeps this process from, as far as one can see. Only who opens it, and so owns it, learns its
    /// attributes; another program may have it already.
    Free,
    /// It cannot be opened, for this reason.
    Unusable(String),
}

/// All NICs that have an alias, and those without that are found: viads at their usual sockets, and PCI functions. The order is that; a NIC that has
/// several aliases is there with each of them.
///
/// # Errors
/// Aliases that cannot be read.
pub fn nics() -> Result<Vec<NicEntry>, Error> {
    let aliases = names::aliases()?.into_iter().filter(|(alias, _)| alias != "*");
    let mut found: Vec<(String, String)> = aliases.collect();
    let named: BTreeSet<String> = found.iter().map(|(_, full)| full.clone()).collect();
    let others = sockets(Path::new(SOCKETS)).into_iter().chain(functions());
    found.extend(others.filter(|name| !named.contains(name)).map(|name| (name.clone(), name)));
    let entry = |(name, full_name): (String, String)| NicEntry { name, state: state(&full_name), full_name };
    Ok(found.into_iter().map(entry).collect())
}

/// The viads that have sockets in a folder, by the names that programs were written with: `viad.sock`, `viad1.sock` and so on.
fn sockets(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let number = |name: &str| match name.strip_prefix("viad")?.strip_suffix(".sock")? {
        "" => Some(0),
        digits => digits.parse::<u16>().ok(),
    };
    let mut found: Vec<(u16, String)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((number(path.file_name()?.to_str()?)?, format!("viad:{}", path.display())))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

/// The PCI functions of this machine that are NICs. Where one cannot look, there are none.
fn functions() -> Vec<String> {
    let functions = Machine::default().functions().unwrap_or_default();
    functions.iter().map(Function::name).collect()
}

fn state(full_name: &str) -> NicState {
    let unusable = |error: &dyn std::fmt::Display| NicState::Unusable(error.to_string());
    match names::resolve(full_name) {
        Err(error) => unusable(&error),
        Ok(Target::Viad(..)) => match Nic::open(full_name) {
            Ok(nic) => NicState::Served(Box::new(nic.attributes())),
            Err(error) => unusable(&error),
        },
        Ok(Target::Device(device)) => match device.place {
            Place::VfioUser(path) if Path::new(&path).exists() => NicState::Free,
            Place::VfioUser(path) => unusable(&format_args!("there is no socket {path}")),
            Place::Vfio(address) => {
                let machine = Machine::default();
                match machine.function(address) {
                    Ok(Some(function)) => match function.obstacles(&machine).first() {
                        None => NicState::Free,
                        Some(obstacle) => unusable(&obstacle.reason()),
                    },
                    Ok(None) => unusable(&Obstacle::NoFunction { address }.reason()),
                    Err(error) => unusable(&error),
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_viads_are_found_by_their_names_in_their_order() {
        let folder = std::env::temp_dir().join(format!("vipl-sockets-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        for name in ["viad10.sock", "viad.sock", "viad2.sock", "viadx.sock", "other.sock", "viad.sock.old"] {
            fs::write(folder.join(name), "").expect("a file");
        }
        let names = [".sock", "2.sock", "10.sock"].map(|end| format!("viad:{}/viad{end}", folder.display()));
        assert_eq!(sockets(&folder), names);
        fs::remove_dir_all(&folder).expect("ours");
        assert!(sockets(&folder).is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no sockets")]
    fn what_cannot_be_opened_says_why() {
        let reason = |name: &str| match state(name) {
            NicState::Unusable(reason) => reason,
            other => panic!("{name}: {other:?}"),
        };
        assert!(reason("vfio-user:/nowhere/nic0.sock").contains("no socket /nowhere/nic0.sock"));
        assert!(reason("viad:/nowhere/viad.sock").contains("/nowhere/viad.sock"));
        // As `Nic::open` says it.
        let address = "ffff:ff:1f.7".parse().expect("an address");
        assert_eq!(reason("vfio:ffff:ff:1f.7"), Obstacle::NoFunction { address }.reason());
        assert!(reason("vfio:").contains("vfio:"));
    }
}
