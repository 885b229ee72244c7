//! libfabric's provider, as libfabric finds it.

use crate::project::Project;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// The provider's package.
pub const PACKAGE: &str = "viaduct-fi";
/// What makes it more than an empty library.
pub const FEATURE: &str = "viaduct-fi/libfabric";
/// What cargo calls it.
pub const BUILT: &str = "libviaduct_fi.so";
/// What libfabric wants it called: it loads what ends so.
pub const NAME: &str = "libviaduct-fi.so";

/// Builds it, and puts it into a folder of its own, which FI_PROVIDER_PATH may name. In a run that has built everything (`built`) its dependencies are
/// those of all packages: alone it would have some of them with fewer features, and build them again.
pub fn build(project: &Project, built: bool) -> Result<PathBuf> {
    let packages: &[&str] = match built {
        true => &["--workspace"],
        false => &["-p", PACKAGE],
    };
    project.cargo("build")?.args(packages).args(["--features", FEATURE]).run()?;
    let folder = project.scratch("fabric")?;
    let (from, to) = (project.built_folder()?.join(BUILT), folder.join(NAME));
    // A program that has it open keeps the old one.
    if to.exists() {
        fs::remove_file(&to).with_context(|| format!("cannot replace {}", to.display()))?;
    }
    fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(folder)
}
