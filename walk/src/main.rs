//! `viaduct-walk`: random walks until a number of seeds or of minutes is through.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use viaduct_walk::corpus::{corpus, fresh};
use viaduct_walk::generator;
use viaduct_walk::soak::{Seeds, Soak};

/// Holds the RTL against the functional model by random programs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seeds; without it and without --minutes 2000, or all of the corpus
    #[arg(long)]
    seeds: Option<u64>,
    /// Those of the corpus (walk/src/corpus.txt) instead of one behind the other
    #[arg(long, conflicts_with = "from")]
    corpus: bool,
    /// As many seeds drawn from this text, besides
    #[arg(long, value_name = "TEXT", requires = "corpus")]
    fresh: Option<String>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// No walk begins when so many minutes have passed
    #[arg(long)]
    minutes: Option<u64>,
    /// Holds models against the model, with all that it can do
    #[arg(long)]
    model: bool,
    /// Every program runs on an unkind bus, not only every second one
    #[arg(long)]
    unkind: bool,
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
    /// Threads [default: one for each processor]
    #[arg(long)]
    threads: Option<usize>,
}

impl Arguments {
    /// Which seeds; the fresh ones are printed.
    fn seeds(&self) -> Result<Seeds> {
        if !self.corpus {
            let count = match (self.seeds, self.minutes) {
                (Some(seeds), _) => seeds,
                (None, Some(_)) => u64::MAX - self.from,
                (None, None) => 2000,
            };
            return Ok(Seeds::From(self.from, count));
        }
        let all = corpus().map_err(anyhow::Error::msg)?;
        let mut seeds = all.clone();
        seeds.truncate(self.seeds.map_or(usize::MAX, |count| count as usize));
        if let Some(text) = &self.fresh {
            let fresh = fresh(text, seeds.len(), &all);
            println!("fresh seeds of {text}: {fresh:?}");
            seeds.extend(fresh);
        }
        Ok(Seeds::These(seeds))
    }
}

fn main() -> Result<ExitCode> {
    // What is not explained is said, unless the variable wants it otherwise.
    viaduct_driver::log::start(Some("warn"))?;
    let arguments = Arguments::parse();
    let seeds = arguments.seeds()?;
    if arguments.print {
        seeds.iter().for_each(|seed| println!("{}", generator::program(seed)));
        return Ok(ExitCode::SUCCESS);
    }
    let soak = Soak {
        seeds,
        limit: arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        model_only: arguments.model,
        unkind: arguments.unkind,
        mutant: None,
        folder: arguments.out,
        most: arguments.most,
        attempts: arguments.attempts,
        threads: arguments
            .threads
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
    };
    let start = Instant::now();
    let tally = soak.run(|text| eprintln!("{text}"))?;
    print!("{tally}");
    println!("{} cycles, {:.0} s", tally.cycles, start.elapsed().as_secs_f64());
    if !tally.failed.is_empty() {
        println!("failed: {:?}", tally.failed);
    }
    println!("{} passed, {} failed", tally.passed, tally.failed.len());
    Ok(if tally.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
