//! Names of NICs, and how strict the library is.
//!
//! A program's name for a NIC is an alias, or what [`via::Nic::open`] takes. Aliases are in the variable `VIADUCT_NICS`
//! (`ALIAS=NAME`, several apart by `;`), then in the file that `VIADUCT_NICS_FILE` names, else /etc/viaduct/nics (`ALIAS NAME`, one a
//! line, `#` begins a comment). The alias `*` stands for every name without one. An alias of an alias is not looked for.
//!
//! `VIPL_COMPAT=null-ptag`: VIs and memory without a protection tag have the default one of their NIC's handle.

use std::{env, fs};

/// Where the aliases are, unless `VIADUCT_NICS_FILE` says otherwise.
const FILE: &str = "/etc/viaduct/nics";

/// Whether things without a protection tag have the default one.
pub fn is_null_ptag_taken() -> bool {
    env::var("VIPL_COMPAT").is_ok_and(|value| value == "null-ptag")
}

/// What a program calls `name`.
pub fn nic(name: &str) -> String {
    let variable = env::var("VIADUCT_NICS").unwrap_or_default();
    let file = env::var("VIADUCT_NICS_FILE").unwrap_or_else(|_| FILE.into());
    // A file that is not there says nothing.
    meaning(name, &variable, &fs::read_to_string(file).unwrap_or_default())
}

fn meaning(name: &str, variable: &str, file: &str) -> String {
    if ["vfio-user:", "vfio:", "viad:"].iter().any(|form| name.starts_with(form)) {
        return name.into();
    }
    let variable = variable.split(';').filter_map(|entry| entry.split_once('='));
    let file = file.lines().filter_map(|line| line.split('#').next()?.trim().split_once(char::is_whitespace));
    let all: Vec<(&str, &str)> =
        variable.chain(file).map(|(alias, name)| (alias.trim(), name.trim())).collect();
    let find = |wanted: &str| all.iter().find(|(alias, _)| *alias == wanted).map(|(_, name)| *name);
    find(name).or_else(|| find("*")).unwrap_or(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_of_the_variable_and_then_of_the_file() {
        let variable = "nic0=vfio-user:/a,ip=10.0.0.1; VINIC0 = vfio-user:/a ;nonsense";
        let file = "# aliases\n nic0 vfio-user:/b\n/dev/via_eth1\tvfio:0000:01:00.0 # a board\n";
        let is = |name| meaning(name, variable, file);
        assert_eq!(is("nic0"), "vfio-user:/a,ip=10.0.0.1");
        assert_eq!(is("VINIC0"), "vfio-user:/a");
        assert_eq!(is("/dev/via_eth1"), "vfio:0000:01:00.0");
        assert_eq!(is("vfio-user:/c"), "vfio-user:/c");
        for name in ["nic1", "", "nonsense"] {
            assert_eq!(is(name), name);
        }
        assert_eq!(meaning("nic1", "*=vfio-user:/d", file), "vfio-user:/d");
        assert_eq!(meaning("nic0", "*=vfio-user:/d", file), "vfio-user:/b");
    }
}
