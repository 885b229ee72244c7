//! `viaduct-instructions`: what the calls of VIPL's data path cost.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use viaduct_instructions::{
    measure::{self, Page},
    rows::Counted,
};

/// Counts the instructions of posts and looks, through the C interface of libvipl.
#[derive(Debug, Parser)]
struct Arguments {
    /// The folder that libvipl.so and viad were built in
    #[arg(long, default_value = "target/release")]
    built: PathBuf,
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
    let built = std::path::absolute(&arguments.built)?;
    let counted =
        Counted { bar: measure::run(&built, Page::Bar)?, polled: measure::run(&built, Page::Polled)? };
    print!("{}", counted.text(arguments.functions));
    if let Some(file) = &arguments.json {
        std::fs::write(file, format!("{:#}\n", counted.json()))?;
    }
    Ok(())
}
