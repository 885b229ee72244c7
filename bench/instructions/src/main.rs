//! `viaduct-instructions`: what the calls of VIPL's data path cost.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{bail, Context, Result};
use clap::Parser;
use viaduct_instructions::{
    measure::{self, Built, Page},
    rows::{self, Counted},
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
    /// What compiled the library [default: what rustc is here]
    #[arg(long, value_name = "VERSION")]
    compiler: Option<String>,
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

/// What rustc here calls itself.
fn compiler() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output =
        Command::new(&rustc).arg("--version").output().with_context(|| format!("{rustc:?} --version"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
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
    let compiler = arguments.compiler.clone().map_or_else(compiler, Ok)?;
    let is_same = compiler.starts_with(rows::COMPILER);
    if !is_same {
        println!("{compiler}: the figures are held to a tenth more than those of {}", rows::COMPILER);
    }
    let faults = counted.faults(is_same);
    if arguments.check && !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}
