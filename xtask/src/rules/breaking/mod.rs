//! `rules --break`: whether the tests that cite a rule notice when the code that cites it is broken.
//!
//! ```text
//!   rules --seed--> one --> its places in hdl/src --seed--> changes of the text --> Verilog --> blocks that are others
//!                                                                                                |
//!                     fails: the rule is held <-- a test that cites it, and passes on the sound <-+
//! ```
//! Test programs stay as they are: where they would run a block that is another now, they run the broken one (hdl/verilate).

mod change;
mod chooser;
mod cited_tests;
mod copy;
mod known;
mod place;

use super::{Citation, Id, Who};
use crate::mutate::program::{End, Programs};
use crate::mutate::verilog::sha256;
use crate::need::Need;
use crate::project::{self, Project};
use anyhow::{ensure, Context, Result};
use change::Change;
use chooser::changes;
use cited_tests::{tests, Test};
use copy::{Broken, Copy, Made};
use place::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Changes that must live at a place, and for a rule, before the next place is tried, and the rule is not held.
const AT_A_PLACE: usize = 3;
const OF_A_RULE: usize = 8;
/// Changes that are looked at in a place: some make no design, or the same one.
const LOOKED_AT: usize = 8;
/// What ends a test that hangs: .config/nextest.toml.
const LIMIT: Duration = Duration::from_secs(300);
/// A test has met a broken block, but Verilator or g++ has refused it: hdl/verilate/src/error.rs.
const NO_MODEL: &str = " failed for block `";

/// An order that a seed gives things with names.
fn drawn(seed: u64, name: &str) -> String {
    sha256(&format!("{seed} {name}"))
}

/// As many of the rules as are asked for, in the order of the seed.
pub fn draw<'a>(rules: impl Iterator<Item = &'a Id>, count: usize, seed: u64) -> Vec<&'a Id> {
    let mut rules: Vec<&Id> = rules.collect();
    rules.sort_by_key(|id| drawn(seed, &id.to_string()));
    rules.truncate(count);
    rules
}

/// A place of the hardware that cites a rule, and what can be done to it, in the order in which it is tried.
struct Place {
    file: String,
    line: usize,
    text: Rc<str>,
    changes: Vec<Change>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The places of these citations, by rule, in the order of the seed; the head of a file, which cites all of it, comes last. The nearest
/// change to the comment comes first, and the seed decides among equals.
fn places(root: &Path, cited: &[&Citation], seed: u64) -> Result<BTreeMap<Id, Vec<Place>>> {
    let mut files = BTreeMap::<&str, Vec<&Citation>>::new();
    for citation in cited.iter().filter(|citation| citation.who == Who::Rtl) {
        files.entry(&citation.file).or_default().push(citation);
    }
    let mut found = BTreeMap::<Id, Vec<_>>::new();
    for (file, cited) in files {
        let text: Rc<str> = project::read(&root.join(file))?.into();
        let source = Source::new(&text).with_context(|| file.to_owned())?;
        for Citation { id, line, .. } in cited {
            let changes = order(changes(&source, &source.cited(*line)), &text, |change| {
                drawn(seed, &format!("{id} {}", change.describe(&text)))
            });
            let place = Place { file: file.to_owned(), line: *line, text: text.clone(), changes };
            let whole = text.lines().nth(line - 1).is_some_and(|words| words.starts_with("//"));
            found
                .entry(id.clone())
                .or_default()
                .push(((whole, drawn(seed, &format!("{id} {place}"))), place));
        }
    }
    for places in found.values_mut() {
        places.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let plain = |places: Vec<(_, Place)>| places.into_iter().map(|(_, place)| place).collect();
    Ok(found.into_iter().map(|(id, places)| (id, plain(places))).collect())
}

/// Changes in the order in which they are tried: the nearest first. Of a line one is tried first, before more of the same those of the next
/// two statements.
fn order(mut changes: Vec<Change>, text: &str, draw: impl Fn(&Change) -> String) -> Vec<Change> {
    changes.sort_by_cached_key(|change| (change.rank, draw(change), change.range.start));
    changes.dedup();
    let mut tried = BTreeMap::<usize, usize>::new();
    let mut keyed: Vec<_> = Vec::new();
    for change in changes {
        let again = tried.entry(text[..change.range.start].matches('\n').count()).or_default();
        keyed.push((change.rank.0 + 2 * *again, change));
        *again += 1;
    }
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, change)| change).collect()
}

