//! `miri`: what of the library Miri can run. It looks at every access to memory: whether what `unsafe` promises holds. A NIC it has not:
//! the tests are those over a device of paper, and of what needs no device.

use crate::command::Cmd;
use crate::project::Project;
use crate::suite::Skip;
use crate::toolchain;
use anyhow::Result;

/// Miri comes with nightly toolchains alone: this one, so that it finds the same on every machine.
const TOOLCHAIN: &str = "nightly-2026-05-20";

/// What it runs: packages, targets, and tests by their paths.
const RUNS: [(&str, &[&str], &[&str]); 3] = [
    ("vipl", &["--lib", "--test", "library"], &[]),
    ("viaduct-driver", &["--lib"], &["queues::"]),
    ("vipl-c", &["--lib"], &["slots::"]),
];

/// Installs the toolchain if it is not there, and runs the tests.
pub fn run(project: &Project) -> Result<()> {
    ensure()?;
    for (package, targets, tests) in RUNS {
        cargo(project)
            .args(["test", "-p", package])
            .args(targets)
            .arg("--")
            .args(tests)
            // Time and randomness are the machine's.
            .env("MIRIFLAGS", "-Zmiri-disable-isolation")
            .run()?;
    }
    Ok(())
}

fn cargo(project: &Project) -> Cmd {
    // The toolchain's own cargo, whoever has called this one.
    toolchain::run(TOOLCHAIN, "cargo").arg("miri").folder(&project.root)
}

fn ensure() -> Result<()> {
    let is_there = || toolchain::run(TOOLCHAIN, "cargo").args(["miri", "--version"]).probe().is_some();
    if is_there() {
        return Ok(());
    }
    if !toolchain::can_fetch() {
        return Err(Skip(
            "Miri is part of Rust's nightly toolchain, which rustup installs, and there is no rustup".into(),
        )
        .into());
    }
    let installed = toolchain::fetch(TOOLCHAIN, &["miri", "rust-src"]).run();
    match installed {
        Ok(()) if is_there() => Ok(()),
        _ => Err(Skip(format!("rustup cannot install Miri with the toolchain {TOOLCHAIN}")).into()),
    }
}
