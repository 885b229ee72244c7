//! The daemon.

use std::process::ExitCode;

use clap::Parser;
use viad::{arguments::Arguments, server};
use viaduct_driver::log;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let started = log::start(Some("info")).map_err(Into::into);
    match started.and_then(|()| arguments.config()).and_then(|config| server::run(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("viad: {error:#}");
            ExitCode::FAILURE
        }
    }
}
