//! `viaduct`: the NICs of this machine, simulated ones up and down, and a file from one application to
//! another over them.

mod bench;
mod bind;
mod bridge;
mod demo;
mod devices;
mod doctor;
mod info;
mod link;
mod look;
#[cfg(test)]
mod manual;
mod note;
mod output;
mod peer;
mod perf;
mod program;
mod sim;
mod simulator;
mod stat;
mod stop;
mod top;
mod transfer;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use viaduct_driver::log;

/// An open Virtual Interface Architecture NIC: simulate it, use it.
#[derive(Parser)]
#[command(name = "viaduct", version, after_help = LOG)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulated NICs: up, down, status
    #[command(subcommand)]
    Sim(sim::Command),
    /// The NICs of this machine, and what each still needs
    Devices(devices::Arguments),
    /// Gives a board to vfio-pci, so that programs may drive it, and says what was changed
    Bind(bind::BindArguments),
    /// Takes a board from vfio-pci, and says what was changed
    Unbind(bind::UnbindArguments),
    /// Whether this machine and its boards are as they should be: IOMMU, groups, limits, power, links
    Doctor(doctor::Arguments),
    /// What the NIC of a running viad is, and what this user may have of it
    Info(info::Arguments),
    /// What the NIC of a running viad has counted, and what its clients' virtual interfaces wait for
    Stat(stat::Arguments),
    /// The NIC of a running viad, live: rates of its counters, its sessions, and what each virtual interface waits for
    Top(top::Arguments),
    /// Two simulated NICs, two applications, one file from the first to the second
    Demo(demo::Arguments),
    /// Measures simulated NICs in device time: latency, goodput and message rate beside their bounds
    Bench(bench::Arguments),
    /// Measures latency or bandwidth of sends, RDMA writes or reads between two programs, as perftest does
    Perf(perf::Arguments),
    /// Sends a file over a VI to `viaduct receive`
    Send(transfer::SendArguments),
    /// Receives the file that `viaduct send` sends
    Receive(transfer::ReceiveArguments),
}

/// What stands below the options.
const LOG: &str = "VIADUCT_LOG=FILTER in the environment writes to standard error what the command and the library do: LEVEL and PART=LEVEL, with \
                   commas between (debug; warn,viaduct_driver::vfio=trace). VIADUCT_SIM and VIADUCT_BENCH name the programs viaduct-sim and viaduct-bench, where they are not \
                   beside this one.";

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let result = log::start(None).map_err(Into::into).and_then(|()| run(command));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("viaduct: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Sim(command) => sim::run(command),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Bind(arguments) => bind::bind(&arguments),
        Command::Unbind(arguments) => bind::unbind(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Stat(arguments) => stat::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Perf(arguments) => perf::run(&arguments),
        Command::Send(arguments) => transfer::send(arguments),
        Command::Receive(arguments) => transfer::receive(arguments),
    }
}
