//! `fit`: exported Verilog through synthesis, placement and routing for one ECP5, to see how much of it the core
//! takes and how fast it runs, or how fast each block is alone; and a board's design to its bitstream.

mod blocks;
mod board;
mod budget;
mod history;
mod netlist;
mod paths;
mod record;
mod report;
mod shell;
mod synthesis;
mod trial;
mod usage;

use crate::hardware::{self, Exporter};
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::{bail, ensure, Context, Result};
use report::TARGET_MHZ;
use std::path::{Path, PathBuf};
use trial::Trial;

pub use blocks::Choice;
pub use board::{paths, quick, run as board, Order};
pub use record::{check as record, BOARD as CARD};
pub use synthesis::SYNTHESIS;

/// The device of [`trial`], for people.
const DEVICE_NAME: &str = "LFE5UM5G-45F, CABGA381, speed grade 8";
/// The seed of a placement that is of no board, if none is given.
pub const SEED: u32 = 1;
/// What the tools need.
const NEEDS: [Need; 2] = [Need::Synthesis, Need::PlaceRoute];

/// Fits the core, or Verilog that is already there; fails if the clock is too slow.
pub fn core(project: &Project, verilog: Option<&Path>, seed: u32) -> Result<()> {
    setup::ensure(project, &NEEDS)?;
    let folder = project.scratch("fit")?;
    let core = match verilog {
        Some(folder) => folder.to_path_buf(),
        None => export(project, Exporter::Build, &folder.join("core"))?,
    };
    let (ports, report) = Trial { project, seed, aloud: true }.run(&sources(&core)?, &folder)?;
    println!("\n{DEVICE_NAME}; out of context, seed {seed}");
    println!(
        "every port of the core is registered in a shell of shift registers, part of what follows: \
         {} flip-flops, about {} LUT4",
        ports.inputs() + ports.outputs(),
        ports.outputs()
    );
    print!("{}", report.text());
    if report.slowest < TARGET_MHZ {
        bail!("{:.1} MHz is less than the {TARGET_MHZ} MHz of the core's clock", report.slowest);
    }
    Ok(())
}

/// Fits blocks alone, and compares their speeds with what they promise.
pub fn blocks(project: &Project, exporter: Exporter, choice: &Choice, seed: u32) -> Result<()> {
    setup::ensure(project, &NEEDS)?;
    let folder = project.scratch("fit")?;
    let exported = export(project, exporter, &folder.join("exported"))?;
    let promised = hardware::list(project, exporter)?;
    println!("{DEVICE_NAME}; each block out of context, seed {seed}");
    let blocks = choice.of(blocks::parse(&promised)?)?;
    blocks::run(&Trial { project, seed, aloud: false }, &exported, &folder.join("blocks"), &blocks)
}

/// Exports into a folder that is empty before, so that no module that has been renamed since is read as well.
fn export(project: &Project, exporter: Exporter, folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    hardware::export(project, exporter, folder)?;
    Ok(folder.to_path_buf())
}

/// The Verilog files of a folder, in one order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "v") {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "{} holds no Verilog", folder.display());
    Ok(files)
}
