//! `pictures`: runs the program that draws the documentation's pictures.

use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;

/// Draws all pictures into docs/pictures.
pub fn run(project: &Project) -> Result<()> {
    setup::ensure(project, &[Need::Simulator])?;
    project.cargo("run")?.args(["--quiet", "-p", "viaduct-pictures"]).run()
}
