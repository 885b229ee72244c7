//! `soak`: builds and runs the program of the walk crate.

use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use clap::Args;

/// Seeds of the part of `test`.
const SEEDS: u64 = 2000;

/// What to walk.
#[derive(Args, Default)]
pub struct Options {
    /// Walks [default: 2000, or as many as there are minutes for]
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long)]
    from: Option<u64>,
    /// No walk begins when so many minutes have passed
    #[arg(long)]
    minutes: Option<u64>,
    /// Seeds whose failure is known (walk/src/open.rs) do not fail the run
    #[arg(long)]
    open: bool,
}

impl Options {
    /// Those of the part of `test`.
    pub fn part() -> Self {
        Self { seeds: Some(SEEDS), open: true, ..Self::default() }
    }
}

/// Walks; what fails is made small, and its evidence goes to target/xtask/walks.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::ensure(project, &[Need::Simulator])?;
    let mut walk = project.cargo("run")?.args(["--quiet", "-p", "viaduct-walk", "--", "--out"]);
    walk = walk.arg(project.scratch("walks")?);
    for (name, value) in
        [("--seeds", options.seeds), ("--from", options.from), ("--minutes", options.minutes)]
    {
        if let Some(value) = value {
            walk = walk.arg(name).arg(value.to_string());
        }
    }
    if options.open {
        walk = walk.arg("--open");
    }
    walk.run()
}
