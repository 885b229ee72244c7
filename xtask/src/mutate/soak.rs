//! Mutants of all blocks, drawn by a seed, before one judge after the other.

use super::blocks::{self, Block};
use super::judge::{alone, faultless, Judge, HANG};
use super::mutation::Mutation;
use super::program::{last_words, watch, End, Programs, Run};
use super::proof::{self, Reasons};
use super::report::Report;
use super::results::{Key, Results, Verdict};
use super::verilog::Flat;
use super::{Options, Until, BLOCKS, STACK, WALKS};
use crate::hardware::{self, Exporter};
use crate::project::{self, Project};
use anyhow::{ensure, Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seeds of the walks that a mutant must survive.
const WALK_SEEDS: u32 = 40;

/// What ends them if they hang.
const WALK_LIMIT: Duration = Duration::from_secs(1800);

/// The arguments of those walks. What fails need not be made smaller.
fn walk_arguments(out: &Path) -> Vec<OsString> {
    let seeds = WALK_SEEDS.to_string();
    let words = ["--seeds", &seeds, "--most", "1", "--attempts", "1", "--out"].map(OsString::from);
    words.into_iter().chain([out.into()]).collect()
}

/// A block with the mutants drawn of it.
struct Drawn {
    block: Block,
    verilog: String,
    flat: Flat,
    mutations: Vec<Mutation>,
}

impl Drawn {
    fn key(&self, mutation: &Mutation) -> Key {
        (self.flat.sha256.clone(), mutation.to_string())
    }

    /// Numbers and names.
    fn numbered(&self) -> impl Iterator<Item = (usize, &Mutation)> {
        (1..).zip(&self.mutations)
    }
}

/// Everything that a pass over the mutants needs.
struct Soak<'a> {
    project: &'a Project,
    folder: PathBuf,
    drawn: Vec<Drawn>,
    results: Results,
    programs: Programs,
    start: Instant,
    deadline: Option<Instant>,
}

/// Draws the mutants, and judges those that are not judged yet.
///
/// # Errors
/// As [`super::run`].
pub fn run(project: &Project, options: &Options) -> Result<()> {
    let start = Instant::now();
    let folder = project.scratch("mutate")?;
    let verilog = folder.join("verilog");
    hardware::export(project, Exporter::Build, &verilog)?;
    let reasons = Reasons::parse(&project::read(&project.root.join(proof::FILE))?)?;
    let packages: &[&str] = match options.until {
        Until::Blocks => &["viaduct-hdl"],
        _ => &["viaduct-hdl", "viaduct-sim", "viaduct-tests", "viaduct-walk"],
    };
    let mut soak = Soak {
        project,
        drawn: draw(options, &verilog, &folder)?,
        results: Results::read(folder.join("results"))?,
        programs: Programs::find(project, packages)?,
        start,
        deadline: options.minutes.map(|minutes| start + Duration::from_secs(60 * minutes)),
        folder,
    };
    soak.blocks(&reasons)?;
    soak.hang()?;
    if options.until >= Until::Stack {
        let nic = project::read(&verilog.join("top.v"))?;
        soak.stack(&nic)?;
    }
    if options.until >= Until::Walks {
        soak.walks()?;
    }
    let mut report = Report::default();
    for drawn in &soak.drawn {
        for mutation in &drawn.mutations {
            report.add(drawn.block.name, mutation, soak.results.get(&drawn.key(mutation)));
        }
    }
    project::write(&soak.folder.join("report"), report.text())?;
    report.show(options.count.into())
}

/// The blocks asked for, each with its share of the mutants.
fn draw(options: &Options, verilog: &Path, folder: &Path) -> Result<Vec<Drawn>> {
    let mut all = Vec::new();
    for block in blocks::BLOCKS {
        let verilog = project::read(&verilog.join(format!("blocks/{}.v", block.name)))?;
        all.push((*block, verilog));
    }
    let sizes: Vec<usize> = all.iter().map(|(_, verilog)| verilog.lines().count()).collect();
    let shares = blocks::shares(options.count.into(), &sizes);
    let mut drawn = Vec::new();
    for ((block, verilog), share) in all.into_iter().zip(shares) {
        let wanted = options.only.as_deref().is_none_or(|text| block.name.contains(text));
        if !wanted || share == 0 {
            continue;
        }
        let flat = Flat::new(&verilog, folder.join("soak").join(block.name.replace('/', "-")))
            .with_context(|| block.name)?;
        let mutations = flat.draw(share, options.from)?;
        flat.write(&mutations).with_context(|| block.name)?;
        drawn.push(Drawn { block, verilog, flat, mutations });
    }
    // Small blocks first: a run that is ended has something of most.
    drawn.sort_by_key(|drawn| drawn.verilog.len());
    ensure!(!drawn.is_empty(), "no mutant of a block with {:?} in its name", options.only);
    Ok(drawn)
}

