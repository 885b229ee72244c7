//! `viaduct-walk`: random walks until a number of seeds or of minutes is through.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use viaduct_walk::ability::Abilities;
use viaduct_walk::generator;
use viaduct_walk::open::{is_open, OPEN};
use viaduct_walk::soak::Soak;

/// Holds the RTL against the functional model by random programs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seeds; without it and without --minutes 2000
    #[arg(long)]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// No walk begins when so many minutes have passed
    #[arg(long)]
    minutes: Option<u64>,
    /// Holds models against the model, with all that it can do
    #[arg(long)]
    model: bool,
    /// Prints the programs and runs nothing
    #[arg(long)]
    print: bool,
    /// Where the evidence of failed walks goes
    #[arg(long, default_value = "walks")]
    out: PathBuf,
    /// Ends after so many failed walks
    #[arg(long, default_value_t = 10)]
    most: u64,
    /// Attempts to make a failing program smaller
    #[arg(long, default_value_t = 400)]
    attempts: usize,
    /// What `walk/src/open.rs` lists does not fail the run
    #[arg(long)]
    open: bool,
    /// Threads [default: one for each processor]
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> Result<ExitCode> {
    // What is not explained is said, unless RUST_LOG wants it otherwise.
    let filter = tracing_subscriber::EnvFilter::builder();
    let filter = filter.with_default_directive(tracing::Level::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).init();
    let arguments = Arguments::parse();
    let seeds = match (arguments.seeds, arguments.minutes) {
        (Some(seeds), _) => seeds,
        (None, Some(_)) => u64::MAX - arguments.from,
        (None, None) => 2000,
    };
    let abilities = if arguments.model { Abilities::all() } else { Abilities::rtl() };
    if arguments.print {
        for seed in arguments.from..arguments.from + seeds {
            println!("{}", generator::program(seed, abilities));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let soak = Soak {
        from: arguments.from,
        seeds,
        limit: arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        abilities,
        model_only: arguments.model,
        mutant: None,
        folder: arguments.out,
        most: arguments.most,
        attempts: arguments.attempts,
        open: arguments.open,
        threads: arguments
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
    };
    let start = Instant::now();
    let mut tally = soak.run(|text| eprintln!("{text}"))?;
    print!("{tally}");
    println!("{} cycles, {:.0} s", tally.cycles, start.elapsed().as_secs_f64());
    let mut stale = Vec::new();
    if arguments.open {
        let range = arguments.from..arguments.from + seeds;
        for (seed, reason) in OPEN.iter().filter(|(seed, _)| range.contains(seed)) {
            println!("open: seed {seed}: {reason}");
            if !tally.failed.contains(seed) {
                stale.push(*seed);
            }
        }
        tally.failed.retain(|seed| !is_open(*seed));
    }
    if !stale.is_empty() {
        println!("walk/src/open.rs lists seeds that pass: {stale:?}");
    }
    if !tally.failed.is_empty() {
        println!("failed: {:?}", tally.failed);
    }
    let firm = tally.agreement.is_firm();
    if !firm {
        println!("too many stories were told in parts only, or not explained: the model does not follow");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed.len());
    Ok(if tally.failed.is_empty() && stale.is_empty() && firm {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
