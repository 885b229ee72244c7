//! `coverage`: which lines of the NIC's Verilog the co-simulation suite runs, and which bits it turns.
//!
//! The suite is built once more with Verilator's counters, in a target folder of its own. Lines that nothing reaches
//! must stand in docs/coverage.md with a reason; one that does not, or one that is reached after all, fails the
//! command.

use crate::command::Cmd;
use crate::need::Need;
use crate::project::{self, Project};
use crate::{doctor, setup};
use anyhow::{ensure, Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The variable that `viaduct_verilate` reads: the folder for the counts.
const VARIABLE: &str = "VIADUCT_COVERAGE";
/// Where the reasons are.
const REASONS: &str = "docs/coverage.md";
/// Files that are merged by one command: each is some megabytes, and a command line has an end.
const CHUNK: usize = 100;

/// Runs the suite and judges its coverage.
pub fn run(project: &Project) -> Result<()> {
    setup::ensure(project, &[Need::Simulator, Need::Decode])?;
    let folder = project.scratch("coverage")?;
    for old in files(&folder)? {
        std::fs::remove_file(&old).with_context(|| old.display().to_string())?;
    }
    let target = project.root.join("target/coverage");
    let suite = |subcommand: &str, args: &[&str]| -> Result<()> {
        let cargo = project.cargo(subcommand)?.args(args).env(VARIABLE, &folder);
        cargo.env("CARGO_TARGET_DIR", &target).run()
    };
    suite("build", &["-p", "viaduct-cli"])?;
    suite("nextest", &["run", "-p", "viaduct-tests"])?;
    let merged = merge(&folder)?;
    let counts = Counts::read(&project::read(&merged)?)?;
    doctor::show(&counts.table())?;
    judge(&counts, &project::read(&project.root.join(REASONS))?)
}

/// The models' files, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        files.extend(path.extension().is_some_and(|e| e == "dat").then_some(path));
    }
    files.sort();
    Ok(files)
}

/// Adds the models' counts up.
fn merge(folder: &Path) -> Result<PathBuf> {
    let merged = folder.join("merged.sum");
    let found = files(folder)?;
    ensure!(!found.is_empty(), "no model has left its counts in {}", folder.display());
    for (n, chunk) in found.chunks(CHUNK).enumerate() {
        let sum = Cmd::new("verilator_coverage").arg("--write").arg(&merged).args(chunk);
        if n == 0 { sum } else { sum.arg(&merged) }.run_quietly()?;
    }
    Ok(merged)
}

/// What is counted of one block.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    /// By first line of its text: how often it ran.
    lines: BTreeMap<u32, u64>,
    /// Bits that have turned, and all.
    toggles: [u64; 2],
}

/// All blocks by the name of their module, and the Verilog that they stand in.
#[derive(Debug, Default)]
struct Counts {
    blocks: BTreeMap<String, Block>,
    source: Vec<String>,
}

impl Counts {
    /// From the text that verilator_coverage writes: `C '<key>^B<value>^A...' <count>`.
    fn read(text: &str) -> Result<Self> {
        let mut counts = Self::default();
        let mut source = None;
        for line in text.lines().filter_map(|line| line.strip_prefix("C '")) {
            let (keys, count) = line.rsplit_once("' ").context("a line of the counts has no end")?;
            let count: u64 = count.trim().parse().with_context(|| format!("{count:?} is no count"))?;
            let keys: BTreeMap<&str, &str> =
                keys.split('\u{1}').filter_map(|pair| pair.split_once('\u{2}')).collect();
            let key = |name: &str| keys.get(name).copied().with_context(|| format!("a count has no {name}"));
            let (kind, module) = key("page")?.split_once('/').context("a count is of no module")?;
            let block = counts.blocks.entry(module.to_owned()).or_default();
            match kind {
                "v_toggle" => {
                    block.toggles[0] += u64::from(count > 0);
                    block.toggles[1] += 1;
                }
                _ => *block.lines.entry(key("l")?.parse()?).or_default() += count,
            }
            source = source.or(Some(key("f")?.to_owned()));
        }
        if let Some(file) = source {
            counts.source = project::read(Path::new(&file))?.lines().map(str::to_owned).collect();
        }
        Ok(counts)
    }

