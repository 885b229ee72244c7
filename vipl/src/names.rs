//! Names of NICs, and the other names that programs already have for them.
//!
//! A program opens a NIC by one of
//!
//! - `viad:SOCKET`: through the Kernel Agent at that socket, which many processes share; with `,user=UID` behind it the agent may run as that
//!   user, beside root and one's own: it reaches all memory of this process, or, with `,way=pools`, what the library has allocated; with
//!   `,way=trusted` the agent trusts this process with the function;
//! - `vfio:ADDRESS`, `vfio-user:PATH`, with options after commas: with the agent in this process, which owns the NIC alone;
//! - an alias of one of these, so that a program that is not changed runs over either.
//!
//! Aliases are looked for in this order; the first that is found counts:
//!
//! 1. the variable `VIADUCT_NICS`: `ALIAS=NAME`, with semicolons between (`nic0=viad:/run/viad.sock;nic1=...`);
//! 2. the file that the variable `VIADUCT_NICS_FILE` names, or else `/etc/viaduct/nics`: a line `ALIAS NAME` each, `#` begins
//!    a comment;
//! 3. what programs were written with: `nicN`, `VINICN`, `/dev/via_ethN`, `/dev/clanviN` are `viad:/run/viad.sock` for N = 0
//!    and `viad:/run/viadN.sock` for the others; `/dev/via_lo` is the first of them.
//!
//! The alias `*` stands for every name that is none of the forms above and has no alias of its own. An alias of an alias is
//! not looked for.

use std::{collections::BTreeSet, env, ffi::OsString, fs, io, path::PathBuf};

use viaduct_driver::{
    name::{DeviceName, NoName},
    viad::place::{NoPlace, Place},
};

use crate::Error;

/// Names the aliases.
pub(crate) const VARIABLE: &str = "VIADUCT_NICS";
/// Names the file of aliases.
pub(crate) const FILE_VARIABLE: &str = "VIADUCT_NICS_FILE";
/// The file of aliases, if nobody says otherwise.
const FILE: &str = "/etc/viaduct/nics";
/// What programs were written with, before their number.
const OLD: [&str; 4] = ["nic", "VINIC", "/dev/via_eth", "/dev/clanvi"];
/// And the one without.
const LOOPBACK: &str = "/dev/via_lo";

/// A NIC.
#[derive(Debug)]
pub(crate) enum Target {
    /// A device of this process's own.
    Device(DeviceName),
    /// Behind the viad at this place.
    Viad(Place),
}

/// The name without an alias: two names of one NIC have the same.
///
/// # Errors
/// An alias that nobody has made; aliases that cannot be read.
pub fn full_name(name: &str) -> Result<String, Error> {
    if is_form(name) {
        return Ok(name.into());
    }
    let wrong = |reason: String| Error::Name { name: name.into(), reason };
    let variable = env::var_os(VARIABLE).map(text).transpose().map_err(wrong)?.unwrap_or_default();
    let meaning = meaning(name, &variable, &file().map_err(wrong)?).map_err(wrong)?;
    match meaning {
        Some(full) if is_form(&full) => Ok(full),
        Some(other) => Err(wrong(format!(
            "it is an alias of {other:?}, which begins with none of viad:, vfio: and vfio-user:"
        ))),
        None => Err(wrong(format!(
            "it begins with none of viad:, vfio: and vfio-user:, and is no alias (variable {VARIABLE}, file {FILE})"
        ))),
    }
}

/// All aliases that somebody has made, with what they stand for; of two that are the same the first one, which counts.
pub(crate) fn aliases() -> Result<Vec<(String, String)>, Error> {
    let wrong = |reason: String| Error::Name { name: VARIABLE.into(), reason };
    let variable = env::var_os(VARIABLE).map(text).transpose().map_err(wrong)?.unwrap_or_default();
    let mut all = all(&variable, &file().map_err(wrong)?).map_err(wrong)?;
    let mut seen = BTreeSet::new();
    all.retain(|(alias, _)| seen.insert(alias.clone()));
    Ok(all)
}

/// Finds out what a name means.
pub(crate) fn resolve(name: &str) -> Result<Target, Error> {
    let full = full_name(name)?;
    target(&full).map_err(|reason| {
        let reason = match full == name {
            true => reason,
            false => format!("it is an alias of {full:?}, and that is none: {reason}"),
        };
        Error::Name { name: name.into(), reason }
    })
}

fn is_form(name: &str) -> bool {
    ["viad:", "vfio:", "vfio-user:"].iter().any(|form| name.starts_with(form))
}

fn target(name: &str) -> Result<Target, String> {
    match name.strip_prefix("viad:") {
        Some(viad) => viad.parse().map(Target::Viad).map_err(|error: NoPlace| error.to_string()),
        None => name.parse().map(Target::Device).map_err(|error: NoName| error.to_string()),
    }
}

fn text(value: OsString) -> Result<String, String> {
    value.into_string().map_err(|_| format!("{VARIABLE} is not UTF-8"))
}

