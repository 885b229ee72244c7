//! Names of NICs, and how strict the library is: a file, and variables of the environment.
//!
//! A program's name for a NIC is looked for in `VIPL_NICS` (`NAME=NIC`, several apart by `;`), then in the file (`NAME = NIC`, one a
//! line, `#` begins a comment): `VIPL_CONFIG` names it, else it is /etc/viaduct/vipl.conf. A NIC is what [`via::Nic::open`] takes:
//! `vfio-user:PATH`, `vfio:ADDRESS`, with options behind. The names of five traditions are the same NIC when they have the same
//! number: nic0, VINIC0, /dev/via_eth0, /dev/clanvi0, /dev/via0.
//!
//! `compat = null-ptag` in the file, or `VIPL_COMPAT=null-ptag`: VIs and memory without a protection tag have the default one of
//! their NIC's handle.

use std::{env, fs};

/// Where the file is, unless `VIPL_CONFIG` says otherwise.
const FILE: &str = "/etc/viaduct/vipl.conf";
/// What numbered names begin with.
const FAMILIES: [&str; 5] = ["nic", "VINIC", "/dev/via_eth", "/dev/clanvi", "/dev/via"];

/// What was configured.
#[derive(Debug, Default, PartialEq)]
pub struct Config {
    /// Names and NICs; the first one counts.
    names: Vec<(String, String)>,
    /// Things without a protection tag have the default one.
    pub null_ptag: bool,
}

impl Config {
    /// What environment and file say now. A file that is not there says nothing.
    pub fn read() -> Self {
        let mut config = Self::default();
        for line in env::var("VIPL_NICS").unwrap_or_default().split(';') {
            config.line(line);
        }
        let file = env::var("VIPL_CONFIG").unwrap_or_else(|_| FILE.into());
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            config.line(line);
        }
        if let Ok(value) = env::var("VIPL_COMPAT") {
            config.null_ptag = value == "null-ptag";
        }
        config
    }

    fn line(&mut self, line: &str) {
        let line = line.split('#').next().unwrap_or_default();
        match line.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("compat", "null-ptag")) => self.null_ptag = true,
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                self.names.push((name.into(), value.into()));
            }
            _ => {}
        }
    }

    /// The NIC that a program calls `name`.
    pub fn nic(&self, name: &str) -> Option<String> {
        if name.starts_with("vfio-user:") || name.starts_with("vfio:") {
            return Some(name.into());
        }
        let find = |same: &dyn Fn(&str) -> bool| {
            self.names.iter().find(|(known, _)| same(known)).map(|(_, nic)| nic.clone())
        };
        let number = number(name);
        find(&|known| known == name)
            .or_else(|| number.and_then(|_| find(&|known| self::number(known) == number)))
    }
}

/// The number in a name of one of the families.
fn number(name: &str) -> Option<u32> {
    FAMILIES.iter().find_map(|family| name.strip_prefix(family)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lines: &[&str]) -> Config {
        let mut config = Config::default();
        lines.iter().for_each(|line| config.line(line));
        config
    }

    #[test]
    fn names_of_all_families_are_the_same_nic() {
        let config = config(&[
            "# NICs",
            " nic0 = vfio-user:/a,ip=10.0.0.1 # the first",
            "VINIC1=vfio:0000:01:00.0",
            "x =",
        ]);
        for name in ["nic0", "VINIC0", "/dev/via_eth0", "/dev/clanvi0", "/dev/via0"] {
            assert_eq!(config.nic(name).as_deref(), Some("vfio-user:/a,ip=10.0.0.1"), "{name}");
        }
        assert_eq!(config.nic("nic1").as_deref(), Some("vfio:0000:01:00.0"));
        assert_eq!(config.nic("vfio-user:/b").as_deref(), Some("vfio-user:/b"));
        for name in ["nic2", "nic", "", "x", "/dev/via_lo", "nic-1"] {
            assert_eq!(config.nic(name), None, "{name}");
        }
        assert!(!config.null_ptag);
    }

    #[test]
    fn a_name_itself_counts_more_than_its_number() {
        let config = config(&[
            "nic0 = vfio-user:/a",
            "VINIC0 = vfio-user:/b",
            "compat = null-ptag",
            "nic0=vfio-user:/c",
        ]);
        assert_eq!(config.nic("VINIC0").as_deref(), Some("vfio-user:/b"));
        assert_eq!(config.nic("nic0").as_deref(), Some("vfio-user:/a"));
        assert!(config.null_ptag);
    }
}
