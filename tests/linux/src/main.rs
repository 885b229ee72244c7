//! `viaduct-linux`: VIA programs whose peer is Linux.
//!
//! ```text
//!   a case: vipl, embedded agent -- nic0.sock -- NIC, model or RTL -- switch -- port0.sock -- QEMU: eth0, rdma_rxe, rping
//!      |                            10.0.0.2, 02:00:00:00:00:02                             10.0.0.1, 52:54:00:00:00:01
//!      +------------------------------------- console.sock: commands to the guest's shell ---------+
//! ```
//! `cargo xtask linux` makes the guest's files and starts this program. It prints what libtest prints, and ends with its status. The simulated
//! network is in this process; all cases share one guest, and run one after the other.

mod bandwidth;
mod example;
mod faults;
mod guest;
mod killed;
mod many;
mod perftest;
mod pingpong;
mod private_data;
mod program;
mod reader;
mod refusals;
mod rping;
mod stage;
mod standstill;
mod strikes;
mod talk;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{ensure, Context, Result};
use clap::{Parser, ValueEnum};
use libtest_mimic::{Arguments, Trial};

use stage::Stage;
use viaduct_sim::setup::Kind;

/// Tests of VIA programs with Linux' soft-RoCE as the peer
#[derive(Parser)]
struct Options {
    /// What the NIC is
    #[arg(long, value_enum)]
    nic: Nic,
    /// Folder of the sockets, for this program alone
    #[arg(long, value_name = "FOLDER")]
    sockets: PathBuf,
    /// File with QEMU's command line, a JSON array of words
    #[arg(long, value_name = "FILE")]
    qemu: PathBuf,
    /// File in which QEMU puts the log of the guest's kernel
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// File for what each case has taken and measured, rows of a table
    #[arg(long, value_name = "FILE")]
    rows: PathBuf,
    /// Only this case (may be repeated)
    #[arg(long = "case", value_name = "NAME")]
    only: Vec<String>,
}

/// What the NIC is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Nic {
    /// The functional model
    Model,
    /// The RTL, Verilated
    Rtl,
}

/// How much of the kernel's log an error has, in bytes.
const LOG_BYTES: usize = 2000;

/// A case: its name, and what it does.
type Case = (&'static str, fn(&mut Stage) -> Result<()>);

fn main() -> Result<ExitCode> {
    let Options { nic, sockets, qemu, log, rows, only } = Options::parse();
    let cases: [&[Case]; 11] = [
        &rping::CASES,
        &example::CASES,
        &pingpong::CASES,
        &perftest::CASES,
        &bandwidth::CASES,
        &faults::CASES,
        &standstill::CASES,
        &refusals::CASES,
        &killed::CASES,
        &private_data::CASES,
        &many::CASES,
    ];
    let cases: Vec<Case> = cases.concat();
    for name in &only {
        let names: Vec<_> = cases.iter().map(|case| case.0).collect();
        ensure!(names.contains(&&**name), "there is no case {name}; there are {}", names.join(", "));
    }
    let command = std::fs::read_to_string(&qemu).with_context(|| qemu.display().to_string())?;
    let command: Vec<String> = serde_json::from_str(&command).context("QEMU's command line")?;
    let kind = match nic {
        Nic::Model => Kind::Model,
        Nic::Rtl => Kind::Rtl,
    };
    // One guest: its programs share ports.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::default() };
    let stage = Arc::new(Mutex::new(None));
    let start = Arc::new(move || start(kind, &sockets, &command, &log));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let wanted = cases.into_iter().filter(|case| only.is_empty() || only.iter().any(|name| name == case.0));
    let trials = wanted.map(|(name, run)| {
        let (stage, start, lines) = (stage.clone(), start.clone(), lines.clone());
        Trial::test(name, move || {
            let mut stage = stage.lock().unwrap_or_else(PoisonError::into_inner);
            // The first case starts it. Where that fails, each case says why.
            let stage = stage.get_or_insert_with(|| start()).as_mut().map_err(|reason| reason.clone())?;
            let begun = Instant::now();
            let outcome = stage.carry_out(run);
            let line =
                format!("| {name} | {:.1} | {} |", begun.elapsed().as_secs_f64(), stage.take_figures());
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            outcome.map_err(|error| format!("{error:#}").into())
        })
    });
    let end = libtest_mimic::run(&arguments, trials.collect()).exit_code();
    let mut text = lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
    text.push('\n');
    print!("{text}");
    std::fs::write(&rows, text).with_context(|| rows.display().to_string())?;
    Ok(end)
}

/// Starts the network and the guest.
///
/// # Errors
/// In words, with the end of the kernel's log.
fn start(kind: Kind, sockets: &Path, qemu: &[String], log: &Path) -> Result<Stage, String> {
    Stage::start(kind, sockets, qemu).map_err(|error| {
        let log = std::fs::read(log).unwrap_or_default();
        let end = &log[log.len().saturating_sub(LOG_BYTES)..];
        format!("{error:#}; the end of the kernel's log: {:?}", String::from_utf8_lossy(end))
    })
}
