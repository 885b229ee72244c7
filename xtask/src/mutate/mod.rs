//! `mutate`: faults in the exported Verilog, and which tests find them.
//!
//! ```text
//!   blocks --> Flat (yosys: one module of cells) --> Mutations --> one model with all of them behind an input
//!                                                                       |
//!   Results <-- Verdict <-- proof (ABC, yosys) <-- whole NIC: stack, walks <-- Judge: the block's tests
//! ```
//!
//! Mutants that the tests of their block do not kill are tried on by yosys' proof, by the whole NIC's tests and by random walks.

mod blocks;
mod cut;
mod dozen;
mod judge;
mod mutation;
pub mod program;
mod proof;
mod report;
mod results;
mod soak;
pub mod verilog;

use crate::hardware::Exporter;
use crate::need::Need;
use crate::project::Project;
use crate::setup;
use anyhow::Result;
use clap::Args;

pub use dozen::run as dozen;

/// The judges, by the names that results have: each comes after the one before it.
const BLOCKS: &str = "blocks";
const STACK: &str = "stack";
const WALKS: &str = "walks";

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Until {
    /// The tests of the mutant's block, and the proof that it is none
    Blocks,
    /// Then the whole NIC's tests
    Stack,
    /// Then random walks
    Walks,
}

/// Which mutants.
#[derive(Args)]
pub struct Options {
    /// How many, spread over all blocks
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=20_000))]
    count: u16,
    /// The seed that they are drawn with
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    from: u64,
    /// Of these those of blocks whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// No test begins when so many minutes have passed; the next run goes on from there
    #[arg(long = "try", value_name = "MINUTES")]
    minutes: Option<u64>,
    /// The last judge
    #[arg(long, value_enum, default_value_t = Until::Walks)]
    until: Until,
    /// Runs the fixed dozen of the suite instead
    #[arg(long, conflicts_with_all = ["count", "from", "only", "minutes", "until"])]
    dozen: bool,
}

/// Draws mutants and judges them; fails if too many live.
///
/// # Errors
/// Tools or tests that do not work, or a score that is too low.
pub fn run(project: &Project, options: &Options) -> Result<()> {
    setup::ensure(project, &[Need::Synthesis, Need::Simulator, Need::Tests])?;
    match options.dozen {
        true => dozen::run(project, Exporter::Build),
        false => soak::run(project, options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(words: &[&str]) -> Result<Options, clap::Error> {
        Line::try_parse_from(std::iter::once(&"mutate").chain(words)).map(|line| line.options)
    }

    #[test]
    fn arguments_that_cannot_be_are_refused() {
        let options = parse(&["--count", "1000", "--from", "7", "--try", "30", "--until", "blocks"]).unwrap();
        assert_eq!(
            (options.count, options.from, options.minutes, options.until),
            (1000, 7, Some(30), Until::Blocks)
        );
        let wrong: [&[&str]; 5] = [
            &["--count", "0"],
            &["--count", "70000"],
            &["--from", "x"],
            &["--dozen", "--count", "3"],
            &["--until", "hell"],
        ];
        for words in wrong {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
