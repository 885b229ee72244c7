//! What became of the mutants: by block, and in sum.

use super::mutation::Mutation;
use super::proof;
use super::results::Verdict;
use crate::doctor;
use anyhow::{ensure, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How the word of an equivalence begins that a person argued.
pub const ARGUED: &str = "argued: ";

/// The least share of those that are faults that must be killed, in percent.
const BAR: usize = 95;

/// How many of a block became what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    killed: usize,
    survived: usize,
    equivalent: usize,
    open: usize,
}

impl Tally {
    /// In percent, of those that are a fault and judged.
    fn score(self) -> f64 {
        100.0 * self.killed as f64 / (self.killed + self.survived).max(1) as f64
    }
}

/// All mutants of a run.
#[derive(Debug, Default)]
pub struct Report {
    blocks: BTreeMap<&'static str, Tally>,
    total: Tally,
    argued: usize,
    survivors: Vec<String>,
    killers: BTreeMap<&'static str, usize>,
}

impl Report {
    /// One mutant; nothing is known of those that were not judged.
    pub fn add(&mut self, block: &'static str, mutation: &Mutation, verdict: Option<&Verdict>) {
        let tally = self.blocks.entry(block).or_default();
        for tally in [tally, &mut self.total] {
            match verdict {
                None => tally.open += 1,
                Some(Verdict::Killed(_)) => tally.killed += 1,
                Some(Verdict::Equivalent(_)) => tally.equivalent += 1,
                Some(Verdict::Lives { .. }) => tally.survived += 1,
            }
        }
        match verdict {
            Some(Verdict::Lives { judge, .. }) => {
                self.survivors.push(format!("{block}: {mutation} (after {judge})"));
            }
            Some(Verdict::Equivalent(by)) => self.argued += usize::from(by.starts_with(ARGUED)),
            Some(Verdict::Killed(by)) => {
                let who = ["stack", "walks"].into_iter().find(|judge| by.starts_with(&format!("{judge}: ")));
                *self.killers.entry(who.unwrap_or("blocks")).or_default() += 1;
            }
            None => {}
        }
    }

    /// Survivors, and a table.
    pub fn text(&self) -> String {
        let mut text = String::from("\n");
        self.survivors.iter().for_each(|line| text.push_str(&format!("survived: {line}\n")));
        let _ = writeln!(
            text,
            "{:20} {:>8} {:>8} {:>8} {:>10} {:>7}",
            "block", "mutants", "killed", "survived", "equivalent", "score"
        );
        for (name, tally) in
            self.blocks.iter().map(|(name, tally)| (*name, tally)).chain([("all", &self.total)])
        {
            let all = tally.killed + tally.survived + tally.equivalent + tally.open;
            let _ = writeln!(
                text,
                "{name:20} {all:>8} {:>8} {:>8} {:>10} {:>5.1} %",
                tally.killed,
                tally.survived,
                tally.equivalent,
                tally.score()
            );
        }
        let killers: Vec<String> = self.killers.iter().map(|(who, kills)| format!("{who} {kills}")).collect();
        let _ = writeln!(text, "killed by: {}", killers.join(", "));
        if self.total.open > 0 {
            let _ = writeln!(text, "{} mutants are not judged yet: the next run goes on", self.total.open);
        }
        text
    }

    /// Shows it; the last line is the sum. `count` is of the whole draw, of which these may be a part.
    ///
    /// # Errors
    /// Some are not judged, or too many live, or are equivalent by a reason alone.
    pub fn show(&self, count: usize) -> Result<()> {
        doctor::show(&self.text())?;
        let Tally { killed, survived, equivalent, open } = self.total;
        doctor::show(&format!("{killed} killed, {survived} survived, {equivalent} equivalent\n"))?;
        let bound = proof::bound(count);
        ensure!(
            self.argued <= bound,
            "{} mutants are equivalent by a reason alone: {bound} may be",
            self.argued
        );
        ensure!(open == 0, "{open} mutants are not judged");
        ensure!(
            killed * 100 >= (killed + survived) * BAR,
            "fewer than {BAR} % of the mutants that are faults are killed"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutation() -> Mutation {
        Mutation::list("mutate -mode inv -cell x -port A -portbit 0").unwrap().remove(0)
    }

    fn report(killed: usize, survived: usize, argued: usize) -> Report {
        let mut report = Report::default();
        let lives = Verdict::Lives { judge: "blocks".into(), version: String::new(), late: Vec::new() };
        let all = std::iter::repeat_n(Verdict::Killed("a::b".into()), killed)
            .chain(std::iter::repeat_n(lives, survived))
            .chain(std::iter::repeat_n(Verdict::Equivalent(format!("{ARGUED}so")), argued));
        all.for_each(|verdict| report.add("a/b", &mutation(), Some(&verdict)));
        report
    }

    #[test]
    fn a_score_below_the_bar_fails() {
        report(95, 5, 2).show(102).unwrap();
        assert!(report(94, 5, 0).show(99).unwrap_err().to_string().contains("95 %"));
        assert!(report(95, 0, 3).show(98).unwrap_err().to_string().contains("by a reason alone"));
    }

    #[test]
    fn what_is_not_judged_fails() {
        let mut report = report(99, 0, 0);
        report.add("a/b", &mutation(), None);
        assert!(report.show(100).unwrap_err().to_string().contains("1 mutants are not judged"));
    }

    #[test]
    fn survivors_are_named() {
        let mut report = report(1, 1, 0);
        report.add("c", &mutation(), None);
        report.add("c", &mutation(), Some(&Verdict::Killed("stack: x".into())));
        let text = report.text();
        assert!(
            text.contains("survived: a/b: -mode inv -cell x -port A -portbit 0 (after blocks)\n"),
            "{text}"
        );
        assert!(
            text.contains("a/b                         2        1        1          0  50.0 %\n"),
            "{text}"
        );
        assert!(text.contains("killed by: blocks 1, stack 1\n1 mutants are not judged"), "{text}");
    }
}
