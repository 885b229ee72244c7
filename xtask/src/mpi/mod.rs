//! `mpi`: unmodified programs over libfabric's provider and simulated NICs: libfabric's own, Open MPI's, MPICH's. docs/mpi.md has the cases.
//!
//! Each NIC has a viad. The provider is forced, and no MPI may use shared memory; the NICs' counters say whether the bytes went through them.

mod cases;
mod counters;
mod device;
mod faults;
mod figures;
mod guests;
mod job;
mod pair;
mod pmi;
mod process;
mod programs;
mod provider;
mod stage;
mod suite;

use crate::doctor;
use crate::guest::simulator::Kind;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::{bail, ensure, Result};
use cases::{Case, CASES};
use counters::Counters;
pub use provider::{BUILT, FEATURE, NAME, PACKAGE};
use stage::{Conditions, Stage};
use std::path::PathBuf;
use std::time::Instant;

/// The command line of `mpi`.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Runs what tells most in a few minutes
    #[arg(long, conflicts_with = "only")]
    quick: bool,
    /// Runs only this case (may be repeated)
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Lists the cases
    #[arg(long)]
    list: bool,
    /// Measures latency and bandwidth by size, and runs no case: of models in the wall's time, beside libfabric's provider for TCP; of RTL in the NICs'
    #[arg(long, conflicts_with_all = ["quick", "only", "list"])]
    figures: bool,
    /// Runs a ring of two ranks in two guests instead, each by a viad that trusts it with a NIC behind its kernel's VFIO
    #[arg(long, conflicts_with_all = ["quick", "only", "list", "figures", "loss"])]
    guests: bool,
    /// What the NICs are: the RTL is for the cases that are short enough
    #[arg(long, value_enum, default_value = "model")]
    nic: Kind,
    /// Loses so many of 100 RoCE frames on the wire, in all cases
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    loss: Option<f64>,
    /// The simulator's seed: it says which frames are lost
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Options {
    /// What the part of `test` runs.
    pub fn quick() -> Options {
        let (only, nic) = (Vec::new(), Kind::Model);
        Options { quick: true, only, list: false, figures: false, guests: false, nic, loss: None, seed: 1 }
    }

    /// What the part `mpi-guests` runs.
    pub fn guests() -> Options {
        Options { quick: false, guests: true, ..Options::quick() }
    }

    /// The cases that they choose.
    fn chosen(&self) -> Result<Vec<&'static Case>> {
        for name in &self.only {
            let is_one = CASES.iter().any(|case| case.name == name);
            ensure!(is_one, "there is no case {name}; `cargo xtask mpi --list` shows them");
        }
        let is_chosen = |case: &&Case| match self.only.is_empty() {
            false => self.only.iter().any(|name| case.name == name),
            true => (case.quick || !self.quick) && (case.rtl || self.nic == Kind::Model),
        };
        Ok(CASES.iter().filter(is_chosen).collect())
    }
}

/// A part of a hundred.
fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    match (0.0..=100.0).contains(&number) {
        true => Ok(number),
        false => Err("0 to 100".into()),
    }
}

/// What a case has to run with.
pub struct Bench<'a> {
    /// This clone.
    pub project: &'a Project,
    /// What the NICs are.
    pub kind: Kind,
    /// The NICs.
    pub stage: Stage,
    /// The folder of the provider.
    pub provider: PathBuf,
    /// The programs that were compiled for this.
    pub programs: PathBuf,
    /// A folder of the case's own, which is empty at first.
    pub folder: PathBuf,
}

/// What a case has found.
pub struct Found {
    /// In words.
    pub note: String,
    /// Bytes that its messages had at least: so many have come through the NICs.
    pub bytes: u64,
}

