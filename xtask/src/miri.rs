//! `miri`: what of the library Miri can run. It looks at every access to memory: whether what `unsafe` promises holds. A NIC it has not:
//! the tests are those over a device of paper, and of what needs no device.

use crate::command::Cmd;
use crate::project::Project;
use crate::suite::Skip;
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
    rustup().args(["run", TOOLCHAIN, "cargo", "miri"]).folder(&project.root)
}

fn rustup() -> Cmd {
    Cmd::new("rustup").env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC")
}

fn ensure() -> Result<()> {
    let is_there = || rustup().args(["run", TOOLCHAIN, "cargo", "miri", "--version"]).probe().is_some();
    if is_there() {
        return Ok(());
    }
    if rustup().arg("--version").probe().is_none() {
        return Err(Skip(
            "Miri is part of Rust's nightly toolchain, which rustup installs, and there is no rustup".into(),
        )
        .into());
    }
    let install = ["toolchain", "install", TOOLCHAIN, "--profile", "minimal"];
    let installed = rustup().args(install).args(["--component", "miri", "--component", "rust-src"]).run();
    match installed {
        Ok(()) if is_there() => Ok(()),
        _ => Err(Skip(format!("rustup cannot install Miri with the toolchain {TOOLCHAIN}")).into()),
    }
}
