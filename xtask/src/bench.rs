//! `bench`: builds and runs the program of the bench crate.

use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use std::path::Path;

/// Measures the NIC in device time.
pub fn run(project: &Project, json: Option<&Path>, timeline: bool) -> Result<()> {
    setup::ensure(project, &[Need::Simulator])?;
    let mut bench = project.cargo("run")?.args(["--quiet", "-p", "viaduct-bench", "--"]);
    if let Some(file) = json {
        bench = bench.arg("--json").arg(std::path::absolute(file)?);
    }
    if timeline {
        bench = bench.arg("--timeline");
    }
    bench.run()
}
