//! Two parts of `test` at a time: cargo's one after the other, and beside them what runs tools that use one processor.
//!
//! Each part is a process of its own. The first lane's write to this terminal; what the second lane's write is kept in a
//! file, and shown when the first is between two parts.

use crate::lints;
use crate::parts::Part;
use crate::project::Project;
use crate::suite::{Outcome, Suite};
use anyhow::{anyhow, bail, Context, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Beside which other parts a part may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lane {
    /// It works in cargo's target folder: beside no other such part, and in the table's order.
    Cargo,
    /// It needs nothing of this run: beside any other.
    Apart,
    /// It needs what the part `build` builds, and is beside any other from then on.
    Tools,
}

/// The part after which those of [`Lane::Tools`] may begin.
const BUILD: &str = "build";
/// The part that looks at what that has told: it is compiled by clippy then.
const CLIPPY: &str = "clippy";

/// What is still to be run.
struct Queue<'a> {
    waiting: Vec<&'a Part>,
    /// A part of [`Lane::Cargo`] is running.
    cargo: bool,
    /// The part [`BUILD`] has ended, or is none of this run.
    built: bool,
}

impl<'a> Queue<'a> {
    fn new(parts: &[&'a Part]) -> Self {
        Self { waiting: parts.to_vec(), cargo: false, built: !parts.iter().any(|part| part.name == BUILD) }
    }

    /// The next part that may begin now. The first lane takes cargo's if it can, the second one others.
    fn next(&mut self, first: bool) -> Option<&'a Part> {
        let may = |part: &Part| match part.lane {
            Lane::Cargo => !self.cargo,
            Lane::Apart => true,
            Lane::Tools => self.built,
        };
        let liked = |part: &&Part| may(part) && (part.lane == Lane::Cargo) == first;
        let at = self.waiting.iter().position(liked);
        let at = at.or_else(|| self.waiting.iter().position(|part| may(part)))?;
        let part = self.waiting.remove(at);
        self.cargo |= part.lane == Lane::Cargo;
        Some(part)
    }

    /// This part has ended.
    fn ended(&mut self, part: &Part) {
        self.cargo &= part.lane != Lane::Cargo;
        self.built |= part.name == BUILD;
    }
}

/// What both lanes share.
struct State<'a> {
    /// What compiles for all parts that use the same target folder, if it is not rustc.
    compiler: Option<&'a Path>,
    queue: Queue<'a>,
    /// Ended, and not shown yet: the files of what was printed.
    printed: Vec<(&'static str, PathBuf)>,
    suite: &'a mut Suite,
}

