//! `coverage`: which lines of the NIC's Verilog the tests run, and which bits they turn.
//!
//! The tests of the blocks and the co-simulation suite are built once more with Verilator's counters, in a target
//! folder of their own. A block is the same module wherever it stands, by itself or in the NIC, so that what all models
//! count adds up ([`counts`]). Lines that nothing reaches must stand in docs/coverage.md with a reason ([`reasons`]).

mod counts;
mod reasons;
pub mod source;

use crate::command::Cmd;
use crate::need::Need;
use crate::project::{self, Project};
use crate::{doctor, setup};
use anyhow::{ensure, Context, Result};
use counts::Counts;
use reasons::Reasons;
use std::path::{Path, PathBuf};

/// The variable that `viaduct_verilate` reads: the folder for the counts.
const VARIABLE: &str = "VIADUCT_COVERAGE";

/// Runs the tests and judges what they reached.
pub fn run(project: &Project, json: Option<&Path>) -> Result<()> {
    setup::ensure(project, &[Need::Simulator, Need::Synthesis, Need::Decode])?;
    let folder = project.scratch("coverage/counts")?;
    for old in files(&folder)? {
        std::fs::remove_file(&old).with_context(|| old.display().to_string())?;
    }
    let target = project.scratch("coverage/target")?;
    let counted = |subcommand: &str| -> Result<Cmd> {
        Ok(project.cargo(subcommand)?.env(VARIABLE, &folder).env("CARGO_TARGET_DIR", &target))
    };
    let nextest = project.cargo("nextest")?.arg("--version").probe().is_some();
    let tests = |package| match nextest {
        true => {
            counted("nextest")?.args(["run", "--no-fail-fast", "--profile", "coverage", "-p", package]).run()
        }
        false => counted("test")?.args(["--no-fail-fast", "--tests", "-p", package]).run(),
    };
    let blocks = tests("viaduct-hdl");
    // The programs that the suite starts.
    counted("build")?.args(["-p", "viaduct-sim", "-p", "viaduct-cli", "-p", "viad"]).run()?;
    let stack = tests("viaduct-tests");
    // A test that fails, slow as these models are, does not take with it what the others have counted.
    report(project, &folder, json).and(blocks).and(stack)
}

/// Shows what the files of counts say, and judges it.
fn report(project: &Project, folder: &Path, json: Option<&Path>) -> Result<()> {
    let files = files(folder)?;
    ensure!(!files.is_empty(), "no model has left its counts in {}", folder.display());
    let counts = Counts::read(&files)?;
    let reasons = Reasons::read(&project::read(&project.root.join(reasons::FILE))?)?;
    doctor::show(&counts.table())?;
    let verdict = reasons.judge(&counts.unreached());
    doctor::show(&verdict.text())?;
    if let Some(file) = json {
        let value = serde_json::json!({ "blocks": counts.json(), "unreached": verdict.json() });
        project::write(file, format!("{value:#}\n"))?;
    }
    verdict.check()
}

/// The models' files of counts, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        files.extend(path.extension().is_some_and(|e| e == "dat").then_some(path));
    }
    files.sort();
    Ok(files)
}
