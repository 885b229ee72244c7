//! `doctor`: what this machine has and lacks.

use crate::command::Cmd;
use crate::guest;
use crate::need::{Found, Source, TOOLS};
use crate::project::Project;
use crate::version::Version;
use anyhow::{bail, Context, Result};
use std::io::{ErrorKind, Write};

/// Free space that a full build and its tests want, in GiB.
const DISK_GIB: u64 = 6;

/// Prints the tables, and fails if something is missing.
pub fn run(project: &Project) -> Result<()> {
    let mut rows = vec![["tool", "needed by", "wants", "found", "to do"].map(String::from)];
    let mut missing = 0;
    let (rust, rust_works) = rust_row(project)?;
    missing += usize::from(!rust_works);
    rows.push(rust);
    for tool in TOOLS {
        let found = tool.find(project)?;
        missing += usize::from(!found.works());
        let (found, to_do) = match found {
            Found::Yes(version) if version.is_empty() => ("yes".to_string(), String::new()),
            Found::Yes(version) => (version, String::new()),
            Found::Old(version) => (format!("{version}, too old"), remedy(tool.source)),
            Found::No => ("missing".into(), remedy(tool.source)),
        };
        let wants = if tool.minimum.is_empty() { "any" } else { tool.minimum };
        rows.push([tool.name.into(), tool.need.commands().into(), wants.into(), found, to_do]);
    }
    rows.push([
        "guest".into(),
        "test, vfio, linux, mpi".into(),
        "-".into(),
        guest::Cache::find(project).map_or("no".into(), |cache| cache.qemu()),
        "(cargo xtask vfio fetches it into .viaduct/guest)".into(),
    ]);
    let mut report = table(&rows);

    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let df = Cmd::new("df").args(["-P", "-k"]).arg(&project.root).probe();
    let free = df.as_deref().and_then(free_gib);
    let free_text = free.map_or("unknown".into(), |gib| format!("{gib} GiB"));
    report += &format!("\ncores {cores}, free disk {free_text} ({DISK_GIB} GiB wanted)\n");
    if free.is_some_and(|gib| gib < DISK_GIB) {
        report += "the disk may be too small for the builds\n";
    }
    show(&report)?;
    if missing > 0 {
        bail!("{missing} missing; `cargo xtask setup` installs what it can");
    }
    Ok(())
}

/// Writes to standard output; whoever reads it may have seen enough and be gone.
pub fn show(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn rust_row(project: &Project) -> Result<([String; 5], bool)> {
    let wants = project.rust_version()?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = Cmd::new(rustc).arg("--version").probe().context("rustc does not run")?;
    let found = Version::find(&printed).context("rustc printed no version")?;
    let works = found >= wants;
    let to_do = if works { "" } else { "rustup update stable" };
    let row = ["rustc", "all", &wants.to_string(), &found.to_string(), to_do].map(String::from);
    Ok((row, works))
}

fn remedy(source: Source) -> String {
    match source {
        Source::Debian(package) => format!("cargo xtask setup (Debian package {package})"),
        Source::Rustup(component) => format!("rustup component add {component}"),
        Source::Crate(name, options) => [&["cargo", "install", "--locked", name], options].concat().join(" "),
        Source::Pip => "cargo xtask setup (in .viaduct/venv)".into(),
    }
}

/// The free space that `df -P -k` tells of, in GiB.
fn free_gib(df: &str) -> Option<u64> {
    let kib: u64 = df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kib >> 20)
}

/// Lines up columns.
fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_free_space() {
        let df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                  /dev/vda 264000000 13000000 82837504 14% /\n";
        assert_eq!(free_gib(df), Some(79));
        assert_eq!(free_gib("df: no such file"), None);
    }

    #[test]
    fn columns_line_up() {
        let row = |cells: [&str; 5]| cells.map(String::from);
        let text = table(&[row(["a", "bb", "", "c", ""]), row(["aaa", "b", "", "c", "d"])]);
        assert_eq!(text, "a    bb    c\naaa  b     c  d\n");
    }
}
