//! How the parts of `test` ended, and what is told of it.

use crate::project;
use anyhow::{bail, Context, Result};
use serde_json::{json, Value};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Why a part cannot be run on this machine.
#[derive(Debug)]
pub struct Skip(pub String);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// How a part ended.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    name: String,
    time: Duration,
    /// What the processors have worked for it.
    work: Duration,
    error: Option<String>,
    /// The error is that this machine cannot run it.
    skipped: bool,
    /// What of it this machine cannot run.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Of a part that began then and has ended so now.
    pub fn of(name: &str, start: Instant, result: Result<()>) -> Self {
        let error = result.err();
        let skipped = error.as_ref().is_some_and(|error| error.is::<Skip>());
        let error = error.map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            println!("{name} {}: {error}", if skipped { "skipped" } else { "failed" });
        }
        let notes = Vec::new();
        Self { name: name.into(), time: start.elapsed(), work: Duration::ZERO, error, skipped, notes }
    }

    /// Of a part that another process ran, which has left this outcome in a file, or, if it could not, ended so.
    pub fn read(name: &str, start: Instant, file: &Path, end: Result<()>) -> Self {
        let left = || -> Result<Self> {
            let text = project::read(file)?;
            let value: Value = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
            let notes = value["notes"].as_array().context("no notes")?;
            Ok(Self {
                name: name.into(),
                time: start.elapsed(),
                work: Duration::from_secs_f64(value["work"].as_f64().context("no work")?),
                error: value["error"].as_str().map(str::to_owned),
                skipped: value["skipped"].as_bool().context("skipped or not?")?,
                notes: notes.iter().filter_map(|note| Some(note.as_str()?.to_owned())).collect(),
            })
        };
        match end.and_then(|()| left()) {
            Ok(outcome) => outcome,
            Err(error) => Self::of(name, start, Err(error)),
        }
    }

    /// For [`Outcome::read`]: this process has run nothing else.
    pub fn write(&self, file: &Path) -> Result<()> {
        let work = worked()?.as_secs_f64();
        let value =
            json!({ "work": work, "error": self.error, "skipped": self.skipped, "notes": self.notes });
        project::write(file, value.to_string())
    }
}

/// What the processors have worked for the children of this process that have ended, and for theirs.
fn worked() -> Result<Duration> {
    let stat = project::read(Path::new("/proc/self/stat"))?;
    // Behind the program's name, which may have blanks: fields 3 on. Hundredths of a second on every Linux.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
    let ticks = ticks(16).zip(ticks(17)).context("/proc/self/stat has no times")?;
    Ok(Duration::from_millis(10 * (ticks.0 + ticks.1)))
}

/// The parts run so far.
pub struct Suite {
    outcomes: Vec<Outcome>,
    /// What cannot be run here has failed.
    strict: bool,
    start: Instant,
}

impl Suite {
    /// None yet.
    pub fn new(strict: bool) -> Self {
        Self { outcomes: Vec::new(), strict, start: Instant::now() }
    }

