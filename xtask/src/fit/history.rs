//! `docs/fit-history.csv`: size and speed of every build for a board, so that growth is seen.

use super::board::Order;
use super::report::Report;
use crate::command::Cmd;
use crate::project::{read, write, Project};
use anyhow::Result;

/// The first line.
const HEAD: &str = "commit,board,top,seed,lut4,flip_flops,block_rams,clock,achieved_mhz,constraint_mhz\n";

/// Appends a line for each clock of one placement.
pub fn append(project: &Project, order: &Order, seed: u32, report: &Report) -> Result<()> {
    let file = project.root.join("docs").join("fit-history.csv");
    let before = if file.exists() { read(&file)? } else { HEAD.to_owned() };
    write(&file, before + &lines(&commit(project), order, seed, report))
}

/// What is built. A tree that differs from its commit in more than this file says so; one without git has no name.
fn commit(project: &Project) -> String {
    let git = |args: &[&str]| Cmd::new("git").args(args).folder(&project.root);
    let Some(name) = git(&["describe", "--always"]).probe() else { return "unknown".into() };
    let clean = git(&["diff", "--quiet", "HEAD", "--", ".", ":!docs/fit-history.csv"]).probe().is_some();
    name.trim().to_owned() + if clean { "" } else { "-dirty" }
}

fn lines(commit: &str, order: &Order, seed: u32, report: &Report) -> String {
    let used = |name| report.usage(name).map(|(used, _)| used.to_string()).unwrap_or_default();
    let (luts, flip_flops, rams) = (used("LUT4"), used("flip-flops"), used("block RAMs"));
    let line = |clock: &super::report::Clock| {
        let Order { board, top, .. } = order;
        let super::report::Clock { name, achieved, constraint } = clock;
        format!(
            "{commit},{board},{top},{seed},{luts},{flip_flops},{rams},{name},{achieved:.1},{constraint}\n"
        )
    };
    report.clocks.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_the_head_names() {
        let report = r#"{"fmax": {"clock": {"achieved": 130.46, "constraint": 125.0}},
            "utilization": {"TRELLIS_COMB": {"used": 10, "available": 20}, "DP16KD": {"used": 1, "available": 2}}}"#;
        let report = Report::parse(report, |_| None).unwrap();
        let order = Order {
            board: "b".into(),
            top: "nic".into(),
            seed: None,
            seeds: 1,
            options: Vec::new(),
            json: None,
        };
        let text = lines("abc", &order, 3, &report);
        assert_eq!(text, "abc,b,nic,3,10,,1,clock,130.5,125\n");
        assert_eq!(text.matches(',').count(), HEAD.matches(',').count());
    }
}
