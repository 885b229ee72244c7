//! `bench`: builds and runs the program of the bench crate, and puts what it measures into the documentation.

use crate::need::Need;
use crate::pictures;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use std::path::PathBuf;

/// What is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// Also writes the figures into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs only this figure
    #[arg(long, value_name = "NAME", conflicts_with = "sweep")]
    only: Option<String>,
    /// Measures many sizes, numbers of VIs, round trips and rates of loss in place of the table: minutes
    #[arg(long, conflicts_with = "timeline")]
    sweep: bool,
    /// Also shows what crosses the NICs' edges during a message
    #[arg(long)]
    timeline: bool,
    /// Measures how many connections programs make in a second of the wall's clock, over functional models, in place of the table
    #[arg(long, conflicts_with_all = ["json", "only", "sweep", "timeline", "page"])]
    connections: bool,
    /// Measures the table and the sweep, puts both into docs/benchmarks.md, and draws its plots anew
    #[arg(long, conflicts_with_all = ["json", "only", "sweep", "timeline"])]
    page: bool,
}

/// Measures the NIC in device time.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::ensure(project, &[Need::Simulator])?;
    if options.connections {
        return connections(project);
    }
    let mut bench = project.cargo("run")?.args(["--quiet", "-p", "viaduct-bench", "--"]);
    if let Some(file) = &options.json {
        bench = bench.arg("--json").arg(std::path::absolute(file)?);
    }
    if let Some(name) = &options.only {
        bench = bench.args(["--only", name]);
    }
    if options.sweep {
        bench = bench.arg("--sweep");
    }
    if options.timeline {
        bench = bench.arg("--timeline");
    }
    if options.page {
        bench.arg("--page").arg(project.root.join("docs")).run()?;
        return pictures::run(project);
    }
    bench.run()
}

/// The programs that it starts are found beside it.
fn connections(project: &Project) -> Result<()> {
    project.cargo("build")?.args(["--release", "-p", "viad", "-p", "viaduct-sim"]).run()?;
    let measure = ["--release", "--quiet", "-p", "viaduct-viad-tests", "--example", "connect_rate"];
    project.cargo("run")?.args(measure).run()
}
