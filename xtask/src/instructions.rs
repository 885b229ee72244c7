//! `instructions`: builds what is shipped of the library, and counts what its calls cost.

use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use std::path::PathBuf;

/// What is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// Also tells where the instructions are, function by function
    #[arg(long)]
    functions: bool,
    /// Also writes the figures into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured: libvipl, and viad, whose page is one of the two kinds.
const MEASURED: [&str; 4] = ["-p", "vipl-c", "-p", "viad"];

/// Counts.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::ensure(project, &[Need::Count])?;
    project.cargo("build")?.arg("--release").args(MEASURED).run()?;
    let mut count = project.cargo("run")?.args(["--quiet", "--release", "-p", "viaduct-instructions", "--"]);
    count = count.arg("--built").arg(crate::install::target(project)?.join("release"));
    if options.functions {
        count = count.arg("--functions");
    }
    if let Some(file) = &options.json {
        count = count.arg("--json").arg(std::path::absolute(file)?);
    }
    count.run()
}