    /// Lines without a count, as `block: text`.
    fn unreached(&self) -> BTreeSet<String> {
        let text = |line: u32| self.source.get(line as usize - 1).map_or("", |text| text.trim());
        let lines = self.blocks.iter().flat_map(|(name, block)| {
            block.lines.iter().filter(|(_, count)| **count == 0).map(move |(line, _)| (name, *line))
        });
        lines.map(|(name, line)| format!("{name}: {}", text(line))).collect()
    }

    fn table(&self) -> String {
        let mut text = format!("{:40} {:>16} {:>20}\n", "block", "lines", "bits that turn");
        let share = |[some, all]: [u64; 2]| {
            let percent = if all == 0 { 100.0 } else { 100.0 * some as f64 / all as f64 };
            format!("{some}/{all} {percent:5.1} %")
        };
        let mut total = [[0; 2]; 2];
        for (name, block) in &self.blocks {
            let reached = block.lines.values().filter(|count| **count > 0).count() as u64;
            let lines = [reached, block.lines.len() as u64];
            for (sum, part) in total.iter_mut().flatten().zip([lines, block.toggles].as_flattened()) {
                *sum += part;
            }
            let _ = writeln!(text, "{name:40} {:>16} {:>20}", share(lines), share(block.toggles));
        }
        let _ = writeln!(text, "{:40} {:>16} {:>20}", "all", share(total[0]), share(total[1]));
        text
    }
}

/// Compares the lines that nothing reached with those that have a reason: the lines of the document's code blocks.
fn judge(counts: &Counts, document: &str) -> Result<()> {
    let unreached = counts.unreached();
    let excused: BTreeSet<String> = excused(document);
    let missing: Vec<_> = unreached.difference(&excused).collect();
    let stale: Vec<_> = excused.difference(&unreached).collect();
    let list = |lines: &[&String]| lines.iter().map(|line| format!("\n  {line}")).collect::<String>();
    ensure!(missing.is_empty(), "no test reaches these, and {REASONS} does not say why:{}", list(&missing));
    ensure!(stale.is_empty(), "{REASONS} excuses lines that are reached, or gone:{}", list(&stale));
    Ok(())
}

/// The lines between fences.
fn excused(document: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut lines = BTreeSet::new();
    for line in document.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            lines.insert(line.trim().to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Counts {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("top.v");
        std::fs::write(&source, "module a;\n  if (x)\n    y <= 1;\n  else\n").unwrap();
        let line = |line: u32, page: &str, count: u64| {
            format!(
                "C '\u{1}f\u{2}{}\u{1}l\u{2}{line}\u{1}page\u{2}{page}\u{1}o\u{2}if' {count}\n",
                source.display()
            )
        };
        let text = ["# SystemC::Coverage-3\n".to_owned(), line(2, "v_line/a", 7), line(3, "v_line/a", 0)];
        let more = [line(1, "v_toggle/a", 0), line(1, "v_toggle/a", 3), line(1, "v_branch/b", 1)];
        Counts::read(&(text.concat() + &more.concat())).unwrap()
    }

    #[test]
    fn lines_and_bits_are_counted_by_block() {
        let counts = counts();
        assert_eq!(counts.blocks["a"].lines, BTreeMap::from([(2, 7), (3, 0)]));
        assert_eq!(counts.blocks["a"].toggles, [1, 2]);
        let table = counts.table();
        assert!(
            table.contains("1/2  50.0 %") && table.lines().last().unwrap().contains("2/3  66.7 %"),
            "{table}"
        );
    }

    #[test]
    fn what_is_not_reached_needs_a_reason_and_a_reason_needs_it() {
        let counts = counts();
        let error = judge(&counts, "nothing").unwrap_err().to_string();
        assert!(error.contains("a: y <= 1;"), "{error}");
        assert!(judge(&counts, "Because.\n```\na: y <= 1;\n```\n").is_ok());
        let error = judge(&counts, "```\na: y <= 1;\na: z <= 2;\n```\n").unwrap_err().to_string();
        assert!(error.contains("a: z <= 2;") && !error.contains("y <="), "{error}");
        assert!(judge(&counts, "a: y <= 1;").is_err(), "outside a code block");
    }

    #[test]
    fn counts_that_cannot_be_read_are_named() {
        assert!(Counts::read("C 'page\u{2}v_line/a' x").is_err());
        assert!(Counts::read("C 'l\u{2}1' 4").unwrap_err().to_string().contains("page"));
    }
}
