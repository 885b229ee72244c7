//! `cargo xtask`: the one command of the project. It sets the machine up, and then builds, tests,
//! exports and runs; every other crate is built through it, with the flags that they need.

mod action;
mod alone;
mod bench;
mod book;
mod capture;
#[cfg(test)]
mod circles;
mod command;
mod coverage;
mod demo;
mod doctor;
mod fit;
mod guest;
mod hardware;
mod install;
mod instructions;
mod lanes;
#[cfg(test)]
mod lines;
mod links;
mod lints;
mod linux;
mod manual;
mod miri;
mod mpi;
mod mutate;
mod need;
mod netlist;
mod package;
mod parts;
mod pictures;
mod project;
mod publish;
mod readme;
mod rules;
mod same;
mod setup;
mod shared;
mod soak;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod spawns;
mod speed;
mod suite;
#[cfg(test)]
mod targets;
mod threads;
mod toolchain;
mod tree;
mod version;
mod vfio;

use anyhow::Result;
use clap::{Parser, Subcommand};
use hardware::Exporter;
use need::Need;
use project::Project;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Sets up, tests, exports and shows Viaduct.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Installs what is missing on this machine (Debian and Ubuntu)
    Setup {
        /// Prints the commands and runs none
        #[arg(long)]
        dry_run: bool,
        /// Only what this group of tools holds (may be repeated)
        #[arg(long = "for", value_name = "GROUP")]
        needs: Vec<Need>,
    },
    /// Tells which tools this machine has and lacks
    Doctor,
    /// Runs everything that must pass
    Test {
        /// Runs only this part (may be repeated)
        #[arg(long, value_name = "PART")]
        only: Vec<String>,
        /// Runs what tells most in a few minutes: for who has changed something
        #[arg(long, conflicts_with = "only")]
        quick: bool,
        /// Lists the parts
        #[arg(long)]
        list: bool,
    },
    /// Runs one part of `test` inside a run of it
    #[command(hide = true)]
    Part {
        name: String,
        #[arg(long)]
        quick: bool,
        #[arg(long)]
        outcome: PathBuf,
    },
    /// Two simulated NICs move a file; arguments go to `viaduct demo`
    #[command(disable_help_flag = true)]
    Demo {
        /// See `cargo xtask demo --help`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Real VFIO with no board: a guest under QEMU drives two simulated NICs
    Vfio(vfio::Options),
    /// Linux as the peer: a guest under QEMU with soft-RoCE on the wire of a simulated NIC
    Linux(linux::Options),
    /// Unmodified MPI programs over libfabric's provider and simulated NICs
    Mpi(mpi::Options),
    /// Writes the NIC's Verilog
    Export {
        /// The folder to write to [default: target/xtask/verilog]
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Compares the size of every block on ECP5 with its budget
    Budget {
        /// Also writes the figures into this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// First measures every block, and makes docs/sizes.json anew: ten minutes of a processor
        #[arg(long)]
        anew: bool,
    },
    /// Measures the simulated NIC in device time: latency, goodput and message rate beside their bounds
    Bench(bench::Options),
    /// Counts the instructions of a post and of a look for what is complete, through libvipl as it is shipped
    Instructions(instructions::Options),
    /// Draws the pictures of the documentation anew: the blocks of the NIC, the life of a send, and the plots of what was measured
    Pictures,
    /// Counts which lines of the NIC's Verilog the tests reach and which bits they turn; each other line needs a reason
    Coverage {
        /// Also writes the figures into this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Puts faults into the exported Verilog, and says which tests find them
    Mutate(mutate::Options),
    /// Random walks: holds the simulated NIC against the functional model, program by random program
    Soak(soak::Options),
    /// Runs what of the library and the driver Miri can run
    Miri,
    /// Shows where the rules of docs/semantics.md are decided in the code, and which tests hold them
    Rules(rules::Options),
    /// Runs the proofs of the primitives, of the arithmetic, of the protection checker and of the PCI Express endpoint
    Prove {
        /// Runs only the proof of this name
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
    },
    /// Compares the speed of the simulation with another commit's, measured in turns
    Speed(speed::Options),
    /// Compares cycles and frames with another commit's: whether the NIC does what it did
    Same(same::Options),
    /// Synthesises the core for ECP5 and simulates the netlist beside the RTL: both must do the same, cycle by cycle
    Netlist,
    /// Puts under a prefix what users need: vipl.h, vipl_ext.h, libvipl, viaduct, viad, the manual pages
    Install(install::Options),
    /// Builds the pages of docs/ as a book, with mdBook, and beside it the documentation of the Rust interfaces
    Book,
    /// Builds the Debian packages libvipl1, libvipl-dev, viaduct and viad
    Package(package::Options),
    /// Places and routes the core for an ECP5, and tells its size and speed
    Fit {
        /// The seed of the placement; if none is given, the board's own, or 1
        #[arg(long)]
        seed: Option<u32>,
        /// Takes the Verilog of this folder, with its module top, and exports nothing
        #[arg(long, value_name = "FOLDER")]
        verilog: Option<PathBuf>,
        /// Builds the bitstream of this board instead: a folder of constraints/
        #[arg(long, value_name = "BOARD", conflicts_with_all = ["verilog", "blocks"])]
        board: Option<String>,
        /// Which of the board's designs
        #[arg(long, value_name = "TOP", default_value = "nic", requires = "board")]
        top: String,
        /// A build option of the card: docs/boards.md, "The bring-up ladder", has their names
        #[arg(long = "option", value_name = "NAME", requires = "board")]
        options: Vec<String>,
        /// How many seeds of a board, from --seed on, a processor each: the slowest counts. Without --board those of the card, and
        /// three or more of them make the board's file in docs/fit anew
        #[arg(long, value_name = "N", conflicts_with_all = ["verilog", "blocks"])]
        seeds: Option<u32>,
        /// Writes the report to this file as JSON
        #[arg(long, value_name = "FILE", requires = "board")]
        json: Option<PathBuf>,
        /// Places nothing: synthesises, and ranks this many of the longest paths, each wire as long as wires of its fanout are in the
        /// mean. Without --board those of the card
        #[arg(long, value_name = "N", conflicts_with_all = ["verilog", "blocks", "seeds", "seed", "json"])]
        paths: Option<usize>,
        /// Builds nothing: only asks whether the records in docs/fit are of today's Verilog, and keep to the card's budget
        #[arg(long, conflicts_with_all = ["verilog", "board", "blocks", "seeds", "seed", "paths"])]
        recorded: bool,
        /// Fits each block alone instead, and compares its speed with what it promises
        #[arg(long, conflicts_with = "verilog")]
        blocks: bool,
        /// Of the blocks those whose name contains this
        #[arg(long, value_name = "TEXT", requires = "blocks")]
        only: Option<String>,
        /// Of the blocks this many: those that promise least
        #[arg(long, value_name = "N", requires = "blocks")]
        slowest: Option<usize>,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let project = Project::find()?;
    match task {
        Task::Setup { dry_run, needs } if needs.is_empty() => setup::run(&project, &Need::ALL, dry_run),
        Task::Setup { dry_run, needs } => setup::run(&project, &needs, dry_run),
        Task::Doctor => doctor::run(&project),
        Task::Test { list: true, .. } => {
            let quick = |part: &parts::Part| if part.quick { "quick" } else { "" };
            let line = |part: &parts::Part| format!("{:10} {:5}  {}\n", part.name, quick(part), part.about);
            doctor::show(&parts::PARTS.iter().map(line).collect::<String>())
        }
        Task::Test { quick: true, .. } => parts::run(&project, &parts::Choice::Quick),
        Task::Test { only, .. } if only.is_empty() => parts::run(&project, &parts::Choice::Whole),
        Task::Test { only, .. } => parts::run(&project, &parts::Choice::Only(&only)),
        Task::Part { name, quick, outcome } => parts::inside(&project, &name, quick, &outcome),
        Task::Demo { args } => demo::run(&project, &args),
        Task::Vfio(options) => vfio::run(&project, &options, false),
        Task::Linux(options) => linux::run(&project, &options, false),
        Task::Mpi(options) => mpi::run(&project, &options, false),
        Task::Install(options) => install::run(&project, &options),
        Task::Book => book::run(&project),
        Task::Package(options) => package::run(&project, &options),
        Task::Export { out } => {
            setup::ensure(&project, &[Need::Simulator, Need::Synthesis])?;
            let folder = out.map_or_else(|| project.scratch("verilog"), Ok)?;
            hardware::export(&project, Exporter::Build, &folder)?;
            hardware::lint(&project, Exporter::Build, None)
        }
        Task::Budget { json, anew } => {
            setup::ensure(&project, &[Need::Synthesis])?;
            if anew {
                hardware::sizes(&project, Exporter::Build)?;
            }
            hardware::budget(&project, Exporter::Build, json.as_deref(), None)
        }
        Task::Mutate(options) => mutate::run(&project, &options),
        Task::Soak(options) => soak::run(&project, &options, false),
        Task::Miri => crate::miri::run(&project),
        Task::Rules(options) => rules::run(&project, &options),
        Task::Bench(options) => bench::run(&project, &options),
        Task::Instructions(options) => instructions::run(&project, &options),
        Task::Pictures => pictures::run(&project),
        Task::Coverage { json } => coverage::run(&project, json.as_deref()),
        Task::Prove { only } => {
            setup::ensure(&project, &[Need::Proof])?;
            hardware::prove(&project, Exporter::Build, only.as_deref())
        }
        Task::Speed(options) => speed::run(&project, &options),
        Task::Same(options) => same::run(&project, &options),
        Task::Netlist => netlist::run(&project, Exporter::Build),
        Task::Fit { recorded: true, .. } => fit::record(&project, Exporter::Build),
        Task::Fit { paths: Some(count), board, top, options, .. } => {
            let board = board.unwrap_or_else(|| fit::CARD.into());
            fit::paths(&project, &fit::Order { board, top, seed: None, seeds: 1, options, json: None }, count)
        }
        Task::Fit { seed, board: Some(board), top, seeds, options, json, .. } => {
            fit::board(&project, &fit::Order { board, top, seed, seeds: seeds.unwrap_or(1), options, json })
        }
        Task::Fit { seed, board: None, top, seeds: Some(seeds), json, .. } => fit::board(
            &project,
            &fit::Order { board: fit::CARD.into(), top, seed, seeds, options: Vec::new(), json },
        ),
        Task::Fit { seed, blocks: true, only, slowest, .. } => {
            fit::blocks(&project, Exporter::Build, &fit::Choice { only, slowest }, seed.unwrap_or(fit::SEED))
        }
        Task::Fit { seed, verilog, .. } => fit::core(&project, verilog.as_deref(), seed.unwrap_or(fit::SEED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_demo_gets_its_arguments_as_they_are() {
        let line = ["cargo xtask", "demo", "--help", "--file", "x", "--", "-y"];
        let Task::Demo { args } = Arguments::try_parse_from(line).unwrap().task else {
            panic!("not the demo");
        };
        assert_eq!(args, ["--help", "--file", "x", "--", "-y"]);
    }
}
