//! Decides which signals are driven together, in one process.
//!
//! A RustHDL block is one list of statements. If one Verilog process held all of it, that process would read signals that
//! depend on its own outputs: a loop to a simulator, though none of the wires is in one. So each signal gets the statements that
//! it depends on and no others. Two signals stay together where one reads the other before its last value, and where they share
//! their conditions and no loop comes of that, neither here nor through what is outside. So an output's process reads no input
//! that the output does not depend on, because outside, that input may depend on the output.

use std::collections::{BTreeMap, BTreeSet};

use crate::expression::Expression;
use crate::module::Through;
use crate::statement::{restricted, Statement};

/// Where a statement stands: its number in the text, and the arms of the conditions that it is in.
#[derive(Clone, Debug, Default)]
struct Place {
    number: usize,
    arms: Vec<(usize, usize)>,
}

impl Place {
    /// Whether the two statements never both happen.
    fn excludes(&self, other: &Self) -> bool {
        let differs =
            |(mine, theirs): (&(usize, usize), &(usize, usize))| mine.0 == theirs.0 && mine.1 != theirs.1;
        self.arms.iter().zip(&other.arms).any(differs)
    }
}

/// What a list of statements reads and writes, and where.
#[derive(Default)]
pub struct Uses {
    writes: BTreeMap<String, Vec<Place>>,
    /// Reads by the signal whose value depends on them.
    reads: BTreeMap<String, Vec<(Place, String)>>,
    next: usize,
}

impl Uses {
    /// Of `statements`.
    pub fn of(statements: &[Statement]) -> Self {
        let mut uses = Self::default();
        uses.block(statements, &mut Vec::new(), &mut Vec::new());
        uses
    }

    fn block(
        &mut self,
        statements: &[Statement],
        arms: &mut Vec<(usize, usize)>,
        tests: &mut Vec<(Place, String)>,
    ) {
        for statement in statements {
            self.next += 1;
            let here = Place { number: self.next, arms: arms.clone() };
            let outer = tests.len();
            let read = |expression: &Expression, reads: &mut Vec<(Place, String)>| {
                expression.reads(&mut |net| reads.push((here.clone(), net.to_owned())));
            };
            match statement {
                Statement::Assign(assignment) => {
                    let reads = self.reads.entry(assignment.target.clone()).or_default();
                    reads.extend(tests.iter().cloned());
                    read(&assignment.value, reads);
                    self.writes.entry(assignment.target.clone()).or_default().push(here);
                }
                Statement::If { test, then, otherwise } => {
                    read(test, tests);
                    for (arm, inner) in [then, otherwise].into_iter().enumerate() {
                        arms.push((here.number, arm));
                        self.block(inner, arms, tests);
                        arms.pop();
                    }
                }
                Statement::Case { test, arms: choices } => {
                    read(test, tests);
                    for (arm, (label, inner)) in choices.iter().enumerate() {
                        label.iter().for_each(|label| read(label, tests));
                        arms.push((here.number, arm));
                        self.block(inner, arms, tests);
                        arms.pop();
                    }
                }
            }
            tests.truncate(outer);
        }
    }

    /// All that is assigned to.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.writes.keys().map(String::as_str)
    }

    /// What the value of `target` depends on.
    pub fn read_by(&self, target: &str) -> BTreeSet<&str> {
        self.reads.get(target).into_iter().flatten().map(|(_, net)| net.as_str()).collect()
    }

    /// Pairs of which the first reads the second before the second has its last value.
    pub fn coupled(&self) -> BTreeSet<(&str, &str)> {
        let mut pairs = BTreeSet::new();
        for (target, reads) in &self.reads {
            for (place, net) in reads {
                let Some(writes) = self.writes.get(net) else { continue };
                let is_later = |write: &Place| write.number >= place.number && !write.excludes(place);
                if net == target || writes.iter().any(is_later) {
                    pairs.insert((target.as_str(), net.as_str()));
                }
            }
        }
        pairs
    }

    fn first_write(&self, target: &str) -> usize {
        self.writes[target][0].number
    }
}

/// Signals that one process drives, and its statements.
#[derive(Clone, Debug)]
pub struct Group {
    /// The signals.
    pub targets: BTreeSet<String>,
    /// What drives them.
    pub statements: Vec<Statement>,
}

/// What stands around the signals that are driven.
pub struct Around<'a> {
    /// Which inputs of the blocks within an output of theirs depends on in the same cycle.
    pub within: &'a Through,
    /// Which inputs of the block an output of its own depends on.
    pub own: &'a Through,
    /// Its inputs.
    pub inputs: &'a BTreeSet<String>,
}

