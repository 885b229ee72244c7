//! The fixed dozen: mutants by their place's name, each with the test that kills it. The part `mutate` of the suite.

use super::judge::faultless;
use super::program::{last_words, End, Programs};
use super::verilog::Flat;
use crate::hardware::{self, Exporter};
use crate::project::{self, Project};
use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Where they stand.
const FILE: &str = "hdl/mutants/dozen.txt";

/// What ends a test that hangs: .config/nextest.toml.
const LIMIT: Duration = super::judge::HANG;

/// One of them.
#[derive(Debug, PartialEq)]
struct Line {
    mode: String,
    wire: String,
    bit: u32,
    program: String,
    test: String,
}

/// By block, in order.
fn parse(text: &str) -> Result<BTreeMap<String, Vec<Line>>> {
    let mut blocks: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [block, mode, wire, bit, program, test] = words[..] else {
            bail!("{FILE}: {line:?} is not BLOCK MODE SIGNAL BIT PROGRAM TEST");
        };
        let bit = bit.parse().with_context(|| format!("{FILE}: {line:?}: {bit} is no bit"))?;
        let [mode, wire, program, test] = [mode, wire, program, test].map(str::to_owned);
        blocks.entry(block.into()).or_default().push(Line { mode, wire, bit, program, test });
    }
    ensure!(!blocks.is_empty(), "{FILE} has no mutant");
    Ok(blocks)
}

/// Each is killed by its test, which passes without it.
///
/// # Errors
/// One is not, or its place is no more.
pub fn run(project: &Project, exporter: Exporter) -> Result<()> {
    let blocks = parse(&project::read(&project.root.join(FILE))?)?;
    let folder = project.scratch("mutate/dozen")?;
    let programs = Programs::find(project, &["viaduct-hdl"])?;
    let (mut killed, mut survived) = (0, 0);
    for (block, lines) in &blocks {
        hardware::export_block(project, exporter, block, &folder.join("verilog"))?;
        let verilog = project::read(&folder.join("verilog/blocks").join(format!("{block}.v")))?;
        let flat = prepare(&verilog, block, lines, &folder)?;
        faultless(&programs, block, &flat)?;
        let log = flat.folder().join("log");
        for (number, line) in (1..).zip(lines) {
            let program = programs.get(&format!("viaduct-hdl::{}", line.program))?;
            let Line { mode, wire, bit, test, .. } = line;
            let without = program.run(test, &flat.mutant(0), LIMIT, &log)?;
            ensure!(without.met, "{test} does not run {block}");
            ensure!(
                without.end == End::Passed,
                "{test} does not pass with no mutant turned on:\n{}",
                last_words(&log)?
            );
            let with = program.run(test, &flat.mutant(number), LIMIT, &log)?;
            ensure!(with.met, "{test} has not met the mutant of {block}: see {}", log.display());
            let dead = with.end != End::Passed;
            println!(
                "{block}: {mode} at {wire}[{bit}] {} {test}",
                if dead { "killed by" } else { "SURVIVED" }
            );
            (killed, survived) = (killed + usize::from(dead), survived + usize::from(!dead));
        }
    }
    println!("{killed} killed, {survived} survived, 0 equivalent");
    ensure!(survived == 0, "tests do not find what they found before");
    Ok(())
}

/// The block with its mutants in it.
fn prepare(verilog: &str, block: &str, lines: &[Line], folder: &Path) -> Result<Flat> {
    let flat = Flat::new(verilog, folder.join(block.replace('/', "-"))).with_context(|| block.to_owned())?;
    let mut mutations = Vec::new();
    for Line { mode, wire, bit, .. } in lines {
        let found = flat.list(&format!("-list 1 -mode {mode} -wire {wire} -wirebit {bit}"))?;
        let mutation = found.into_iter().next();
        mutations.push(
            mutation.with_context(|| {
                format!("{FILE}: {block} has no place for {mode} at {wire} {bit} any more")
            })?,
        );
    }
    flat.write(&mutations)?;
    Ok(flat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::blocks::BLOCKS;

    #[test]
    fn there_are_a_dozen_of_six_blocks_that_have_tests() {
        let blocks = parse(&project::read(&Project::find().unwrap().root.join(FILE)).unwrap()).unwrap();
        assert!(blocks.len() >= 6);
        assert_eq!(blocks.values().map(Vec::len).sum::<usize>(), 12);
        for (name, lines) in &blocks {
            let block = BLOCKS.iter().find(|block| block.name == name).unwrap();
            for line in lines {
                assert_eq!(line.program, block.program);
                assert!(block.modules.iter().any(|module| line.test.starts_with(module)), "{}", line.test);
            }
        }
    }

    #[test]
    fn lines_of_another_form_are_refused() {
        for wrong in ["a/b inv x 0 prims", "a/b inv x y prims a::b", "", "# nothing"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_place_that_is_no_more_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let verilog = "module top(a, b, q);\n  input wire a;\n  input wire b;\n  output wire q;\n  wire both;\n  assign both = a & b;\n  assign q = ~both;\nendmodule\n";
        let line = |wire: &str| {
            [Line { mode: "inv".into(), wire: wire.into(), bit: 0, program: "p".into(), test: "t".into() }]
        };
        let flat = prepare(verilog, "a/b", &line("both"), folder.path()).unwrap();
        let text = project::read(&flat.folder().join(format!("{}.v", flat.sha256))).unwrap();
        assert!(text.contains("input [15:0] mutsel;"), "{text}");
        let error = prepare(verilog, "a/b", &line("neither"), folder.path()).unwrap_err().to_string();
        assert!(error.contains("a/b has no place for inv at neither 0"), "{error}");
    }
}
