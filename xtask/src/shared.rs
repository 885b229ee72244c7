//! The shared library as it is shipped: linked of the static one by `cc`, with versions of its symbols. rustc gives the linker a version script of
//! its own for the library that cargo builds, and a linker takes one only; so that library has the same code, and no versions.

use crate::command::Cmd;
use crate::install::SONAME;
use crate::project::{read, write, Project};
use anyhow::{ensure, Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

/// The version of all symbols that there are now. Its number is the soname's; a function that comes later gets a version that begins so.
pub const VERSION: &str = "VIPL_1";

/// What Rust's library needs of the system. Who links the static library needs it, too.
pub const SYSTEM: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// The functions that the library exports.
///
/// # Errors
/// The list cannot be read.
pub fn names(project: &Project) -> Result<BTreeSet<String>> {
    let list = read(&project.root.join("vipl/c/symbols.txt"))?;
    let names = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// What the linker is told of the symbols: these are exported with their version, and nothing else is.
fn script(names: &BTreeSet<String>) -> String {
    let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
    format!("{VERSION} {{\nglobal:\n{names}local:\n    *;\n}};\n")
}

/// Links `to` of the `libvipl.a` in the folder `built`, in the way in which rustc links the library that is beside it.
///
/// # Errors
/// The linker's: a function of the list is not there, among others.
pub fn link(project: &Project, built: &Path, to: &Path) -> Result<()> {
    let file = project.scratch("shared")?.join("libvipl.map");
    write(&file, script(&names(project)?))?;
    Cmd::new("cc")
        .args(["-shared", "-nodefaultlibs", "-o"])
        .arg(to)
        .arg(format!("-Wl,-soname,{SONAME}"))
        .arg(format!("-Wl,--version-script={}", file.display()))
        .args(["-Wl,--no-undefined-version", "-Wl,--no-undefined"])
        // All of the archive is looked at, and what none of the exported functions needs is left out.
        .args(["-Wl,--gc-sections", "-Wl,--whole-archive"])
        .arg(built.join("libvipl.a"))
        .args(["-Wl,--no-whole-archive", "-Wl,--as-needed", "-Wl,-O1"])
        .args(["-Wl,-z,relro,-z,now", "-Wl,-z,noexecstack"])
        // Of a build without debug information the standard library alone has some, which rustc leaves out, too.
        .args((!built.ends_with("debug")).then_some("-Wl,--strip-debug"))
        .args(SYSTEM)
        .run()
}

/// Fails unless a library exports the functions of the list with their version, and nothing else.
///
/// # Errors
/// What it exports and should not, or the other way round.
pub fn check(project: &Project, library: &Path) -> Result<()> {
    let said = Cmd::new("nm").args(["-D", "--defined-only", "--with-symbol-versions"]).arg(library).read()?;
    let exported: BTreeSet<&str> = said
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .filter(|name| *name != VERSION)
        .collect();
    let listed = names(project)?;
    let expected: BTreeSet<String> = listed.iter().map(|name| format!("{name}@@{VERSION}")).collect();
    let differ = exported.iter().copied().filter(|name| !expected.contains(*name));
    let differ: Vec<&str> =
        differ.chain(expected.iter().map(String::as_str).filter(|name| !exported.contains(name))).collect();
    ensure!(differ.is_empty(), "{}: {}", library.display(), differ.join(", "));
    let said = Cmd::new("readelf").arg("-d").arg(library).read()?;
    let soname = said.lines().find(|line| line.contains("(SONAME)")).context("it has no soname")?;
    ensure!(soname.contains(&format!("[{SONAME}]")), "{}: {soname}", library.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_exports_the_list_and_nothing_else() {
        let names = ["VipB", "VipA"].map(str::to_owned).into();
        assert_eq!(script(&names), "VIPL_1 {\nglobal:\n    VipA;\n    VipB;\nlocal:\n    *;\n};\n");
    }

    #[test]
    fn the_version_has_the_soname_s_number() {
        assert_eq!(VERSION.rsplit_once('_').unwrap().1, SONAME.rsplit_once('.').unwrap().1);
    }
}
