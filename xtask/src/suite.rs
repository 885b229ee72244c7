//! Runs the parts of `test` one after the other, whatever becomes of each, and sums up.

use anyhow::{bail, Result};
use std::fmt;
use std::time::{Duration, Instant};

/// Why a part cannot be run on this machine, and need not be.
#[derive(Debug)]
pub struct Skip(pub String);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// How a part ended.
struct Outcome {
    name: String,
    time: Duration,
    error: Option<String>,
    /// The error is only that it is not for this machine.
    skipped: bool,
    /// What of it is not for this machine.
    notes: Vec<String>,
}

/// The parts run so far.
#[derive(Default)]
pub struct Suite {
    outcomes: Vec<Outcome>,
}

impl Suite {
    /// Runs one part; a failure is kept for the end, and a `Skip` is none. Returns whether it passed.
    pub fn part(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> bool {
        println!("\n== {name}");
        let start = Instant::now();
        let error = run().err();
        let skipped = error.as_ref().is_some_and(|error| error.is::<Skip>());
        let error = error.map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            println!("{name} {}: {error}", if skipped { "skipped" } else { "failed" });
        }
        let passed = error.is_none();
        self.outcomes.push(Outcome {
            name: name.into(),
            time: start.elapsed(),
            error,
            skipped,
            notes: Vec::new(),
        });
        passed
    }

    /// Something that the last part left out; it is told at the end again.
    pub fn note(&mut self, what: &str) {
        println!("{what}");
        if let Some(last) = self.outcomes.last_mut() {
            last.notes.push(what.into());
        }
    }

    /// Keeps a part that could not be run at all.
    pub fn cannot(&mut self, name: &str, why: &str) {
        self.part(name, || bail!("not run: {why}"));
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

    fn failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.error.is_some() && !outcome.skipped)
    }

    fn summary(&self) -> String {
        let line = |name: &str, time: Duration, result: &str| {
            format!("{name:12} {:7.1} s  {result}\n", time.as_secs_f64())
        };
        let mut text = String::new();
        for outcome in &self.outcomes {
            let result = match (&outcome.error, outcome.skipped) {
                (None, _) => "passed",
                (Some(_), true) => "skipped",
                (Some(_), false) => "FAILED",
            };
            text.push_str(&line(&outcome.name, outcome.time, result));
        }
        let total = self.outcomes.iter().map(|outcome| outcome.time).sum();
        text.push_str(line("total", total, "").trim_end());
        text.push('\n');
        for outcome in self.outcomes.iter().filter(|outcome| outcome.error.is_some()) {
            let error = outcome.error.as_deref().unwrap_or_default();
            text.push_str(&format!("{}: {error}\n", outcome.name));
        }
        for (outcome, note) in
            self.outcomes.iter().flat_map(|one| one.notes.iter().map(move |note| (one, note)))
        {
            text.push_str(&format!("{}: {note}\n", outcome.name));
        }
        let failed = self.failed().count();
        let skipped = self.outcomes.iter().filter(|outcome| outcome.skipped).count();
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

    #[test]
    fn goes_on_after_a_failure_and_fails_at_the_end() {
        let mut suite = Suite::default();
        let mut ran_last = false;
        assert!(suite.part("first", || Ok(())));
        assert!(!suite.part("second", || bail!("broken")));
        assert!(suite.part("third", || {
            ran_last = true;
            Ok(())
        }));
        suite.cannot("fourth", "verilator is missing");
        assert!(ran_last);
        let summary = suite.summary();
        assert!(summary.contains("second: broken\n"), "{summary}");
        assert!(summary.contains("fourth: not run: verilator is missing\n"), "{summary}");
        assert!(summary.ends_with("\n2 passed, 2 failed\n"), "{summary}");
        assert_eq!(suite.finish().unwrap_err().to_string(), "failed: second, fourth");
    }

    #[test]
    fn passes_where_every_part_does() {
        let mut suite = Suite::default();
        suite.part("only", || Ok(()));
        assert!(suite.summary().ends_with("\n1 passed, 0 failed\n"));
        suite.finish().unwrap();
    }

    #[test]
    fn what_a_part_left_out_is_told_at_the_end() {
        let mut suite = Suite::default();
        suite.part("viad-stack", || Ok(()));
        suite.note("two_hosts: not tested here: no /dev/net/tun");
        let summary = suite.summary();
        let told = "\nviad-stack: two_hosts: not tested here: no /dev/net/tun\n1 passed, 0 failed\n";
        assert!(summary.ends_with(told), "{summary}");
        suite.finish().unwrap();
    }

    #[test]
    fn what_is_not_for_this_machine_is_no_failure_and_is_told() {
        let mut suite = Suite::default();
        assert!(!suite.part("guest", || Err(Skip("no Debian".into()).into())));
        let summary = suite.summary();
        assert!(summary.contains("skipped\n") && summary.contains("\nguest: no Debian\n"), "{summary}");
        assert!(summary.ends_with("\n0 passed, 0 failed, 1 skipped\n"), "{summary}");
        suite.finish().unwrap();
    }
}