/// How broken code fared.
enum Verdict {
    /// A test failed.
    Noticed,
    /// So many tests met it, and none failed.
    Lives(usize),
    /// Nothing could be simulated.
    NoModel,
}

/// What all rules need.
struct Breaker {
    copy: Copy,
    programs: Programs,
    log: PathBuf,
    /// Each place must be noticed.
    each: bool,
}

/// Breaks the code of each of these rules: until a test notices at one place, or at each.
///
/// # Errors
/// No test that cites one of them notices; or the tests or tools do not work.
pub fn run(project: &Project, rules: &[&Id], cited: &[Citation], seed: u64, each: bool) -> Result<()> {
    crate::setup::ensure(project, &[Need::Simulator, Need::Tests])?;
    let names: Vec<String> = rules.iter().map(|id| id.to_string()).collect();
    println!("seed {seed}: {}", names.join(" "));
    let cited: Vec<&Citation> = cited.iter().filter(|citation| rules.contains(&&citation.id)).collect();
    let mut all_places = places(&project.root, &cited, seed)?;
    let mut all_tests = tests(&project.root, &cited)?;
    let copy = Copy::new(project)?;
    let programs = Programs::find(project, &["viaduct-hdl", "viaduct-tests"])?;
    let breaker = Breaker { copy, programs, log: project.scratch("rules")?.join("log"), each };
    let mut wrong = Vec::new();
    for id in rules {
        let places = all_places.remove(id).unwrap_or_default();
        let missed = breaker.rule(id, &places, all_tests.remove(id).unwrap_or_default())?;
        if !missed.is_empty() {
            wrong.push(format!("{id}: no test that cites it notices\n  {}", missed.join("\n  ")));
        }
    }
    println!(
        "\n{} of {} rules: a test that cites it fails on broken code",
        rules.len() - wrong.len(),
        rules.len()
    );
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    Ok(())
}

impl Breaker {
    /// Breaks the code of a rule: none if a test that cites it notices, at one place or at each. Otherwise what was tried.
    fn rule(&self, id: &Id, places: &[Place], tests: Vec<Test>) -> Result<Vec<String>> {
        let (blocks, stack): (Vec<Test>, Vec<Test>) = tests.into_iter().partition(Test::is_of_a_block);
        println!(
            "\n{id}: {} places, {} tests of blocks, {} of the whole NIC",
            places.len(),
            blocks.len(),
            stack.len()
        );
        let mut missed = Vec::new();
        for place in places {
            match self.place(id, place, &blocks, &stack)? {
                None if !self.each => return Ok(Vec::new()),
                None => {}
                Some(lives) if lives.is_empty() => missed.push(format!("{place}  nothing could be done")),
                Some(lives) => missed.extend(lives),
            }
            if !self.each && missed.len() >= OF_A_RULE {
                break;
            }
        }
        Ok(missed)
    }

    /// The same of one place; none: a test noticed.
    fn place(&self, id: &Id, place: &Place, blocks: &[Test], stack: &[Test]) -> Result<Option<Vec<String>>> {
        let start = Instant::now();
        let mut lives = Vec::new();
        for change in place.changes.iter().take(LOOKED_AT) {
            let Some((what, broken)) = self.broken(id, place, change, lives.len())? else { continue };
            match self.noticed(&what, &broken, blocks, start)? {
                Verdict::Noticed => return Ok(None),
                Verdict::NoModel => continue,
                Verdict::Lives(met) => {
                    lives.push((what, broken));
                    // Of nothing else that is done here would they meet more.
                    if met == 0 || lives.len() == AT_A_PLACE {
                        break;
                    }
                }
            }
        }
        // They take longer: only where the tests of blocks have not told.
        for (what, broken) in lives.iter().filter(|_| !stack.is_empty()) {
            if let Verdict::Noticed = self.noticed(what, broken, stack, start)? {
                return Ok(None);
            }
        }
        println!("  {place} NOT NOTICED, {:.0} s", start.elapsed().as_secs_f64());
        Ok(Some(lives.into_iter().map(|(what, _)| what).collect()))
    }

