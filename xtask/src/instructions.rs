//! `instructions`: builds what is shipped of the library, and counts what its calls cost.

use crate::command::Cmd;
use crate::install;
use crate::lints;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use crate::shared;
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

/// Counts.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::ensure(project, &[Need::Count])?;
    let mut count = program(project, false)?;
    if options.functions {
        count = count.arg("--functions");
    }
    if let Some(file) = &options.json {
        count = count.arg("--json").arg(std::path::absolute(file)?);
    }
    count.run()
}

/// Fails if a figure is not as it was. `is_built`: viad and the program that counts are.
pub fn check(project: &Project, is_built: bool) -> Result<()> {
    program(project, is_built)?.arg("--check").run()
}

/// The program that counts. Only the library is as it is shipped: it alone is measured.
fn program(project: &Project, is_built: bool) -> Result<Cmd> {
    library(project)?.run()?;
    if !is_built {
        project.cargo("build")?.args(["-p", "viad", "-p", "viaduct-instructions"]).run()?;
    }
    // As `install` links it.
    let (built, linked) = (install::target(project)?.join("release"), project.scratch("instructions")?);
    shared::link(project, &built, &linked.join("libvipl.so"))?;
    let count = project.built("viaduct-instructions")?;
    Ok(count.arg("--library").arg(linked).arg("--viad").arg(project.built_folder()?))
}

/// Builds what is shipped of the library. rustc does so itself: in a run of all parts clippy compiles everything else, and it turns
/// some of rustc's optimisations off.
fn library(project: &Project) -> Result<Cmd> {
    Ok(project.cargo("build")?.env_remove(lints::WRAPPER).args(["--release", "-p", "vipl-c"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_compiled_by_rustc() {
        let build = library(&Project::find().unwrap()).unwrap().command();
        let wrapper = build.get_envs().find(|(name, _)| *name == lints::WRAPPER);
        assert_eq!(wrapper, Some((lints::WRAPPER.as_ref(), None)));
    }
}
