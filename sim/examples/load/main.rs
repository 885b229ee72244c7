//! A load of two RTL NICs that is the same on every machine and at every time: its frames, what the NICs' pins see of it, and how fast it
//! is simulated.
//!
//! `cargo xtask speed` and `cargo xtask same` build this program in the tree of another commit, too, to compare the two. So it asks for no
//! more than each of these commits has, and for nothing outside this folder.

mod pins;
mod recording;
mod scene;
mod time;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use recording::{Recorder, Recording, Seen};
use scene::{Plan, Scene, Way};

/// Moves messages between two RTL NICs.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Records the frames at each rate of the link into a folder, and prints the rate and the cycles of each
    Frames {
        /// The folder
        folder: PathBuf,
    },
    /// Records what the pins of each NIC see, and writes their Verilog, into a folder
    Pins {
        /// The folder
        folder: PathBuf,
    },
    /// Prints cycles a second of the whole simulation, and of the NICs alone
    Time,
    /// Prints cycles a second of the NICs whose pins and Verilog are in a folder, compiled by this tree
    Replay {
        /// The folder
        folder: PathBuf,
    },
}

/// Messages of all ways and many sizes, so many times.
fn plan(rounds: usize) -> Plan {
    let sizes = [8, 64, 1000, 1024, 4096, 9001];
    let round = sizes.into_iter().flat_map(|size| [Way::Send, Way::Write, Way::Read].map(|way| (way, size)));
    let messages = round.collect::<Vec<_>>().repeat(rounds);
    Plan { messages, rate: 8, never_skip: false, pcap: None }
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Frames { folder } => {
            for rate in [1, 8] {
                let pcap = Some(folder.join(format!("link{rate}.pcap")));
                let scene = Scene::new(Plan { rate, pcap, ..plan(2) }, None)?;
                println!("{rate} {}", scene.run()?);
            }
        }
        Task::Pins { folder } => {
            for (number, seen) in record()?.iter().enumerate() {
                pins::write(&Recording::of(seen)?, &folder.join(format!("nic{number}.pins")))?;
            }
            let file = folder.join("top.v");
            let verilog = viaduct_hdl::export::verilog(viaduct_hdl::nic::Nic::default());
            std::fs::write(&file, verilog).with_context(|| file.display().to_string())?;
        }
        Task::Time => println!("{:.0} {:.0}", time::simulation(plan(8))?, time::nics(&record()?)?),
        Task::Replay { folder } => println!("{:.0}", time::folder(&folder)?),
    }
    Ok(())
}

/// Both NICs' pins from power-up to the last message.
fn record() -> Result<[Vec<Seen>; 2]> {
    let recorders = [Recorder::default(), Recorder::default()];
    let scene = Scene::new(plan(4), Some(recorders.each_ref().map(Recorder::probe)))?;
    scene.run()?;
    Ok(recorders.map(|recorder| recorder.take()))
}