    /// What the code is broken by, and the blocks that are others then; none if no block is.
    fn broken(
        &self,
        id: &Id,
        place: &Place,
        change: &Change,
        number: usize,
    ) -> Result<Option<(String, Broken)>> {
        let what = format!("{place}  {}", change.describe(&place.text));
        let made = self.copy.with(&place.file, &change.apply(&place.text), &format!("{id}-{number}"))?;
        let why = match made {
            Made::Other(broken) => return Ok(Some((what, broken))),
            Made::Nothing => "makes no design",
            Made::Same => "changes nothing",
        };
        println!("  {what}\n    {why}");
        Ok(None)
    }

    /// Whether one of the tests fails on the broken blocks, and passes on the sound ones.
    fn noticed(&self, what: &str, broken: &Broken, tests: &[Test], start: Instant) -> Result<Verdict> {
        println!("  {what}");
        let mut met = 0;
        for test in tests {
            let program = self.programs.get(&test.program)?;
            let run = program.run(&test.name, &broken.mutant(), LIMIT, &self.log)?;
            met += usize::from(run.met);
            let log = || self.log.display();
            ensure!(run.met || run.end == End::Passed, "{test} fails on sound code: see {}", log());
            if run.end == End::Passed {
                continue;
            }
            if project::read(&self.log)?.contains(NO_MODEL) {
                println!("    makes no model");
                return Ok(Verdict::NoModel);
            }
            let sound = program.run(&test.name, &broken.sound(), LIMIT, &self.log)?;
            ensure!(sound.end == End::Passed && sound.met, "{test} fails on sound code: see {}", log());
            let how = if run.end == End::Late { "hangs" } else { "fails" };
            println!("    {test} {how}, {:.0} s", start.elapsed().as_secs_f64());
            return Ok(Verdict::Noticed);
        }
        println!(
            "    lives: {met} of {} tests ran one of the {} blocks that changed",
            tests.len(),
            broken.blocks
        );
        Ok(Verdict::Lives(met))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_draws_the_same_rules_and_another_others() {
        let rules: Vec<Id> = (1..=60).map(|number| Id("AB".into(), number)).collect();
        let ten = draw(rules.iter(), 10, 1);
        assert_eq!(ten.len(), 10);
        assert_eq!(ten, draw(rules.iter().rev(), 10, 1));
        assert_ne!(ten, draw(rules.iter(), 10, 2));
        assert_eq!(draw(rules.iter(), 100, 1).len(), 60);
    }

    #[test]
    fn one_change_of_a_line_is_tried_before_more_of_it() {
        let text = "a a a\nb b\n";
        let change = |start: usize, distance| Change {
            range: start..start + 1,
            with: "c".into(),
            how: change::How::Instead,
            rank: (distance, 0),
        };
        let all = vec![change(0, 0), change(2, 0), change(4, 0), change(6, 1), change(8, 1)];
        let starts = |order: Vec<Change>| order.iter().map(|it| it.range.start).collect::<Vec<_>>();
        assert_eq!(starts(order(all, text, |_| String::new())), [0, 6, 2, 8, 4]);
    }

    #[test]
    fn each_place_can_be_broken_and_each_rule_of_the_hardware_has_a_test_that_runs_it() {
        let root = Project::find().unwrap().root;
        let all = crate::rules::all_citations(&root).unwrap();
        let cited: Vec<&Citation> = all.iter().collect();
        let (places, tests) = (places(&root, &cited, 1).unwrap(), tests(&root, &cited).unwrap());
        let rules: BTreeSet<&Id> = cited.iter().filter(|it| it.who == Who::Rtl).map(|it| &it.id).collect();
        let mut wrong = Vec::new();
        let empty = |place: &&Place| place.changes.is_empty();
        for place in places.values().flatten().filter(empty) {
            wrong.push(format!("{place}: nothing can be done to what cites a rule here"));
        }
        for id in rules.iter().filter(|id| !tests.contains_key(id)) {
            wrong.push(format!("{id}: no test that runs the RTL cites it"));
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}
