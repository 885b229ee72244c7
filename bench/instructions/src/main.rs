//! `viaduct-instructions`: what the calls of VIPL's data path cost.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{bail, Result};
use clap::Parser;
use viaduct_instructions::{
    measure::{self, Built, Page},
    rows::Counted,
};

/// Counts the instructions of posts and looks, through the C interface of libvipl.
#[derive(Debug, Parser)]
struct Arguments {
    /// The folder that libvipl.so was built in
    #[arg(long, default_value = "target/release")]
    library: PathBuf,
    /// The folder that viad was built in, in whatever way: its instructions are not counted
    #[arg(long, default_value = "target/debug")]
    viad: PathBuf,
    /// Fails if a figure is not as it was
    #[arg(long)]
    check: bool,
    /// Also says where the instructions are, function by function
    #[arg(long)]
    functions: bool,
    /// Writes the figures into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let (library, viad) = (std::path::absolute(&arguments.library)?, std::path::absolute(&arguments.viad)?);
    let built = Built { library: &library, viad: &viad };
    let counted =
        Counted { bar: measure::run(built, Page::Bar)?, polled: measure::run(built, Page::Polled)? };
    print!("{}", counted.text(arguments.functions));
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("{:#}\n", counted.json()))?;
    }
    let faults = counted.faults();
    if arguments.check && !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}
