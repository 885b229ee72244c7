//! The daemon.

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;
use viad::{arguments::Arguments, server};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    match arguments.config().and_then(|config| server::run(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("viad: {error:#}");
            ExitCode::FAILURE
        }
    }
}