/// Runs the parts; what fails is in the suite.
///
/// # Errors
/// No process can be started, or no file be written.
pub fn run(project: &Project, parts: &[&'static Part], quick: bool, suite: &mut Suite) -> Result<()> {
    let compiler = match parts.iter().any(|part| part.name == CLIPPY) {
        true => Some(lints::driver(project)?),
        false => None,
    };
    let compiler = compiler.as_deref();
    let state = Mutex::new(State { compiler, queue: Queue::new(parts), printed: Vec::new(), suite });
    let freed = Condvar::new();
    let ended = std::thread::scope(|scope| {
        let second = scope.spawn(|| lane(project, quick, false, &state, &freed));
        let first = lane(project, quick, true, &state, &freed);
        first.and(second.join().unwrap_or_else(|_| bail!("xtask itself failed: see above")))
    });
    show(&mut state.into_inner().unwrap_or_else(PoisonError::into_inner).printed)?;
    ended
}

/// One lane: runs one part after the other until none is left.
fn lane(project: &Project, quick: bool, first: bool, state: &Mutex<State>, freed: &Condvar) -> Result<()> {
    let mut now = state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if first {
            show(&mut now.printed)?;
        }
        let Some(part) = now.queue.next(first) else {
            if now.queue.waiting.is_empty() {
                return Ok(());
            }
            now = freed.wait(now).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let compiler = now.compiler.filter(|_| part.lane != Lane::Apart);
        drop(now);
        let run = one(project, part, quick, first, compiler);
        now = state.lock().unwrap_or_else(PoisonError::into_inner);
        now.queue.ended(part);
        freed.notify_all();
        let (outcome, printed) = run?;
        now.suite.add(outcome);
        now.printed.extend(printed.map(|file| (part.name, file)));
    }
}

/// Shows what parts of the second lane have printed.
fn show(printed: &mut Vec<(&'static str, PathBuf)>) -> Result<()> {
    for (name, file) in printed.drain(..) {
        println!("\n== {name}, beside the others");
        let mut text = File::open(&file).with_context(|| file.display().to_string())?;
        std::io::copy(&mut text, &mut std::io::stdout()).context("showing what was printed")?;
    }
    Ok(())
}

/// Runs one part; gives the file of what it printed, if that is not on this terminal.
fn one(
    project: &Project,
    part: &Part,
    quick: bool,
    shown: bool,
    compiler: Option<&Path>,
) -> Result<(Outcome, Option<PathBuf>)> {
    let folder = project.scratch("parts")?;
    let outcome = folder.join(format!("{}.json", part.name));
    if outcome.exists() {
        // What an earlier run left must not pass for this one's.
        std::fs::remove_file(&outcome).with_context(|| outcome.display().to_string())?;
    }
    let start = Instant::now();
    // This program again.
    let again = project.built("xtask")?.args(["part", part.name, "--outcome"]).arg(&outcome);
    let mut command = if quick { again.arg("--quick") } else { again }.command();
    if let Some(compiler) = compiler {
        command.env(lints::WRAPPER, compiler);
    }
    let printed = match shown {
        true => {
            println!("\n== {}", part.name);
            None
        }
        false => {
            let path = folder.join(format!("{}.log", part.name));
            println!("\n-- {} runs beside the others: {}", part.name, path.display());
            let file = File::create(&path).with_context(|| path.display().to_string())?;
            command.stdout(file.try_clone().context("a second handle")?).stderr(file).stdin(Stdio::null());
            Some(path)
        }
    };
    let status = command.status().with_context(|| format!("cannot start {}", part.name))?;
    let end = match status.success() {
        true => Ok(()),
        false => Err(anyhow!("{status}")),
    };
    Ok((Outcome::read(part.name, start, &outcome, end), printed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::PARTS;

    fn names(parts: &[&Part]) -> Vec<&'static str> {
        parts.iter().map(|part| part.name).collect()
    }

    /// Runs all parts on two lanes whose parts take equally long; gives them in the order of their starts.
    fn order(parts: &[&'static Part]) -> Vec<&'static Part> {
        let mut queue = Queue::new(parts);
        let mut started = Vec::new();
        while !queue.waiting.is_empty() {
            let running: Vec<&Part> = [true, false].iter().filter_map(|first| queue.next(*first)).collect();
            assert!(!running.is_empty(), "{:?} wait for ever", names(&queue.waiting));
            assert!(running.iter().filter(|part| part.lane == Lane::Cargo).count() < 2);
            running.iter().for_each(|part| queue.ended(part));
            started.extend(running);
        }
        started
    }

    #[test]
    fn every_part_runs_cargo_s_in_order_and_tools_after_the_build() {
        let all: Vec<&Part> = PARTS.iter().collect();
        let started = order(&all);
        assert_eq!(started.len(), all.len());
        let cargo = |parts: &[&'static Part]| {
            let parts: Vec<&Part> = parts.iter().filter(|part| part.lane == Lane::Cargo).copied().collect();
            names(&parts)
        };
        assert_eq!(cargo(&started), cargo(&all));
        let at = |found: &dyn Fn(&&Part) -> bool| started.iter().position(found).unwrap();
        assert!(at(&|part| part.lane == Lane::Tools) > at(&|part| part.name == BUILD));
        assert_eq!(started[1].lane, Lane::Apart, "the second lane begins with what needs no build");
    }

    #[test]
    fn a_lane_waits_for_the_build_and_for_the_other_s_cargo() {
        let some: Vec<&Part> = PARTS.iter().filter(|part| ["build", "budget"].contains(&part.name)).collect();
        let mut queue = Queue::new(&some);
        let build = queue.next(true).unwrap();
        assert_eq!(build.name, BUILD);
        assert!(queue.next(false).is_none() && !queue.waiting.is_empty());
        queue.ended(build);
        assert_eq!(queue.next(false).unwrap().name, "budget");
    }
}
