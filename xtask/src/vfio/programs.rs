//! Our programs as the guest runs them: with everything linked in, since it has no libraries.

use crate::command::Cmd;
use crate::project::Project;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The packages that the guest has, and the program of each.
const PACKAGES: [(&str, &str); 3] =
    [("viaduct-cli", "viaduct"), ("viaduct-guest", "viaduct-guest"), ("viad", "viad")];
/// They are emulated, instruction by instruction: fewer of them are worth the compilation, and debug information is not worth its place in the
/// guest's memory.
const PROFILE: [&str; 4] = ["--config", "profile.dev.opt-level=1", "--config", "profile.dev.debug=false"];

/// A program for the guest, or a library.
pub struct Program {
    /// Where it is in the guest, from the root on.
    pub place: String,
    /// Where it is on this machine.
    pub file: PathBuf,
}

/// Builds them all.
pub fn build(project: &Project) -> Result<Vec<Program>> {
    let printed = Cmd::new("rustc").arg("-vV").folder(&project.root).read()?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not say what it builds for")?;
    // A folder of its own: other flags than everything else is built with.
    let folder = project.scratch("guest-programs")?;
    let flags = format!("target.{host}.rustflags=[\"-C\", \"target-feature=+crt-static\"]");
    let mut build = project.cargo("build")?.args(["--target", host, "--config", &flags]).args(PROFILE);
    for (package, _) in PACKAGES {
        build = build.args(["-p", package]);
    }
    // Set for a whole machine, it would take the place of our flags.
    build.arg("--target-dir").arg(&folder).env_remove("RUSTFLAGS").run()?;
    let built = folder.join(host).join("debug");
    let program = |name: &str| Program { place: format!("bin/{name}"), file: built.join(name) };
    Ok(PACKAGES.iter().map(|(_, name)| program(name)).collect())
}