impl Soak<'_> {
    fn late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// Says what became of one, and keeps it.
    fn add(&mut self, index: usize, number: usize, verdict: Verdict) -> Result<()> {
        let drawn = &self.drawn[index];
        let mutation = &drawn.mutations[number - 1];
        let word = match &verdict {
            Verdict::Killed(by) => format!("killed by {by}"),
            Verdict::Equivalent(by) => format!("equivalent: {by}"),
            Verdict::Lives { judge, late, .. } if late.is_empty() => format!("lives after {judge}"),
            Verdict::Lives { judge, late, .. } => format!("lives after {judge}, late: {}", late.join(", ")),
        };
        println!("{} {number}: {word}", drawn.block.name);
        self.results.add(drawn.block.name, drawn.key(mutation), verdict)
    }

    /// The tests of each block, and then proofs for what lives, which can take longer.
    fn blocks(&mut self, reasons: &Reasons) -> Result<()> {
        // A third of the time, if there is an end, is left for these.
        let end = self.deadline;
        self.deadline = end.map(|end| end - end.saturating_duration_since(self.start) / 3);
        (0..self.drawn.len()).try_for_each(|index| self.block(index))?;
        self.deadline = end;
        self.equal(reasons)
    }

    /// The tests of one block.
    fn block(&mut self, index: usize) -> Result<()> {
        let Drawn { block, flat, .. } = &self.drawn[index];
        let program = self.programs.get(&format!("viaduct-hdl::{}", block.program))?.clone();
        let open = |verdict: Option<&Verdict>| match verdict {
            None => true,
            // Tests that are other now may kill what has survived.
            Some(Verdict::Lives { judge, version, .. }) => judge == BLOCKS && *version != program.version,
            Some(_) => false,
        };
        let numbers: Vec<usize> = self.drawn[index]
            .numbered()
            .filter(|(_, mutation)| open(self.results.get(&self.drawn[index].key(mutation))))
            .map(|(number, _)| number)
            .collect();
        if numbers.is_empty() || self.late() {
            return Ok(());
        }
        let tests: Vec<&str> = program.of(block.modules).collect();
        let (log, folder) = (flat.folder().join("log"), flat.folder().to_owned());
        faultless(&self.programs, block.name, flat)?;
        let mut judge = Judge::new(&program, &tests, block.name, &flat.mutant(0), &folder)?;
        let (size, time) = judge.size();
        println!("\n{}: {} mutants, {size} tests of {:.1} s", block.name, numbers.len(), time.as_secs_f64());
        for number in numbers {
            if self.late() {
                break;
            }
            let verdict = judge.judge(&self.drawn[index].flat.mutant(number), &log)?;
            self.add(index, number, verdict)?;
        }
        Ok(())
    }

    /// Those that live after the tests of their blocks: number of the block, and of the mutant.
    fn living(&self, wanted: impl Fn(&str, &[String]) -> bool) -> Vec<(usize, usize)> {
        let mut living = Vec::new();
        for (index, drawn) in self.drawn.iter().enumerate() {
            for (number, mutation) in drawn.numbered() {
                if let Some(Verdict::Lives { judge, late, .. }) = self.results.get(&drawn.key(mutation)) {
                    living.extend(wanted(judge, late).then_some((index, number)));
                }
            }
        }
        living
    }

    /// Proofs and reasons.
    fn equal(&mut self, reasons: &Reasons) -> Result<()> {
        for (index, number) in self.living(|_, _| true) {
            let drawn = &self.drawn[index];
            let mutation = &drawn.mutations[number - 1];
            if let Some(reason) = reasons.get(drawn.block.name, mutation) {
                let reason = format!("{}{reason}", super::report::ARGUED);
                self.add(index, number, Verdict::Equivalent(reason))?;
            } else if !self.late() && proof::equivalent(&drawn.flat, mutation)? {
                self.add(index, number, Verdict::Equivalent("yosys".into()))?;
            }
        }
        Ok(())
    }

    /// Tests that did not end in time get all of it.
    fn hang(&mut self) -> Result<()> {
        for (index, number) in self.living(|_, late| !late.is_empty()) {
            if self.late() {
                break;
            }
            let drawn = &self.drawn[index];
            let Some(Verdict::Lives { judge, version, late }) =
                self.results.get(&drawn.key(&drawn.mutations[number - 1])).cloned()
            else {
                continue;
            };
            let program = self.programs.get(&format!("viaduct-hdl::{}", drawn.block.program))?;
            let log = drawn.flat.folder().join("log");
            let run = program.run(&late[0], &drawn.flat.mutant(number), HANG, &log)?;
            let verdict = match Judge::after_all(&late[0], &run) {
                Some(killed) => killed,
                None => Verdict::Lives { judge, version, late: late[1..].to_vec() },
            };
            self.add(index, number, verdict)?;
        }
        Ok(())
    }

    /// Makes sure that the NIC with the mutants of a block in it, none turned on, is the NIC; once for each.
    fn same_nic(&self, drawn: &Drawn) -> Result<()> {
        let file = drawn.flat.folder().join("faultless-nic");
        if project::read(&file).is_ok_and(|text| text == drawn.flat.sha256) {
            return Ok(());
        }
        let (program, log) = (self.programs.get("viaduct-sim::suite")?, drawn.flat.folder().join("log"));
        let test = "faultless::with_no_mutant_turned_on_the_nic_is_what_it_was";
        let run = program.run(test, &drawn.flat.mutant(0), HANG * 4, &log)?;
        ensure!(
            run.end == End::Passed && run.met,
            "the NIC with mutants in {} is not what it was:\n{}",
            drawn.block.name,
            last_words(&log)?
        );
        project::write(&file, &drawn.flat.sha256)
    }

    /// The whole NIC's tests.
    fn stack(&mut self, nic: &str) -> Result<()> {
        let program = self.programs.get("viaduct-tests::suite")?.clone();
        let mut order: Vec<(u32, String)> = program.tests.iter().map(|test| (0, test.clone())).collect();
        let version = program.version.clone();
        for (index, number) in self.living(|judge, _| judge == BLOCKS) {
            let drawn = &self.drawn[index];
            if self.late() || !drawn.flat.write_nic(nic, &drawn.verilog)? {
                continue;
            }
            let log = drawn.flat.folder().join("log");
            self.same_nic(drawn)?;
            let mut verdict =
                Verdict::Lives { judge: STACK.into(), version: version.clone(), late: Vec::new() };
            order.sort_by_key(|(kills, _)| std::cmp::Reverse(*kills));
            for (kills, test) in &mut order {
                if self.late() {
                    return Ok(());
                }
                if alone(&program, test, &drawn.flat, number, &log)? {
                    *kills += 1;
                    verdict = Verdict::Killed(format!("stack: {test}"));
                    break;
                }
            }
            self.add(index, number, verdict)?;
        }
        Ok(())
    }

    /// Random walks.
    fn walks(&mut self) -> Result<()> {
        for (index, number) in self.living(|judge, _| judge == STACK) {
            if self.late() {
                break;
            }
            let drawn = &self.drawn[index];
            let run = self.walk(drawn, number)?;
            let verdict = match run.end {
                End::Passed => {
                    Verdict::Lives { judge: WALKS.into(), version: String::new(), late: Vec::new() }
                }
                End::Failed | End::Late => {
                    let without = self.walk(drawn, 0)?;
                    ensure!(
                        without.end == End::Passed,
                        "the walks do not pass on {} with no mutant turned on: {:?}",
                        drawn.block.name,
                        without.end
                    );
                    Verdict::Killed(format!("walks: seeds 1 to {WALK_SEEDS}"))
                }
            };
            self.add(index, number, verdict)?;
        }
        Ok(())
    }

    /// The first seeds' walks on a mutant; 0 is none.
    fn walk(&self, drawn: &Drawn, number: usize) -> Result<Run> {
        let folder = drawn.flat.folder();
        let walk = self.project.built("viaduct-walk")?.args(walk_arguments(&folder.join("walks")));
        let walk = walk.env(super::verilog::VARIABLE, drawn.flat.mutant(number)).tethered();
        let log = folder.join("walks.log");
        let run = watch(walk.command(), WALK_LIMIT, &log)?;
        ensure!(
            run.met,
            "the walks have not met the NIC with mutants in {}: see {}",
            drawn.block.name,
            log.display()
        );
        Ok(run)
    }
}
