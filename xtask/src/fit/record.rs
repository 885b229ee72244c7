//! `docs/fit/`: what several placements of the card gave, a file for each board that has a PCI Express edge, and of which Verilog. A
//! placement takes a quarter of an hour to half an hour of a processor, so it is made apart. The part `board` of the suite and `cargo xtask fit --recorded`
//! only ask whether the records are of today's Verilog, but for comments.

use super::board::{code_digest, Made, Order};
use super::budget::Budget;
use super::report::Report;
use crate::hardware::{self, Exporter};
use crate::project::{read, write, Project};
use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};
use std::path::PathBuf;

/// The boards of the card: folders of `constraints/`.
const BOARDS: [&str; 2] = [BOARD, "ulx4m-ld"];
/// The one that is meant where nobody names another.
pub const BOARD: &str = "versa-ecp5";
/// Its design.
const TOP: &str = "nic";
/// So many placements make a record.
const SEEDS: usize = 3;

/// What to do about a record that does not hold.
fn advice(board: &str) -> String {
    format!(
        "`cargo xtask fit --board {board} --seeds {SEEDS}` makes it anew; it takes an hour of two processors"
    )
}

fn file(project: &Project, board: &str) -> PathBuf {
    project.root.join("docs").join("fit").join(format!("{board}.json"))
}

/// Writes the record, if what was built is the card, with as many seeds as a record has.
pub fn keep(project: &Project, order: &Order, made: &Made) -> Result<()> {
    if !BOARDS.contains(&&*order.board) || order.top != TOP || made.reports.len() < SEEDS {
        return Ok(());
    }
    let record = record(&order.board, &made.code, &made.reports);
    write(&file(project, &order.board), serde_json::to_string_pretty(&record)? + "\n")
}

fn record(board: &str, code: &str, reports: &[(u32, Report)]) -> Value {
    let placements: Vec<Value> = reports.iter().map(|(seed, report)| placement(*seed, report)).collect();
    json!({"board": board, "top": TOP, "code_sha256": code, "placements": placements})
}

/// A placement in nextpnr's words, so that [`Report`] reads it again.
fn placement(seed: u32, report: &Report) -> Value {
    let mut placement = report.json();
    placement["seed"] = seed.into();
    placement
}

/// Fails if a record is of another Verilog than today's, or if a placement in it does not keep to the card's budget on its board.
pub fn check(project: &Project, exporter: Exporter) -> Result<()> {
    BOARDS.iter().try_for_each(|board| check_one(project, exporter, board))
}

fn check_one(project: &Project, exporter: Exporter, board: &str) -> Result<()> {
    let folder = project.scratch("fit")?.join("record").join(board);
    hardware::board(project, exporter, board, TOP, &folder, &[])?;
    let budget = Budget::parse(&read(&folder.join("budget"))?)?;
    let code = code_digest(&folder.join("top.v"))?;
    let file = file(project, board);
    let record = serde_json::from_str(&read(&file)?).with_context(|| file.display().to_string())?;
    println!("{board}");
    judge(&record, &code, &budget).with_context(|| format!("{}: {}", file.display(), advice(board)))
}

fn judge(record: &Value, code: &str, budget: &Budget) -> Result<()> {
    let recorded = record["code_sha256"].as_str().context("it has no code_sha256")?;
    ensure!(recorded == code, "it is of the Verilog {recorded}, and today's is {code}");
    let placements = record["placements"].as_array().context("it has no placements")?;
    ensure!(placements.len() >= SEEDS, "{} placements are less than {SEEDS}", placements.len());
    for placement in placements {
        let report = Report::parse(&placement.to_string(), |_| None)?;
        budget.check(&report).with_context(|| format!("seed {}", placement["seed"]))?;
        let clock = report.slowest_clock().context("it has no clock")?;
        println!("seed {}: {:.1} MHz for {}", placement["seed"], clock.achieved, clock.name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(mhz: f64) -> Report {
        let text = format!(
            r#"{{"fmax": {{"pll": {{"achieved": {mhz}, "constraint": 125.0}}}},
            "utilization": {{"TRELLIS_COMB": {{"used": 10, "available": 20}}, "DP16KD": {{"used": 1, "available": 2}}}}}}"#
        );
        Report::parse(&text, |_| None).unwrap()
    }

    #[test]
    fn a_record_holds_for_its_verilog_and_its_budget_alone() {
        let budget = Budget { lut4: 10, block_rams: 1, spare_percent: 5 };
        let made = |mhz| [(1, report(132.5)), (2, report(mhz)), (3, report(140.0))];
        let found = |record: &Value, code, budget: &Budget| {
            judge(record, code, budget).map_or_else(|error| format!("{error:#}"), |()| "kept".into())
        };
        let good = record(BOARD, "aa", &made(131.5));
        assert_eq!(found(&good, "aa", &budget), "kept");
        assert_eq!(found(&good, "bb", &budget), "it is of the Verilog aa, and today's is bb");
        assert_eq!(
            found(&record(BOARD, "aa", &made(130.9)), "aa", &budget),
            "seed 2: pll reaches 130.9 of 131.2 MHz"
        );
        let small = Budget { lut4: 9, ..budget.clone() };
        assert_eq!(found(&good, "aa", &small), "seed 1: 10 LUT4 are more than the budget of 9");
        assert_eq!(
            found(&record(BOARD, "aa", &made(132.0)[..2]), "aa", &budget),
            "2 placements are less than 3"
        );
        assert_eq!(found(&json!({}), "aa", &budget), "it has no code_sha256");
    }
}