/// The file of aliases; empty if there is none and nobody has asked for one.
fn file() -> Result<String, String> {
    let named = env::var_os(FILE_VARIABLE);
    let path = named.clone().map_or_else(|| FILE.into(), PathBuf::from);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => Ok(String::new()),
        Err(error) => Err(format!("aliases: {}: {error}", path.display())),
    }
}

/// The aliases of the variable and of the file, in the order in which they are looked for.
fn all(variable: &str, file: &str) -> Result<Vec<(String, String)>, String> {
    let mut aliases = Vec::new();
    for part in variable.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let alias = part.split_once('=').ok_or_else(|| format!("{VARIABLE}: {part:?} is no ALIAS=NAME"))?;
        aliases.push(alias);
    }
    for (line, number) in file.lines().zip(1..) {
        let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
        if line.is_empty() {
            continue;
        }
        let alias = line.split_once(char::is_whitespace);
        aliases.push(alias.ok_or_else(|| format!("aliases, line {number}: {line:?} is no ALIAS NAME"))?);
    }
    Ok(aliases.into_iter().map(|(alias, name)| (alias.trim().into(), name.trim().into())).collect())
}

/// What an alias stands for.
fn meaning(name: &str, variable: &str, file: &str) -> Result<Option<String>, String> {
    let aliases = all(variable, file)?;
    let find = |alias: &str| aliases.iter().find(|(key, _)| key == alias).map(|(_, name)| name.clone());
    Ok(find(name).or_else(|| find("*")).or_else(|| old(name)))
}

/// The names that programs were written with.
fn old(name: &str) -> Option<String> {
    let digits =
        |prefix: &&str| name.strip_prefix(*prefix).filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let number = OLD.iter().find_map(digits).filter(|digits| (1..=3).contains(&digits.len()));
    let number = number.or((name == LOOPBACK).then_some("0"))?;
    match number.parse::<u16>().ok()? {
        0 => Some("viad:/run/viad.sock".into()),
        number => Some(format!("viad:/run/viad{number}.sock")),
    }
}

#[cfg(test)]
mod tests {
    use viaduct_driver::viad::place::Way;

    use super::*;

    #[test]
    fn old_names_are_those_of_viads() {
        for name in ["nic0", "VINIC0", "/dev/via_eth0", "/dev/clanvi0", "/dev/via_lo", "nic00"] {
            assert_eq!(old(name).as_deref(), Some("viad:/run/viad.sock"), "{name}");
        }
        assert_eq!(old("/dev/via_eth7").as_deref(), Some("viad:/run/viad7.sock"));
        for name in ["nic", "nicN", "nic-1", "/dev/via_eth", "eth0", "nic1000", "Nic0", ""] {
            assert_eq!(old(name), None, "{name}");
        }
    }

    #[test]
    fn the_variable_goes_before_the_file_and_both_before_old_names() {
        let variable = "nic0=vfio-user:/a,ip=10.0.0.1,seed=5; nic1 = viad:/b ;";
        let file = "# aliases\nnic0 viad:/c\n\nnic2\tviad:/d # the third\n";
        let means = |name: &str| meaning(name, variable, file).expect("well-formed");
        assert_eq!(means("nic0").as_deref(), Some("vfio-user:/a,ip=10.0.0.1,seed=5"));
        assert_eq!(means("nic1").as_deref(), Some("viad:/b"));
        assert_eq!(means("nic2").as_deref(), Some("viad:/d"));
        assert_eq!(means("nic3").as_deref(), Some("viad:/run/viad3.sock"));
        assert_eq!(means("another"), None);
        let any = meaning("another", "*=viad:/e", "").expect("well-formed");
        assert_eq!(any.as_deref(), Some("viad:/e"));
        assert!(meaning("x", "nonsense", "").expect_err("no alias").contains("nonsense"));
        assert!(meaning("x", "", "\nalone").expect_err("no alias").contains("line 2"));
    }

    #[test]
    fn what_a_name_begins_with_says_what_it_is() {
        assert!(
            matches!(resolve("viad:/run/x"), Ok(Target::Viad(place)) if place.socket == std::path::Path::new("/run/x") && place.user.is_none())
        );
        assert!(
            matches!(resolve("viad:/run/x,user=992"), Ok(Target::Viad(place)) if place.user == Some(992))
        );
        assert!(
            matches!(resolve("viad:/run/x,way=pools"), Ok(Target::Viad(place)) if place.way == Way::Pools)
        );
        assert!(matches!(resolve("vfio-user:/run/x,seed=3"), Ok(Target::Device(_))));
        for (name, reason) in [
            ("viad:", "no path"),
            ("viad:,user=1", "no path"),
            ("viad:/x,user=me", "a number"),
            ("viad:/x,way=mine", "pools and trusted"),
            ("vfio-user:", "no path"),
            ("vfio:x", "no PCI address"),
            ("", "none of"),
        ] {
            let error = resolve(name).expect_err("no name").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
