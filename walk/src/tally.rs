//! How much of each kind was met.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use viaduct_sim::setup::Kind;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;

use crate::judge::Walk;
use crate::outcome::Outcome;
use crate::program::Program;

/// Counts by group and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    counts: BTreeMap<(&'static str, String), u64>,
    /// Walks that ended well.
    pub passed: u64,
    /// Seeds of those that did not.
    pub failed: Vec<u64>,
    /// Cycles of device time, all runs of the NICs under test together.
    pub cycles: u64,
    /// Traces that the model followed.
    pub followed: u64,
    /// How long threads were busy with walks on a kind bus, and with those on an unkind one.
    pub busy: [Duration; 2],
}

/// The names of a status's error bits.
fn errors(word: u32) -> String {
    let names = status::CODES.codes.iter().filter(|code| {
        let bit = code.value as u32;
        bit.is_power_of_two() && bit & status::ERROR_MASK != 0 && word & bit != 0
    });
    let names: Vec<&str> = names.map(|code| code.name).collect();
    if names.is_empty() {
        "DONE".into()
    } else {
        names.join(" | ")
    }
}

impl Tally {
    fn add(&mut self, group: &'static str, name: impl Into<String>, count: u64) {
        *self.counts.entry((group, name.into())).or_insert(0) += count;
    }

    /// Adds the pairs of NICs that went through a program.
    pub fn pairs(&mut self, pairs: &[[Kind; 2]]) {
        pairs.iter().for_each(|[one, other]| self.add("NICs", format!("{one:?} and {other:?}"), 1));
    }

    /// Adds how long a walk took.
    pub fn time(&mut self, program: &Program, busy: Duration) {
        let unkind = program.conditions.is_unkind();
        self.add("bus", if unkind { "unkind" } else { "kind" }, 1);
        self.busy[usize::from(unkind)] += busy;
    }

    /// Adds a walk.
    pub fn count(&mut self, program: &Program, walk: &Walk) {
        for operation in &program.operations {
            self.add("operation", operation.kind(), 1);
        }
        self.outcome(&walk.outcome);
        walk.outcome.met.iter().for_each(|(name, count)| self.add("fault", *name, *count));
        self.cycles += walk.cycles;
        match &walk.verdict {
            Ok(followed) => {
                self.passed += 1;
                self.followed += followed;
            }
            Err(_) => self.failed.push(program.seed),
        }
    }

    fn outcome(&mut self, outcome: &Outcome) {
        for completion in &outcome.completions {
            let queue = if completion.receive { "receive" } else { "send" };
            self.add("status", format!("{queue}: {}", errors(completion.status)), 1);
        }
        for event in &outcome.events {
            let code = event_code::CODES.codes.iter().find(|code| code.value == u64::from(event.code));
            self.add("event", code.map_or("unknown", |code| code.name), 1);
        }
    }

    /// How often something was met.
    pub fn get(&self, group: &'static str, name: &str) -> u64 {
        self.counts.get(&(group, name.to_owned())).copied().unwrap_or(0)
    }

    /// Takes another's counts.
    pub fn join(&mut self, other: Self) {
        for ((group, name), count) in other.counts {
            self.add(group, name, count);
        }
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.cycles += other.cycles;
        self.followed += other.followed;
        self.busy.iter_mut().zip(other.busy).for_each(|(own, other)| *own += other);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((group, name), count) in &self.counts {
            writeln!(f, "{group:10} {name:40} {count:9}")?;
        }
        writeln!(f, "{:10} {:40} {:9}", "compared", "traces that the model followed", self.followed)?;
        let [kind, unkind] = self.busy.map(|busy| busy.as_secs());
        writeln!(f, "{:10} {:40} {kind:9}", "seconds", "of threads, on a kind bus")?;
        writeln!(f, "{:10} {:40} {unkind:9}", "seconds", "of threads, on an unkind bus")
    }
}
