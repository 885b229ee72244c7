//! `instructions`: builds what is shipped of the library, and counts what its calls cost.

use crate::command::Cmd;
use crate::install;
use crate::lints;
use crate::need::Need;
use crate::parts;
use crate::project::Project;
use crate::setup;
use crate::shared;
use crate::toolchain;
use anyhow::{ensure, Context, Result};
use std::path::{Path, PathBuf};

/// The toolchain whose code the figures are of (`bench/instructions/src/rows.rs`): another one makes other code of the same source. It is pinned for
/// this alone: docs/decisions.md.
const TOOLCHAIN: &str = "1.95.0";

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
    let mut count = program(project, compiler()?, false)?;
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
    let compiler = compiler()?;
    may_differ(compiler, parts::in_ci())?;
    program(project, compiler, is_built)?.arg("--check").run()
}

/// A run that nobody reads holds the figures to what they are: of another compiler's code a tenth more would pass, and nobody would see it.
fn may_differ(compiler: Compiler, in_ci: bool) -> Result<()> {
    let is_held = !in_ci || compiler != Compiler::Other;
    ensure!(
        is_held,
        "the figures are of rustc {TOOLCHAIN}, which this machine neither has nor fetches by rustup"
    );
    Ok(())
}

/// The program that counts. Only the library is as it is shipped: it alone is measured.
fn program(project: &Project, compiler: Compiler, is_built: bool) -> Result<Cmd> {
    let built = match compiler {
        Compiler::Own | Compiler::Other => install::target(project)?,
        Compiler::Fetched => project.scratch("pinned")?,
    };
    library(project, compiler, &built)?.run()?;
    if !is_built {
        project.cargo("build")?.args(["-p", "viad", "-p", "viaduct-instructions"]).run()?;
    }
    // As `install` links it.
    let linked = project.scratch("instructions")?;
    shared::link(project, &built.join("release"), &linked.join("libvipl.so"))?;
    let count = project.built("viaduct-instructions")?;
    let count = count.arg("--library").arg(linked).arg("--viad").arg(project.built_folder()?);
    Ok(match compiler {
        Compiler::Own | Compiler::Other => count,
        Compiler::Fetched => count.arg("--compiler").arg(format!("rustc {TOOLCHAIN}")),
    })
}

/// What compiles the library.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Compiler {
    /// The machine's own rustc, which is that of [`TOOLCHAIN`].
    Own,
    /// That of the toolchain [`TOOLCHAIN`], which rustup has fetched.
    Fetched,
    /// The machine's own rustc, which is another one.
    Other,
}

/// The compiler whose code is counted: that of [`TOOLCHAIN`], if the machine has it or rustup can fetch it. Else it is the machine's own, and
/// the figures are held to a tenth more.
fn compiler() -> Result<Compiler> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let own = Cmd::new(rustc).arg("--version").probe().context("rustc does not run")?;
    if is_pinned(&own) {
        return Ok(Compiler::Own);
    }
    if !toolchain::can_fetch() {
        return Ok(Compiler::Other);
    }
    let is_there = || toolchain::run(TOOLCHAIN, "rustc").arg("--version").probe().is_some();
    if !is_there() {
        // Without a network the machine's own is left.
        let fetched = toolchain::fetch(TOOLCHAIN, &[]).run();
        if fetched.is_err() || !is_there() {
            return Ok(Compiler::Other);
        }
    }
    Ok(Compiler::Fetched)
}

/// Whether a compiler that calls itself so is that of [`TOOLCHAIN`].
fn is_pinned(version: &str) -> bool {
    version.split_whitespace().nth(1) == Some(TOOLCHAIN)
}

/// Builds what is shipped of the library. rustc does so itself: in a run of all parts clippy compiles everything else, and it turns
/// some of rustc's optimisations off.
fn library(project: &Project, compiler: Compiler, target: &Path) -> Result<Cmd> {
    let cargo = match compiler {
        Compiler::Own | Compiler::Other => project.cargo("build")?,
        Compiler::Fetched => {
            let cargo = toolchain::run(TOOLCHAIN, "cargo").arg("build").folder(&project.root);
            cargo.arg("--target-dir").arg(target)
        }
    };
    Ok(cargo.env_remove(lints::WRAPPER).args(["--release", "-p", "vipl-c"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::read;

    #[test]
    fn what_is_counted_is_compiled_by_rustc() {
        for compiler in [Compiler::Own, Compiler::Fetched, Compiler::Other] {
            let build = library(&Project::find().unwrap(), compiler, Path::new("/x")).unwrap().command();
            let wrapper = build.get_envs().find(|(name, _)| *name == lints::WRAPPER);
            assert_eq!(wrapper, Some((lints::WRAPPER.as_ref(), None)), "{compiler:?}");
        }
    }

    #[test]
    fn where_nobody_reads_another_compiler_is_a_failure() {
        for compiler in [Compiler::Own, Compiler::Fetched] {
            assert!(may_differ(compiler, true).is_ok() && may_differ(compiler, false).is_ok());
        }
        assert!(may_differ(Compiler::Other, false).is_ok());
        let error = may_differ(Compiler::Other, true).unwrap_err().to_string();
        assert!(error.contains(TOOLCHAIN), "{error}");
    }

    #[test]
    fn the_pinned_compiler_is_that_whose_figures_are_exact() {
        let project = Project::find().unwrap();
        let rows = read(&project.root.join("bench/instructions/src/rows.rs")).unwrap();
        assert!(rows.contains(&format!("COMPILER: &str = \"rustc {TOOLCHAIN}\"")), "not {TOOLCHAIN}");
        assert!(is_pinned(&format!("rustc {TOOLCHAIN} (59807616e 2026-04-14)")));
        assert!(
            !is_pinned("rustc 1.96.0-nightly (x)") && !is_pinned(&format!("rustc {TOOLCHAIN}-beta.1 (x)"))
        );
        let build = library(&project, Compiler::Fetched, Path::new("/x")).unwrap().to_string();
        let expected = format!("rustup run {TOOLCHAIN} cargo build --target-dir /x --release -p vipl-c");
        assert!(build.ends_with(&expected), "{build}");
    }
}
