//! `export`, `list`, `budget` and `prove`: the work is done by the program viaduct-export of the crate `viaduct-flow`.

use crate::command::Cmd;
use crate::project::{Project, VENV_VARIABLE};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The program.
const PROGRAM: &str = "viaduct-export";

/// Which viaduct-export runs.
#[derive(Clone, Copy, Debug)]
pub enum Exporter {
    /// Cargo brings it up to date first.
    Build,
    /// Cargo has built it with the whole workspace, and [`keep`] has kept it.
    Built,
    /// That of the large profile; Cargo brings it up to date first.
    Large,
}

impl Exporter {
    fn command(self, project: &Project) -> Result<Cmd> {
        Ok(match self {
            Exporter::Built => Cmd::new(kept(project)?).ambient(VENV_VARIABLE, &project.venv),
            Exporter::Build => {
                project.cargo("run")?.args(["--quiet", "-p", "viaduct-flow", "--bin", PROGRAM, "--"])
            }
            Exporter::Large => {
                let program = ["--features", "large", "-p", "viaduct-flow", "--bin", PROGRAM, "--"];
                project.cargo("run")?.arg("--quiet").args(program)
            }
        })
    }
}

/// Where the program of the whole workspace's build lies: what cargo builds later, for the large profile, does not come in its place.
fn kept(project: &Project) -> Result<PathBuf> {
    Ok(project.scratch("tools")?.join(PROGRAM))
}

/// Keeps the program that cargo has just built, for [`Exporter::Built`].
pub fn keep(project: &Project) -> Result<()> {
    let (from, to) = (project.built_folder()?.join(PROGRAM), kept(project)?);
    // It may be running still, in a run that was ended: not written over, but replaced.
    let part = to.with_extension("part");
    std::fs::copy(&from, &part).with_context(|| from.display().to_string())?;
    std::fs::rename(&part, &to).with_context(|| to.display().to_string())
}

/// Writes the NIC's Verilog into a folder.
pub fn export(project: &Project, exporter: Exporter, folder: &Path) -> Result<()> {
    exporter.command(project)?.args(["export", "--out"]).arg(std::path::absolute(folder)?).run()
}

/// Writes the Verilog of one block, and of those whose names contain its, into a folder.
pub fn export_block(project: &Project, exporter: Exporter, block: &str, folder: &Path) -> Result<()> {
    let folder = std::path::absolute(folder)?;
    exporter.command(project)?.args(["export", "--only", block, "--out"]).arg(folder).run()
}

/// Checks the Verilog of every block, or of those whose name contains a text.
pub fn lint(project: &Project, exporter: Exporter, only: Option<&str>) -> Result<()> {
    let lint = exporter.command(project)?.arg("lint");
    match only {
        Some(name) => lint.args(["--only", name]).run(),
        None => lint.run(),
    }
}

/// Compares every block's size with its budget. Sizes are those of docs/sizes.json, for a block whose Verilog has not changed since; of these
/// `draw` draws some that are measured all the same.
pub fn budget(project: &Project, exporter: Exporter, json: Option<&Path>, draw: Option<&str>) -> Result<()> {
    let mut budget = exporter.command(project)?.arg("budget");
    if let Some(file) = json {
        budget = budget.arg("--json").arg(std::path::absolute(file)?);
    }
    if let Some(text) = draw {
        budget = budget.args(["--draw", text]);
    }
    budget.run()
}

/// Measures every block, and makes docs/sizes.json anew.
pub fn sizes(project: &Project, exporter: Exporter) -> Result<()> {
    exporter.command(project)?.arg("sizes").run()
}

/// Every block and its least speed alone in MHz, a line each.
pub fn list(project: &Project, exporter: Exporter) -> Result<String> {
    exporter.command(project)?.arg("list").read()
}

/// Writes into a folder what a board's top is built from: see viaduct-export.
pub fn board(
    project: &Project,
    exporter: Exporter,
    board: &str,
    top: &str,
    folder: &Path,
    options: &[String],
) -> Result<()> {
    exporter
        .command(project)?
        .args(["board", board, top])
        .arg(std::path::absolute(folder)?)
        .args(options)
        .run()
}

/// Runs the proofs, or one of them.
pub fn prove(project: &Project, exporter: Exporter, only: Option<&str>) -> Result<()> {
    let prove = exporter.command(project)?.arg("prove");
    match only {
        Some(name) => prove.args(["--only", name]).run(),
        None => prove.run(),
    }
}