    /// One more.
    pub fn add(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// One more, which could not be run at all.
    pub fn cannot(&mut self, name: &str, why: &str) {
        self.add(Outcome::of(name, Instant::now(), Err(anyhow::anyhow!("not run: {why}"))));
    }

    /// Prints the times and the failures; fails if a part did.
    pub fn finish(self) -> Result<()> {
        print!("\n{}", self.summary());
        let failed: Vec<&str> = self.failed().map(|outcome| outcome.name.as_str()).collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }

    fn has_failed(&self, outcome: &Outcome) -> bool {
        let error = outcome.error.is_some() && !outcome.skipped;
        error || self.strict && (outcome.skipped || !outcome.notes.is_empty())
    }

    fn failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| self.has_failed(outcome))
    }

    fn summary(&self) -> String {
        let line = |name: &str, time: Duration, work: Duration, result: &str| {
            let work = match work {
                Duration::ZERO => " ".repeat(10),
                work => format!("{:8.1} s", work.as_secs_f64()),
            };
            format!("{name:12} {:7.1} s {work}  {result}\n", time.as_secs_f64())
        };
        let mut text = String::new();
        for outcome in &self.outcomes {
            let result = match (self.has_failed(outcome), outcome.skipped, outcome.notes.is_empty()) {
                (true, _, _) => "FAILED",
                (false, true, _) => "skipped",
                (false, false, false) => "passed, but for what is skipped",
                (false, false, true) => "passed",
            };
            text.push_str(&line(&outcome.name, outcome.time, outcome.work, result));
        }
        let work = self.outcomes.iter().map(|outcome| outcome.work).sum();
        text.push_str(line("total", self.start.elapsed(), work, "").trim_end());
        text.push('\n');
        for outcome in &self.outcomes {
            if let Some(error) = &outcome.error {
                let word = if outcome.skipped { "skipped: " } else { "" };
                text.push_str(&format!("{}: {word}{error}\n", outcome.name));
            }
            for note in &outcome.notes {
                text.push_str(&format!("{}: skipped: {note}\n", outcome.name));
            }
        }
        let failed = self.failed().count();
        let skipped =
            self.outcomes.iter().filter(|outcome| outcome.skipped && !self.has_failed(outcome)).count();
        let passed = self.outcomes.len() - failed - skipped;
        text.push_str(&format!("{passed} passed, {failed} failed"));
        if skipped > 0 {
            text.push_str(&format!(", {skipped} skipped"));
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, result: Result<()>) -> Outcome {
        Outcome::of(name, Instant::now(), result)
    }

    fn guest() -> Outcome {
        outcome("guest", Err(Skip("no Debian".into()).into()))
    }

    fn noted() -> Outcome {
        Outcome { notes: vec!["two_hosts: no /dev/net/tun".into()], ..outcome("viad-stack", Ok(())) }
    }

    fn summary(strict: bool, outcomes: Vec<Outcome>) -> (String, bool) {
        let suite = Suite { outcomes, ..Suite::new(strict) };
        (suite.summary(), suite.finish().is_ok())
    }

    #[test]
    fn a_failure_is_told_at_the_end_and_fails_the_run() {
        let outcomes = vec![outcome("first", Ok(())), outcome("second", Err(anyhow::anyhow!("broken")))];
        let mut suite = Suite { outcomes, ..Suite::new(false) };
        suite.cannot("third", "verilator is missing");
        let summary = suite.summary();
        assert!(summary.contains("second: broken\n"), "{summary}");
        assert!(summary.contains("third: not run: verilator is missing\n"), "{summary}");
        assert!(summary.ends_with("\n1 passed, 2 failed\n"), "{summary}");
        assert_eq!(suite.finish().unwrap_err().to_string(), "failed: second, third");
    }

    #[test]
    fn passes_where_every_part_does() {
        let (summary, passed) = summary(true, vec![outcome("only", Ok(()))]);
        assert!(summary.ends_with("\n1 passed, 0 failed\n") && passed, "{summary}");
    }

    #[test]
    fn what_is_skipped_is_told_and_fails_where_nobody_reads_it() {
        let told = "\nguest: skipped: no Debian\nviad-stack: skipped: two_hosts: no /dev/net/tun\n";
        let (text, passed) = summary(false, vec![guest(), noted()]);
        assert!(text.contains(told) && text.ends_with("\n1 passed, 0 failed, 1 skipped\n"), "{text}");
        assert!(passed);
        let (text, passed) = summary(true, vec![guest(), noted()]);
        assert!(text.contains(told) && text.ends_with("\n0 passed, 2 failed\n"), "{text}");
        assert!(!passed);
    }

    #[test]
    fn the_work_of_children_is_counted() {
        let before = worked().unwrap();
        let spin = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!(worked().unwrap() > before);
    }

    #[test]
    fn an_outcome_crosses_from_one_process_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("outcome");
        for left in [outcome("a", Ok(())), outcome("a", Err(anyhow::anyhow!("x"))), guest(), noted()] {
            left.write(&file).unwrap();
            let name = left.name.clone();
            let read = Outcome::read(&name, Instant::now(), &file, Ok(()));
            assert_eq!(Outcome { time: left.time, work: left.work, ..read }, left);
        }
        let killed = Outcome::read("a", Instant::now(), &file, Err(anyhow::anyhow!("killed")));
        assert_eq!(killed.error.as_deref(), Some("killed"));
        let silent = Outcome::read("a", Instant::now(), &folder.path().join("none"), Ok(()));
        assert!(silent.error.is_some() && !silent.skipped);
    }
}
