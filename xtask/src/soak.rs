//! `soak`: builds and runs the program of the walk crate.

use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use clap::Args;

/// Seeds of the part of `test`.
const SEEDS: u64 = 2000;
/// Those of the quick run.
const QUICK_SEEDS: u64 = 100;

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
    pub fn part(quick: bool) -> Self {
        Self { seeds: Some(if quick { QUICK_SEEDS } else { SEEDS }), open: true, ..Self::default() }
    }
}

/// Walks; what fails is made small, and its evidence goes to target/xtask/walks. The program may be `built` already.
pub fn run(project: &Project, options: &Options, built: bool) -> Result<()> {
    let mut walk = match built {
        true => project.built("viaduct-walk")?,
        false => {
            setup::ensure(project, &[Need::Simulator])?;
            project.cargo("run")?.args(["--quiet", "-p", "viaduct-walk", "--"])
        }
    };
    walk = walk.arg("--out").arg(project.scratch("walks")?);
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
