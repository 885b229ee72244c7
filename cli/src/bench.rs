//! `viaduct bench`: what a simulated NIC takes in device time. The program `viaduct-bench` measures; it has the whole NIC in it,
//! which this one has not, so that it builds without Verilator.

use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

use anyhow::{Context, Result};
use clap::Args;

use crate::program::Program;

/// The program that measures.
const BENCH: Program =
    Program { name: "viaduct-bench", variable: "VIADUCT_BENCH", package: "viaduct-bench", what: "bench" };

/// Its arguments.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// What viaduct-bench takes: `viaduct bench --help` lists it, where that program is
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// `viaduct bench`: becomes the other program.
pub fn run(arguments: &Arguments) -> Result<()> {
    let path = BENCH.locate()?;
    let error = Command::new(&path).args(&arguments.args).exec();
    Err(error).with_context(|| format!("starting {}", path.display()))
}