/// Splits `statements` into groups that drive `targets`, in an order in which nothing is read before it is driven.
pub fn groups(
    statements: &[Statement],
    uses: &Uses,
    targets: &BTreeSet<String>,
    around: &Around,
) -> Vec<Group> {
    let through = around.within;
    let mut parts = Parts::new(targets);
    for (reader, read) in uses.coupled() {
        if targets.contains(reader) && targets.contains(read) {
            parts.unite(reader, read);
        }
    }
    // Signals that must stay together because of their steps may read too much already: those inputs are allowed.
    let allowed = parts.leaks(uses, around);
    // Statements of the block that more than one signal depends on, in the order of the text.
    for statement in statements {
        if matches!(statement, Statement::Assign(_)) {
            continue;
        }
        let mut inside: Vec<String> = Vec::new();
        crate::statement::assignments(std::slice::from_ref(statement), &mut |assignment| {
            if targets.contains(&assignment.target) && !inside.contains(&assignment.target) {
                inside.push(assignment.target.clone());
            }
        });
        for pair in inside.windows(2) {
            let mut united = parts.clone();
            united.unite(&pair[0], &pair[1]);
            if united.order(uses, through).is_some() && united.leaks(uses, around).is_subset(&allowed) {
                parts = united;
            }
        }
    }
    let order = parts.order(uses, through).unwrap_or_else(|| parts.in_text_order(uses));
    order.into_iter().map(|targets| Group { statements: restricted(statements, &targets), targets }).collect()
}

/// Signals in parts.
#[derive(Clone)]
struct Parts {
    part_of: BTreeMap<String, usize>,
}

impl Parts {
    fn new(targets: &BTreeSet<String>) -> Self {
        Self { part_of: targets.iter().cloned().zip(0..).collect() }
    }

    fn unite(&mut self, one: &str, other: &str) {
        let (one, other) = (self.part_of[one], self.part_of[other]);
        self.part_of.values_mut().filter(|part| **part == other).for_each(|part| *part = one);
    }

    /// The part that these signals are.
    fn part(&self, targets: &BTreeSet<String>) -> usize {
        self.part_of[targets.first().expect("no part is empty")]
    }

    fn in_text_order(&self, uses: &Uses) -> Vec<BTreeSet<String>> {
        let mut parts: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (target, part) in &self.part_of {
            parts.entry(*part).or_default().insert(target.clone());
        }
        let mut parts: Vec<_> = parts.into_values().collect();
        parts.sort_by_key(|targets| targets.iter().map(|target| uses.first_write(target)).min());
        parts
    }

    /// The parts so that each one reads only what those before it drive; nothing if there is a loop.
    fn order(&self, uses: &Uses, through: &Through) -> Option<Vec<BTreeSet<String>>> {
        let mut left = self.in_text_order(uses);
        let needs: Vec<BTreeSet<usize>> =
            left.iter().map(|targets| self.needs(targets, uses, through)).collect();
        let mut needs: BTreeMap<usize, BTreeSet<usize>> =
            left.iter().map(|targets| self.part(targets)).zip(needs).collect();
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let ready = left.iter().position(|targets| needs[&self.part(targets)].is_empty())?;
            let targets = left.remove(ready);
            let done = self.part(&targets);
            needs.values_mut().for_each(|needs| {
                needs.remove(&done);
            });
            ordered.push(targets);
        }
        Some(ordered)
    }

    /// Outputs with inputs that their processes, or those that these wait for, read though the output does not depend on them.
    fn leaks<'a>(&self, uses: &'a Uses, around: &Around<'a>) -> BTreeSet<(&'a str, &'a str)> {
        let mut read_by: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for (target, part) in &self.part_of {
            read_by.entry(*part).or_default().extend(uses.read_by(target));
        }
        let mut leaks = BTreeSet::new();
        for (output, hangs_on) in around.own {
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            let mut open: Vec<&str> = vec![output];
            while let Some(net) = open.pop() {
                if !seen.insert(net) {
                    continue;
                }
                match self.part_of.get(net) {
                    Some(part) => open.extend(&read_by[part]),
                    // What the next value of a register depends on, if nothing else reads it, is in no part.
                    None => open.extend(uses.read_by(net)),
                }
                open.extend(around.within.get(net).into_iter().flatten().map(String::as_str));
            }
            let inputs =
                seen.into_iter().filter(|net| around.inputs.contains(*net) && !hangs_on.contains(*net));
            leaks.extend(inputs.map(|input| (output.as_str(), input)));
        }
        leaks
    }

    /// The other parts that the part of `targets` reads.
    fn needs(&self, targets: &BTreeSet<String>, uses: &Uses, through: &Through) -> BTreeSet<usize> {
        let own = self.part(targets);
        let mut needed = BTreeSet::new();
        let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
        let direct = |net| (net, false);
        let mut open: Vec<(&str, bool)> =
            targets.iter().flat_map(|target| uses.read_by(target)).map(direct).collect();
        while let Some((net, is_through)) = open.pop() {
            if !seen.insert((net, is_through)) {
                continue;
            }
            match self.part_of.get(net) {
                // What a block within gives depends on what it is given; if that is ours, it is a loop.
                Some(part) if *part == own && is_through => drop(needed.insert(usize::MAX)),
                Some(part) => drop(needed.insert(*part)),
                // An input of a block within that has no signal of its own.
                None if is_through => open.extend(uses.read_by(net).into_iter().map(|net| (net, true))),
                None => {}
            }
            open.extend(through.get(net).into_iter().flatten().map(|input| (input.as_str(), true)));
        }
        needed.remove(&own);
        needed
    }
}
