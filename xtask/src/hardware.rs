//! `export`, `list`, `budget` and `prove`: the work is the hdl crate's, in its program viaduct-export.

use crate::command::Cmd;
use crate::project::Project;
use anyhow::Result;
use std::path::Path;

/// The program of the hdl crate.
const PROGRAM: &str = "viaduct-export";

/// Which viaduct-export runs.
#[derive(Clone, Copy, Debug)]
pub enum Exporter {
    /// Cargo brings it up to date first.
    Build,
    /// Cargo has just built it with the whole workspace.
    Built,
    /// That of the large profile; Cargo brings it up to date first.
    Large,
}

impl Exporter {
    fn command(self, project: &Project) -> Result<Cmd> {
        Ok(match self {
            Exporter::Built => project.built(PROGRAM)?,
            Exporter::Build => {
                project.cargo("run")?.args(["--quiet", "-p", "viaduct-hdl", "--bin", PROGRAM, "--"])
            }
            Exporter::Large => {
                let program = ["--features", "large", "-p", "viaduct-hdl", "--bin", PROGRAM, "--"];
                project.cargo("run")?.arg("--quiet").args(program)
            }
        })
    }
}

/// Writes the NIC's Verilog into a folder.
pub fn export(project: &Project, exporter: Exporter, folder: &Path) -> Result<()> {
    exporter.command(project)?.args(["export", "--out"]).arg(std::path::absolute(folder)?).run()
}

/// Checks the Verilog of every block, or of those whose name contains a text.
pub fn lint(project: &Project, exporter: Exporter, only: Option<&str>) -> Result<()> {
    let lint = exporter.command(project)?.arg("lint");
    match only {
        Some(name) => lint.args(["--only", name]).run(),
        None => lint.run(),
    }
}

/// Compares every block's size with its budget.
pub fn budget(project: &Project, exporter: Exporter, json: Option<&Path>) -> Result<()> {
    let budget = exporter.command(project)?.arg("budget");
    match json {
        Some(file) => budget.arg("--json").arg(std::path::absolute(file)?).run(),
        None => budget.run(),
    }
}

/// Every block and its least speed alone in MHz, a line each.
pub fn list(project: &Project, exporter: Exporter) -> Result<String> {
    exporter.command(project)?.arg("list").read()
}

/// Writes into a folder what a board's top is built from: see viaduct-export.
pub fn board(project: &Project, exporter: Exporter, board: &str, top: &str, folder: &Path) -> Result<()> {
    exporter.command(project)?.args(["board", board, top]).arg(std::path::absolute(folder)?).run()
}

/// Runs the proofs, or one of them.
pub fn prove(project: &Project, exporter: Exporter, only: Option<&str>) -> Result<()> {
    let prove = exporter.command(project)?.arg("prove");
    match only {
        Some(name) => prove.args(["--only", name]).run(),
        None => prove.run(),
    }
}