/// Builds what is needed, and runs the cases.
pub fn run(project: &Project, options: &Options, built: bool) -> Result<()> {
    if options.list {
        let words = |case: &Case| match (case.quick, case.rtl) {
            (true, _) => "quick",
            (false, true) => "rtl",
            (false, false) => "",
        };
        let line = |case: &Case| format!("{:18} {:5}  {}\n", case.name, words(case), case.about);
        return doctor::show(&CASES.iter().map(line).collect::<String>());
    }
    let chosen = options.chosen()?;
    setup::ensure(project, &[Need::Simulator, Need::Libfabric, Need::Mpi])?;
    if !built {
        let programs = ["-p", "viaduct-sim", "-p", "viaduct-cli", "-p", "viad"];
        project.cargo("build")?.args(programs).run()?;
    }
    let provider = provider::build(project, built)?;
    if options.guests {
        return guests::ring(project, &provider, options.nic);
    }
    let programs = programs::build(project)?;
    if options.figures {
        let (kind, folder) = (options.nic, project.scratch("mpi/figures")?);
        let loss = options.loss.unwrap_or(0.0);
        let conditions =
            Conditions { kind, loss, seed: options.seed, silence: cases::SILENCE, measured: None };
        let start = |conditions: &Conditions| -> Result<Bench> {
            let (stage, folder) = (Stage::start(project, 2, conditions)?, folder.clone());
            Ok(Bench { project, kind, stage, provider: provider.clone(), programs: programs.clone(), folder })
        };
        // Times of the wall over RTL would say how fast it is simulated.
        return match kind {
            Kind::Model => figures::measure(&start(&conditions)?),
            Kind::Rtl => device::measure(&conditions, &folder, start),
        };
    }
    let mut failed = Vec::new();
    for case in &chosen {
        let start = Instant::now();
        let found = one(project, case, options, (provider.clone(), programs.clone()));
        let seconds = start.elapsed().as_secs_f64();
        match found {
            Ok(note) => println!("{:18} {seconds:6.1} s  passed  {note}", case.name),
            Err(error) => {
                println!("{:18} {seconds:6.1} s  FAILED  {error:#}", case.name);
                failed.push(case.name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("{} of {} cases failed: {}", failed.len(), chosen.len(), failed.join(", "));
    }
    println!("{} cases passed", chosen.len());
    Ok(())
}

/// Runs one case, with NICs of its own.
fn one(
    project: &Project,
    case: &Case,
    options: &Options,
    (provider, programs): (PathBuf, PathBuf),
) -> Result<String> {
    println!("\n== {}: {}", case.name, case.about);
    let folder = project.scratch(&format!("mpi/{}", case.name))?;
    // What an earlier run left must not pass for this one's.
    std::fs::remove_dir_all(&folder)?;
    std::fs::create_dir(&folder)?;
    let loss = options.loss.unwrap_or(case.loss);
    let (kind, seed) = (options.nic, options.seed);
    let conditions = Conditions { kind, loss, seed, silence: case.silence, measured: None };
    let stage = Stage::start(project, case.nics, &conditions)?;
    let mut bench = Bench { project, kind: options.nic, stage, provider, programs, folder };
    let before = counters::of_each(&bench)?;
    let found = (case.run)(&mut bench)?;
    bench.stage.judge()?;
    if found.bytes == 0 {
        return Ok(found.note);
    }
    let each: Vec<Counters> =
        counters::of_each(&bench)?.iter().zip(&before).map(|(now, before)| now.since(before)).collect();
    for (nic, counted) in each.iter().enumerate() {
        ensure!(counted.get("BYTES_RECEIVED")? > 0, "nothing has come to NIC {nic}: its rank did without it");
    }
    let counted = Counters::sum(each);
    let bytes = counted.get("BYTES_RECEIVED")?;
    ensure!(
        bytes >= found.bytes,
        "the messages have {} bytes at least, and the NICs have counted {bytes}: something else carried them",
        found.bytes
    );
    let again = counted.get("RETRANSMITTED")?;
    // A case that is short may have lost none by chance; the one that is about losses is not.
    ensure!(
        loss == 0.0 || case.loss == 0.0 || again > 0,
        "{loss} % of the frames were to be lost, and no NIC has sent one again"
    );
    let not_ready = counted.get("RNR_RECEIVED")?;
    Ok(format!(
        "{}; {bytes} bytes through the NICs (at least {}), {again} packets sent again, {not_ready} times not ready",
        found.note, found.bytes
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names(options: &Options) -> Vec<&'static str> {
        options.chosen().unwrap().iter().map(|case| case.name).collect()
    }

    #[test]
    fn cases_have_names_of_their_own_and_are_chosen_by_them() {
        let all: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(all.len(), CASES.len());
        let whole = Options { quick: false, ..Options::quick() };
        assert_eq!(names(&whole).len(), CASES.len());
        let one = Options { only: vec!["hpcc".into()], ..whole.clone() };
        assert_eq!(names(&one), ["hpcc"]);
        let wrong = Options { only: vec!["hpc".into()], ..whole };
        assert!(wrong.chosen().unwrap_err().to_string().contains("no case hpc"));
    }

    #[test]
    fn the_quick_run_has_both_mpis_and_rtl_what_is_short() {
        let quick = names(&Options::quick());
        assert!(
            ["hpcc", "mpi4py-p2p", "flood", "rank-killed"].iter().all(|name| quick.contains(name)),
            "{quick:?}"
        );
        let rtl = names(&Options { quick: false, nic: Kind::Rtl, ..Options::quick() });
        assert!(rtl.contains(&"pingpong-msg") && rtl.contains(&"ring"), "{rtl:?}");
        assert!(!rtl.contains(&"hpcc"));
    }

    #[test]
    fn a_loss_is_a_part_of_a_hundred() {
        assert_eq!(percent("1"), Ok(1.0));
        assert!(percent("100.1").is_err() && percent("-1").is_err() && percent("x").is_err());
    }
}
