//! Runs the parts of `test` one after the other, whatever becomes of each, and sums up.

use anyhow::{bail, Result};
use std::time::{Duration, Instant};

/// How a part ended.
struct Outcome {
    name: String,
    time: Duration,
    error: Option<String>,
}

/// The parts run so far.
#[derive(Default)]
pub struct Suite {
    outcomes: Vec<Outcome>,
}

impl Suite {
    /// Runs one part; a failure is kept for the end. Returns whether it passed.
    pub fn part(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> bool {
        println!("\n== {name}");
        let start = Instant::now();
        let error = run().err().map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            println!("{name} failed: {error}");
        }
        let passed = error.is_none();
        self.outcomes.push(Outcome { name: name.into(), time: start.elapsed(), error });
        passed
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
        self.outcomes.iter().filter(|outcome| outcome.error.is_some())
    }

    fn summary(&self) -> String {
        let line = |name: &str, time: Duration, result: &str| {
            format!("{name:12} {:7.1} s  {result}\n", time.as_secs_f64())
        };
        let mut text = String::new();
        for outcome in &self.outcomes {
            let result = if outcome.error.is_some() { "FAILED" } else { "passed" };
            text.push_str(&line(&outcome.name, outcome.time, result));
        }
        let total = self.outcomes.iter().map(|outcome| outcome.time).sum();
        text.push_str(line("total", total, "").trim_end());
        text.push('\n');
        for outcome in self.failed() {
            let error = outcome.error.as_deref().unwrap_or_default();
            text.push_str(&format!("{}: {error}\n", outcome.name));
        }
        let failed = self.failed().count();
        text.push_str(&format!("{} passed, {failed} failed\n", self.outcomes.len() - failed));
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
}
