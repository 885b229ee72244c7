//! The tests of one block or of the NIC, on one mutant after the other: those that kill most in the least time come first.

use super::program::{last_words, End, Program, Programs, Run};
use super::results::Verdict;
use super::verilog::{sha256, Flat};
use crate::project;
use anyhow::{ensure, Context, Result};
use serde_json::{json, Value};
use std::path::Path;
use std::time::Duration;

/// A test gets so many times what it takes without a fault, before others are tried.
const PATIENCE: u32 = 10;
/// And at least this.
const LEAST: Duration = Duration::from_secs(10);
/// What ends a test that hangs in every run of the suite: .config/nextest.toml.
pub const HANG: Duration = Duration::from_secs(300);

/// One test.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    name: String,
    /// How long it takes without a fault.
    time: Duration,
    runs: u32,
    kills: u32,
}

impl Candidate {
    /// Kills to expect in a second.
    fn worth(&self) -> f64 {
        f64::from(self.kills + 1) / f64::from(self.runs + 2) / self.time.as_secs_f64().max(0.01)
    }
}

/// The tests of a program that meet a block.
#[derive(Debug)]
pub struct Judge<'a> {
    program: &'a Program,
    tests: Vec<Candidate>,
}

impl<'a> Judge<'a> {
    /// Runs these tests on the block as it is, with its mutants in it and none turned on. All must pass; those that do not
    /// meet it are left out. What is found is kept in a file, for the next run of the same program on the same block.
    ///
    /// # Errors
    /// One fails, or none meets the block.
    pub fn new(
        program: &'a Program,
        tests: &[&str],
        block: &str,
        faultless: &str,
        folder: &Path,
    ) -> Result<Self> {
        let file = folder.join("control");
        let log = folder.join("log");
        let state = format!("{} {}", program.version, sha256(&project::read(&folder.join("mutated.v"))?));
        let kept = project::read(&file).ok().and_then(|text| kept(&text, &state));
        let mut judge = Self { program, tests: kept.unwrap_or_default() };
        if judge.tests.is_empty() {
            for test in tests {
                let first = program.run(test, faultless, HANG, &log)?;
                ensure!(
                    first.end == End::Passed,
                    "{test} does not pass on {block} with no mutant turned on: {:?}\n{}",
                    first.end,
                    last_words(&log)?
                );
                if first.met {
                    // The first run may have compiled the model.
                    let time = if judge.tests.is_empty() {
                        program.run(test, faultless, HANG, &log)?.time
                    } else {
                        first.time
                    };
                    judge.tests.push(Candidate { name: test.to_string(), time, runs: 0, kills: 0 });
                }
            }
            ensure!(!judge.tests.is_empty(), "no test meets {block}");
            let tests: Vec<Value> =
                judge.tests.iter().map(|c| json!([c.name, c.time.as_secs_f64()])).collect();
            project::write(&file, json!({ "state": state, "tests": tests }).to_string())?;
        }
        Ok(judge)
    }

    /// How many there are, and how long all take.
    pub fn size(&self) -> (usize, Duration) {
        (self.tests.len(), self.tests.iter().map(|test| test.time).sum())
    }

    /// Runs them on a mutant until one fails.
    ///
    /// # Errors
    /// One cannot be run, or has not met the mutant.
    pub fn judge(&mut self, mutant: &str, log: &Path) -> Result<Verdict> {
        self.tests.sort_by(|a, b| b.worth().total_cmp(&a.worth()));
        let mut late = Vec::new();
        for test in &mut self.tests {
            let run = self.program.run(&test.name, mutant, LEAST.max(test.time * PATIENCE), log)?;
            test.runs += 1;
            match run.end {
                End::Failed => {
                    ensure!(run.met, "{} failed, and not by the mutant: see {}", test.name, log.display());
                    test.kills += 1;
                    return Ok(Verdict::Killed(test.name.clone()));
                }
                End::Late => late.push(test.name.clone()),
                End::Passed => {}
            }
        }
        Ok(Verdict::Lives { judge: super::BLOCKS.into(), version: self.program.version.clone(), late })
    }

    /// What a test that was late has to say when it gets as long as a run of the suite would give it.
    pub fn after_all(test: &str, run: &Run) -> Option<Verdict> {
        match run.end {
            End::Passed => None,
            End::Failed => Some(Verdict::Killed(test.to_owned())),
            End::Late => Some(Verdict::Killed(format!("{test}, which hangs"))),
        }
    }
}

/// What the file of a control run says, if it is of this state.
fn kept(text: &str, state: &str) -> Option<Vec<Candidate>> {
    let value: Value = serde_json::from_str(text).ok()?;
    (value["state"] == state).then_some(())?;
    let tests = value["tests"].as_array()?.iter();
    let candidate = |pair: &Value| {
        let time = Duration::try_from_secs_f64(pair[1].as_f64()?).ok()?;
        Some(Candidate { name: pair[0].as_str()?.into(), time, runs: 0, kills: 0 })
    };
    tests.map(candidate).collect()
}

/// Makes sure that the block with its mutants in it, none turned on, is the block; once for each such block.
///
/// # Errors
/// It is not.
pub fn faultless(programs: &Programs, block: &str, flat: &Flat) -> Result<()> {
    let program = programs.get("viaduct-hdl::faultless")?.about(block);
    let (file, log) = (flat.folder().join("faultless"), flat.folder().join("log"));
    let mutated = sha256(&project::read(&flat.folder().join("mutated.v"))?);
    if project::read(&file).is_ok_and(|text| text == mutated) {
        return Ok(());
    }
    let run = program.run("with_no_mutant_turned_on_a_block_is_what_it_was", &flat.mutant(0), HANG, &log)?;
    ensure!(
        run.end == End::Passed && run.met,
        "{block} with mutants in it is not what it was:\n{}",
        last_words(&log)?
    );
    project::write(&file, mutated)
}

/// Runs a program of the whole NIC on a mutant, once it is known to pass without.
///
/// # Errors
/// It cannot be run, or does not pass without a mutant.
pub fn alone(program: &Program, test: &str, flat: &Flat, number: usize, log: &Path) -> Result<bool> {
    let run = program.run(test, &flat.mutant(number), HANG * 2, log)?;
    if run.end == End::Passed || !run.met {
        return Ok(false);
    }
    // The machine may be slow, or the test not be for a NIC that yosys has been through.
    let words = last_words(log)?;
    let control = program.run(test, &flat.mutant(0), HANG * 2, log)?;
    if control.end != End::Passed {
        println!("{test} does not pass on the NIC with no mutant turned on: it says nothing");
    } else {
        project::write(log, words).context("the log")?;
    }
    Ok(control.end == End::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_kills_much_in_little_time_comes_first() {
        let candidate = |seconds, runs, kills| {
            Candidate { name: String::new(), time: Duration::from_secs(seconds), runs, kills }.worth()
        };
        assert!(candidate(1, 0, 0) > candidate(2, 0, 0));
        assert!(candidate(2, 10, 9) > candidate(1, 10, 1));
    }

    #[test]
    fn a_control_run_counts_for_the_same_programs_only() {
        let text = r#"{"state": "1 a", "tests": [["x::y", 0.5]]}"#;
        let tests = kept(text, "1 a").unwrap();
        assert_eq!((tests[0].name.as_str(), tests[0].time), ("x::y", Duration::from_millis(500)));
        assert_eq!(kept(text, "1 b"), None);
        assert_eq!(kept("", "1 b"), None);
    }
}
