//! `viaduct sim`: simulated NICs that stay up.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use vipl::Mac;

use crate::{
    bridge,
    simulator::{self, default_dir, nic_socket, Control, Settings},
    stop::Stop,
};

/// What to do with the simulator.
#[derive(Subcommand)]
pub enum Command {
    /// Starts a simulator and returns when its NICs answer
    Up(Up),
    /// Ends it
    Down(Place),
    /// Says what it is doing
    Status(Place),
    /// Puts a network interface of this machine's on a port of its switch; it needs CAP_NET_ADMIN
    Tap(Tap),
}

/// Which simulator.
#[derive(Args)]
pub struct Place {
    /// Folder of its sockets [default: viaduct in the user's runtime folder]
    #[arg(long)]
    dir: Option<PathBuf>,
}

impl Place {
    fn dir(self) -> PathBuf {
        self.dir.unwrap_or_else(default_dir)
    }
}

/// How to start it.
#[derive(Args)]
pub struct Up {
    #[command(flatten)]
    place: Place,
    /// NICs on its fabric
    #[arg(short = 'n', long, default_value_t = 2)]
    nics: usize,
    /// Captures every frame into this file
    #[arg(long)]
    pcap: Option<PathBuf>,
    /// Records every signal into this waveform file
    #[arg(long)]
    trace: Option<PathBuf>,
    /// After `--`: more arguments of the simulator's, see `viaduct-sim --help`
    #[arg(last = true)]
    more: Vec<OsString>,
}

/// Which port, and the interface.
#[derive(Args)]
pub struct Tap {
    /// The port's number, below the simulator's --ports
    port: u8,
    /// Name of the interface, which is made
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Its Ethernet address [default: the kernel's choice]
    #[arg(long)]
    mac: Option<Mac>,
    #[command(flatten)]
    place: Place,
}

/// `viaduct sim`.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Up(Up { place, nics, pcap, trace, more }) => {
            let settings = Settings { dir: place.dir(), nics, pcap, trace, more };
            let (pid, _control) = simulator::up(&settings, &Stop::on_signals()?)?;
            println!("simulator up: process {pid}");
            for nic in 0..nics {
                println!("vfio-user:{}", nic_socket(&settings.dir, nic).display());
            }
        }
        Command::Down(place) => {
            let pid = simulator::down(&place.dir())?;
            println!("simulator down: process {pid}");
        }
        Command::Tap(Tap { port, name, mac, place }) => {
            bridge::run(&place.dir(), port, &name, mac)?;
        }
        Command::Status(place) => {
            let status = Control::connect(&place.dir())?.status()?;
            println!("cycles {}", status.cycles);
            println!("simulated {:.6} s", status.simulated_ns as f64 / 1e9);
            println!(
                "wall {:.1} s, busy {:.1} s: {:.0} cycles a busy second",
                status.wall_ns as f64 / 1e9,
                status.busy_ns as f64 / 1e9,
                status.cycles as f64 / (status.busy_ns as f64 / 1e9).max(1e-9),
            );
            for (name, value) in status.other {
                println!("{name} {value}");
            }
            for (number, nic) in status.nics.into_iter().enumerate() {
                for (name, value) in nic.other {
                    println!("nic{number} {name} {value}");
                }
                for violation in nic.violations {
                    println!("nic{number} broke a rule of the bus: {violation}");
                }
            }
        }
    }
    Ok(())
}
