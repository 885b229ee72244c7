//! The command line of `viaduct-bench`, which `cargo xtask bench` and `viaduct bench` run.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{ensure, Context, Result};
use clap::Parser;

use crate::measurements::{Options, MEASUREMENTS};
use crate::{figure, page, sweep};

/// Measures the NIC in device time, each figure beside its bound
///
/// The NIC is simulated as RTL; time is counted in cycles of its clock, so that the same build gives the same figures on any machine.
#[derive(Debug, Parser)]
#[command(name = "viaduct bench", bin_name = "viaduct bench")]
pub struct Arguments {
    /// Also writes the figures into this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs only this figure
    #[arg(long, value_name = "NAME", conflicts_with = "sweep")]
    only: Option<String>,
    /// Measures many sizes, numbers of VIs, round trips and rates of loss in place of the table: minutes
    #[arg(long, conflicts_with_all = ["timeline", "trace"])]
    sweep: bool,
    /// Also shows what crosses the NICs' edges during a message
    #[arg(long)]
    timeline: bool,
    /// Records the waveforms of NIC 0 here and those of NIC 1 beside it
    #[arg(long, value_name = "FILE", requires = "only")]
    trace: Option<PathBuf>,
    /// Measures the table and the sweep, and puts both into this folder's benchmarks.md and benchmarks/
    #[arg(long, hide = true, value_name = "FOLDER", conflicts_with_all = ["json", "only", "sweep", "timeline"])]
    page: Option<PathBuf>,
}

/// Runs it.
///
/// # Errors
/// A figure cannot be measured, or a file not be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(docs) = &arguments.page {
        let table = table(arguments)?;
        return page::write(docs, &table, &sweep::run(&|line| show(line))?);
    }
    let json = if arguments.sweep {
        sweep::json(&sweep::run(&|line| show(line))?)?
    } else {
        figure::json(&table(arguments)?)
    };
    if let Some(file) = &arguments.json {
        std::fs::write(file, json).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// Measures the table, or one figure of it, and shows each as it comes.
fn table(arguments: &Arguments) -> Result<Vec<figure::Figure>> {
    let options = Options { timeline: arguments.timeline, trace: arguments.trace.clone() };
    let mut wanted: Vec<_> = MEASUREMENTS.iter().collect();
    if let Some(only) = &arguments.only {
        wanted.retain(|measurement| measurement.name == only);
        ensure!(!wanted.is_empty(), "there is no figure {only}; there are {}", names());
    }
    let mut figures = Vec::new();
    show(&figure::head())?;
    for measurement in wanted {
        let figure = measurement.run(&options)?;
        show(&figure.text())?;
        figures.push(figure);
    }
    Ok(figures)
}

/// What `--only` may name.
fn names() -> String {
    let names: Vec<&str> = MEASUREMENTS.iter().map(|measurement| measurement.name).collect();
    names.join(", ")
}

/// Shows text; it is the program's only output.
fn show(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
